import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

/// Responses over HTTP/2 whose frames arrive all at once, and servers that only claim HTTP/2.
@Suite(.timeLimit(.minutes(patience))) struct `A response over HTTP 2` {
    /// The bytes of a response, with the fields of a head in frames of at most 16 KiB.
    private static func response(_ fields: [(String, String)], body: String) -> [UInt8] {
        var block: [UInt8] = [0x88]  // :status 200
        for (name, value) in fields { block += [0] + literal(name) + literal(value) }
        var frames = frame(type: 4, flags: 0, stream: 0, [])
        var (rest, isFirst) = (block[...], true)
        while !rest.isEmpty || isFirst {
            let piece = rest.prefix(16_384)
            rest = rest.dropFirst(piece.count)
            frames += frame(
                type: isFirst ? 1 : 9, flags: rest.isEmpty ? 4 : 0, stream: 1, Array(piece))
            isFirst = false
        }
        return frames + frame(type: 0, flags: 1, stream: 1, Array(body.utf8))
    }

    private static func frame(
        type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8]
    ) -> [UInt8] {
        let size = payload.count
        return [
            UInt8(size >> 16), UInt8(size >> 8 & 0xFF), UInt8(size & 0xFF), type, flags, 0, 0, 0,
            stream,
        ] + payload
    }

    /// A string of HPACK without Huffman coding (RFC 7541 §5.2).
    private static func literal(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8.count
        if rest < 127 {
            bytes = [UInt8(rest)]
        } else {
            bytes = [127]
            rest -= 127
            while rest >= 128 {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes + Array(text.utf8)
    }

    private static func fields(_ count: Int) -> [(String, String)] {
        (0..<count).map { ("x-\($0)", String(repeating: "a", count: 1000)) }
    }

    /// Sends a response at once, and returns the result of its request.
    ///
    /// - Parameters:
    ///   - pausing: Whether the request pauses at the head.
    ///   - isLone: Whether no other transfer runs.
    private func result(
        of bytes: [UInt8], pausing: Bool = false, isLone: Bool = true
    ) async throws -> TransferResult {
        let server = try ScriptedServer.start(.requestHead, .send(bytes), .stall)
        let transport = CurlTransport.test {
            $0.httpVersion = .http2PriorKnowledge
            $0.timeoutIntervalForRequest = 20
        }
        let probe = Probe(onHead: { _ in pausing ? .pause : .proceed })
        let request = HTTPRequest(url: URL(string: server.baseURL))
        let idle = try ScriptedServer.start(.stall)
        let stalled = TransferJob(request: HTTPRequest(url: URL(string: idle.baseURL)))
        let other = isLone ? nil : transport.start(stalled, handler: Probe())
        defer { other?.cancel() }
        let task = transport.start(TransferJob(request: request), handler: probe)
        if pausing {
            while probe.heads.isEmpty, !probe.isOver, !Task.isCancelled { await Task.yield() }
            task.resume()
        }
        return try await probe.end.value()
    }

    @Test(arguments: [10, 15, 16, 17, 40, 60, 70, 120], [false, true])
    func `a head larger than libcurl's usual buffer does not hide the end`(
        count: Int, pausing: Bool
    ) async throws {
        let result = try await result(
            of: Self.response(Self.fields(count), body: "hi"), pausing: pausing)
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.response?.headers.count == count)
        #expect(result.text == "hi")
    }

    @Test func `a head that does not fit into the buffer is refused with its limit`() async throws {
        let result = try await result(
            of: Self.response(Self.fields(70), body: "hi"), isLone: false)
        #expect(result.error?.code == .headerFieldsExceedMaximum)
        #expect(
            result.error?.reason == "the response's header fields are larger than 64512 bytes, the "
                + "most that libcurl takes over HTTP/2")
    }

    @Test func `a head that libcurl does not take is refused with its limit`() async throws {
        let result = try await result(of: Self.response(Self.fields(140), body: "hi"))
        #expect(result.error?.code == .headerFieldsExceedMaximum)
        #expect(
            result.error?.reason.contains("libcurl takes over HTTP/2 (128 KiB)") == true,
            "\(result.error?.reason ?? "")")
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `a response broken off for HTTP 1 is an error, and not sent again`(method: HTTPMethod)
        async throws
    {
        let head: [UInt8] = [0x88]
        let frames =
            Self.frame(type: 4, flags: 0, stream: 0, [])
            + Self.frame(type: 1, flags: 4, stream: 1, head)
            + Self.frame(type: 0, flags: 0, stream: 1, Array("abc".utf8))
        let reset = Self.frame(type: 3, flags: 0, stream: 1, [0, 0, 0, 13])
        let (begun, never) = (try Gate(), try Gate())
        let server = try ScriptedServer.start(
            .requestHead, .send(frames), .wait(begun), .send(reset), .wait(never))
        let transport = CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
        let probe = Probe()
        _ = transport.start(
            TransferJob(
                request: HTTPRequest(url: URL(string: server.baseURL), method: method),
                delivery: .chunks), handler: probe)
        while probe.chunks.isEmpty, !probe.isOver, !Task.isCancelled { await Task.yield() }
        begun.open()
        let result = try await probe.end.value()
        #expect(result.error?.code == .networkConnectionLost)
        #expect(
            result.error?.reason == "the server broke off its response after 3 bytes of the body, "
                + "and wants the request again over HTTP/1.1")
        #expect(probe.received(Array("abc".utf8)))
        #expect(server.requests.values.count == 1)
    }

    @Test(arguments: ["HTTP/2 200 OK", "HTTP/2.0 200 OK", "HTTP/2 200"])
    func `a status line of HTTP 2 over HTTP 1 is refused before the rest of the head`(line: String)
        async throws
    {
        let server = try ScriptedServer.start(.request, .send(line + "\r\n"), .stall)
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .badServerResponse)
        #expect(
            result.error?.reason == "the response's status line says HTTP/2, but the connection "
                + "speaks HTTP/1.1")
    }
}
