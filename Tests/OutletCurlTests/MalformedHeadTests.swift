import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

/// Response heads that parsers interpret differently, or that are not valid HTTP.
@Suite struct `A malformed response` {
    private func response(_ text: String) async throws -> TransferResult {
        let server = try ScriptedServer.start(.request, .send(text))
        return try await CurlTransport.test().get(server.baseURL)
    }

    @Test(arguments: [
        // libcurl also accepts the last two as chunked.
        ("Transfer-Encoding: identity", "is not 'chunked', once: 'Transfer-Encoding: identity'"),
        ("Transfer-Encoding: chunked, identity", "is not 'chunked', once"),
        ("Transfer-Encoding: chunked\r\ntransfer-encoding: chunked", "is not 'chunked', once"),
        ("Content-Length: 14\r\nTransfer-Encoding: chunked", "both Content-Length and Transfer"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 14", "both Content-Length and Transfer"),
        (
            "Content-Length: 14\r\ncontent-length: 15",
            "has different values of Content-Length: 'content-length: 15'"
        ),
        ("Content-Length: 14, 15", "has different values of Content-Length"),
        ("Content-Length: 1x", "'s Content-Length is not one number: 'Content-Length: 1x'"),
        // Folded lines: one parser continues the field value, another ends it at the line break.
        ("Transfer-Encoding: chunked\r\n , identity", "says on several lines"),
        ("Content-Length: 14\r\n\t0", "says on several lines where the body ends"),
        ("Content-Length: 14\r\n \r\n 0", "says on several lines where the body ends"),
        // Invalid names: one parser includes the blank in the name, another removes it.
        ("X-A : b", "a header field whose name is no token: 'X-A '"),
        (": b", "a header field whose name is no token: ''"),
        ("X(A: secret", "a header field whose name is no token: 'X(A'"),
    ])
    func `a response with ambiguous or invalid fields is refused without its head`(
        fields: String, reason: String
    ) async throws {
        let result = try await response(
            "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
        #expect(result.error?.code == .badServerResponse)
        #expect(result.error?.stage == .receiving)
        #expect(result.error?.reason.contains(reason) == true, "\(result.error?.reason ?? "")")
        #expect(result.response == nil && result.text.isEmpty)
    }

    @Test func `a transfer coding in HTTP 1.0, which has none, is refused`() async throws {
        let result = try await response(
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
        #expect(result.error?.code == .badServerResponse)
        #expect(
            result.error?.reason == "the response is HTTP/1.0, which has no Transfer-Encoding: "
                + "'Transfer-Encoding: chunked'")
    }

    @Test func `equal lengths on several lines are accepted`() async throws {
        let result = try await response(
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4, 4\r\n\r\nbody")
        #expect(result.error == nil && result.text == "body")
    }

    @Test func `a switch of protocols that the request has not asked for is refused`() async throws
    {
        let result = try await response(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
        #expect(result.error?.code == .badServerResponse)
        #expect(result.error?.reason.contains("switches protocols (101)") == true)
        #expect(result.response == nil && result.text.isEmpty)
    }

    @Test func `an invalid field name in an informational response is refused`() async throws {
        let result = try await response(
            "HTTP/1.1 103 Early\r\nX A: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(result.error?.code == .badServerResponse)
    }

    @Test(arguments: ["0\r\nfoo\r\n\r\n", "0x2\r\nok\r\n0\r\n\r\n"], [true, false])
    func `text in place of trailers is refused, also after a pause at the head`(
        rest: String, isLate: Bool
    ) async throws {
        let gate = try Gate()
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let server =
            isLate
            ? try ScriptedServer.start(.request, .send(head), .wait(gate), .send(rest), .stall)
            : try ScriptedServer.start(.request, .send(head + rest), .stall)
        let probe = Probe(onHead: { _ in .pause })
        let task = CurlTransport.test().start(
            TransferJob(request: HTTPRequest(url: URL(string: server.baseURL))), handler: probe)
        while probe.heads.isEmpty, !probe.isOver, !Task.isCancelled { await Task.yield() }
        task.resume()
        gate.open()
        let result = try await probe.end.value()
        #expect(result.error?.code == .badServerResponse)
        #expect(
            result.error?.reason == "the trailer section has a line that is no header field, or a "
                + "chunk has no length")
    }

    @Test func `a head in place of trailers is refused`() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"
        let result = try await response(head + "HTTP/1.1 200 OK\r\nX: y\r\n\r\n")
        #expect(result.error?.code == .badServerResponse)
        #expect(result.text == "ab")
    }

    @Test(arguments: ["417 Expectation Failed", "200 OK"])
    func `a request that expects 100 gets the response, also if the server refuses that`(
        second: String
    ) async throws {
        let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer.start(
            .requestHead, .send(refusal), .request,
            .send("HTTP/1.1 \(second)\r\nContent-Length: 2\r\n\r\nok"), .stall)
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .put, headers: ["Expect": "100-continue"],
                body: .data(Data("body".utf8))))
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.response?.statusCode == (second.hasPrefix("417") ? 417 : 200))
        #expect(result.text == "ok")
    }

