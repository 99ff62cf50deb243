import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A transfer that fails` {
    @Test func `a refused port is named`() async throws {
        let port = try refusingPort()
        let error = try await CurlTransport.test().get("http://127.0.0.1:\(port)/").error
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.stage == .connecting)
        #expect(error?.host == "127.0.0.1:\(port)")
        #expect(error?.advice.isEmpty == false)
    }

    @Test func `a host that does not exist is named`() async throws {
        let error = try await CurlTransport.test().get("http://no-such-host.invalid/").error
        #expect(error?.code == .cannotFindHost)
        #expect(error?.stage == .resolving)
        #expect(error?.host == "no-such-host.invalid")
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "mailto:a@b",
        "ws://127.0.0.1/", "WSS://127.0.0.1/",
    ])
    func `only http and https are spoken`(url: String) async throws {
        let error = try await CurlTransport.test().get(url).error
        #expect(error?.code == .unsupportedURL)
    }

    @Test func `a request without an address is refused`() async throws {
        let error = try await CurlTransport.test().perform(HTTPRequest(url: nil)).error
        #expect(error?.code == .badURL)
    }

    @Test func `a stream's length that is none is named`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let error = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                body: .stream(Pieces([], length: -5)))
        ).error
        #expect(error?.code == .badRequest)
        #expect(error?.reason == "the request's body stream: its length cannot be -5")
        #expect(server.requests.values.isEmpty)
    }

    @Test func `no server is asked for a tunnel`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let error = try await CurlTransport.test().perform(
            HTTPRequest(url: URL(string: server.baseURL), method: .connect)
        ).error
        #expect(error?.code == .badRequest)
        #expect(error?.reason.hasPrefix("CONNECT: ") == true)
        #expect(server.requests.values.isEmpty)
    }

    @Test func `an answer that is not HTTP is named`() async throws {
        let server = try ScriptedServer.start(.request, .send("SSH-2.0-OpenSSH_9.2\r\n"))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .badServerResponse)
    }

    @Test func `a server that closes without an answer is named`() async throws {
        let server = try ScriptedServer.start(.request)
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.reason == "the server closed the connection without an answer")
    }

    @Test func `a reset connection is a lost one`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .reset)
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .networkConnectionLost)
    }

    @Test func `a body that ends early tells how much came`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n"
                    + String(repeating: "x", count: 512)))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .networkConnectionLost)
        #expect(
            result.error?.reason == "the server closed the connection after 512 of 1024 bytes")
        #expect(result.response?.statusCode == 200)
        #expect(result.body?.count == 512)
    }

    /// A response, and the number of bytes at its end that libcurl does not wait for.
    struct Framing: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: String
        let slack: Int
    }

    static let framings = [
        Framing(
            testDescription: "length",
            response: "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 10\r\n\r\n0123456789", slack: 0),
        Framing(
            testDescription: "chunked",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n", slack: 1),
    ]

    @Test(arguments: framings)
    func `a connection dropped at any byte is a lost one`(framing: Framing) async throws {
        let response = Array(framing.response.utf8)
        let server = try ScriptedServer.start { connection in
            [.request, .send(Array(response.prefix(min(connection, response.count))))]
        }
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        for cut in 0..<response.count - framing.slack {
            let result = try await transport.get("\(server.baseURL)/\(cut)")
            #expect(result.error?.code == .networkConnectionLost, "cut at \(cut)")
        }
        let whole = try await transport.get(server.baseURL)
        #expect(whole.error == nil)
        #expect(whole.text == "0123456789")
    }

    @Test func `a body that ends with the connection is whole at its end`() async throws {
        let server = try ScriptedServer.start(.request, .send("HTTP/1.1 200 OK\r\n\r\nall of it"))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error == nil)
        #expect(result.text == "all of it")
    }

    @Test func `a flood of header fields ends with an error`() async throws {
        let field = "X-Flood: " + String(repeating: "y", count: 1000) + "\r\n"
        let flood = String(repeating: field, count: 4000)
        let server = try ScriptedServer.start(.request, .send("HTTP/1.1 200 OK\r\n" + flood))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .headerFieldsExceedMaximum)
        #expect(error?.reason.contains("header") == true)
    }

    @Test func `a body above the limit ends with an error`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(body: String(repeating: "x", count: 2000)))
        let transport = CurlTransport.test { $0.maximumResponseSize = 1999 }
        let error = try await transport.get(server.baseURL).error
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(error?.reason.contains("1999") == true)
    }

    @Test func `a broken content coding is named`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Encoding: gzip"], body: "no gzip at all"))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
    }

    @Test func `a coding that stops short is an error although the length is right`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 10\r\n\r\n"),
            .send([0x8B, 0x04, 0x80, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36]))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "br"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
        #expect(error?.reason == "the body's encoding is broken: br: not at its end after 10 bytes")
    }

    @Test func `a part of a coded body ends anywhere`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send("HTTP/1.1 206 Partial Content\r\nContent-Encoding: br\r\n"),
            .send("Content-Range: bytes 0-9/14\r\nContent-Length: 10\r\n\r\n"),
            .send([0x8B, 0x04, 0x80, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36]))
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "br", "Range": "bytes=0-9"])
        #expect(result.error == nil)
        #expect("0123456789".hasPrefix(result.text))
    }

    @Test func `an unknown content coding is named, and what is undone`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Encoding: rot13"], body: "uryyb"))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
        #expect(error?.reason.contains("rot13") == true)
    }

    @Test func `a redirect is an answer, not followed`() async throws {
        let server = try LoopbackServer.start()
        let result = try await CurlTransport.test().get("\(server.baseURL)/redirect/1")
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 302)
    }

    @Test func `a silent server times out, and the error says while what`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test()
        let error = try await transport.perform(
            HTTPRequest(url: URL(string: server.baseURL), timeoutInterval: 0.05)
        ).error
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .waiting)
        #expect(error?.reason == "timed out while waiting for the answer: no progress for 0.05 s")
    }

    @Test func `a body that stops coming times out`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .stall)
        let error = try await CurlTransport.test().perform(
            HTTPRequest(url: URL(string: server.baseURL), timeoutInterval: 0.05)
        ).error
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .receiving)
    }

    @Test func `the session's limit holds where the request has none of its own`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 0.05 }
        #expect(try await transport.get(server.baseURL).error?.code == .timedOut)
    }

    @Test func `the limit on the whole transfer ends one that makes progress`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\n\r\n"),
            .trickle(Array(repeating: 120, count: 10_000), size: 1, interval: .milliseconds(5)))
        let transport = CurlTransport.test { $0.timeoutIntervalForResource = 0.2 }
        let result = try await transport.get(server.baseURL)
        #expect(result.error?.code == .timedOut)
        #expect(result.response?.statusCode == 200)
    }

    @Test func `waiting for a place ends when the whole time is over`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test {
            $0.httpMaximumConnectionsPerHost = 1
            $0.timeoutIntervalForResource = 0.2
        }
        async let first = transport.get(server.baseURL)
        async let second = transport.get(server.baseURL)
        let errors = [try await first.error, try await second.error]
        #expect(errors.allSatisfy { $0?.code == .timedOut })
        #expect(errors.contains { $0?.stage == .waiting })
    }
}