    @Test func `a request that expects 100 is repeated once if the server refuses that each time`()
        async throws
    {
        let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"
        let rounds: [Step] = (0..<9).flatMap { _ in [.requestHead, .send(refusal)] }
        let server = try ScriptedServer.start { _ in rounds + [.stall] }
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                headers: ["Expect": "100-continue"], body: .data(Data("body".utf8))))
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.response?.statusCode == 417)
        let sent = String(decoding: server.received(on: 0), as: UTF8.self)
        #expect(sent.components(separatedBy: "POST / ").count - 1 == 2, "\(sent)")
        #expect(sent.components(separatedBy: "Expect:").count - 1 == 1, "\(sent)")
    }

    @Test func `an invalid field name in the trailers is refused`() async throws {
        let result = try await response(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX A: b\r\n\r\n")
        #expect(result.error?.code == .badServerResponse)
        #expect(
            result.error?.reason
                == "the trailer section has a header field whose name is no token: 'X A'")
    }

    @Test func `a chunk size with the prefix 0x is refused`() async throws {
        let result = try await response(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n")
        #expect(result.error?.code == .badServerResponse)
    }

    @Test(arguments: [
        "Transfer-Encoding: Chunked \t", "Transfer-Encoding:chunked",
        "Transfer-Encoding: chunked\r\nX-A: b\r\n c",
    ])
    func `unusual but valid spellings of fields are accepted`(fields: String) async throws {
        let result = try await response(
            "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
        #expect(result.error == nil)
        #expect(result.text == "body")
    }

    @Test(arguments: [
        "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 99 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.9 200 OK\r\n\r\n",
    ])
    func `a response with an invalid status line is not HTTP`(text: String) async throws {
        let error = try await response(text).error
        #expect(error?.code == .badServerResponse)
        #expect(error?.reason.hasPrefix("the response is not HTTP: Unsupported") == true)
        #expect(error?.advice == "the server may not speak HTTP on this port")
    }

    @Test(
        arguments: [
            (
                "HTTP/1.1 200 OK\r\n X-A: b\r\n\r\n", .badServerResponse,
                "the response's first header line begins with a blank, and continues no other"
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\n\r\n",
                .badServerResponse,
                "the response has a Transfer-Encoding other than 'chunked'"
            ),
            (
                "HTTP/1.1 200 \(String(repeating: "x", count: 200_000))\r\n\r\n",
                .headerFieldsExceedMaximum,
                "the response's status line is longer than libcurl takes (100 KiB), or no memory is left"
            ),
            (
                "HTTP/1.1 200 OK\r\nX-A: \(String(repeating: "x", count: 200_000))\r\n\r\n",
                .headerFieldsExceedMaximum,
                "a header field is longer than libcurl takes (100 KiB), or no memory is left"
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: "
                    + "\(String(repeating: "x", count: 20_000))\r\n\r\n",
                .headerFieldsExceedMaximum,
                "a trailer field is longer than libcurl takes (4 KiB), or no memory is left"
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n-2\r\n",
                .badServerResponse,
                "the body's chunks are malformed behind 2 bytes: "
                    + "Illegal or missing hexadecimal sequence in chunked-encoding"
            ),
        ] as [(String, TransferError.Code, String)])
    func `the error describes the malformed part of the response`(
        text: String, code: TransferError.Code, reason: String
    ) async throws {
        let error = try await response(text).error
        #expect(error?.code == code)
        #expect(error?.reason == reason)
    }
}
