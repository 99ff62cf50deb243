import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletCurl

/// Uploads that wait for more bytes of their stream when the server responds or ends the connection.
@Suite(.timeLimit(.minutes(patience))) struct WaitingUploadTests {
    /// A stream that begins with `begin`, and then waits until it is ended.
    private final class Waiting: BodyStream {
        private struct State: Sendable {
            var hasBegun = false
            var hasEnded = false
            var ready: (@Sendable () -> Void)?
        }

        let name = "the clock"
        let length: Int64?
        private let state = Lock(State())

        init(length: Int64? = nil) { self.length = length }

        /// Ends the stream.
        func end() {
            let ready = state.withLock { state in
                state.hasEnded = true
                return state.ready.take()
            }
            ready?()
        }

        func mustWait(ready: @escaping @Sendable () -> Void) -> Bool {
            state.withLock { state in
                guard state.hasBegun, !state.hasEnded else { return false }
                state.ready = ready
                return true
            }
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            state.withLock { state in
                guard !state.hasBegun else { return 0 }
                state.hasBegun = true
                buffer.copyBytes(from: Array("begin".utf8))
                return 5
            }
        }

        func rewind() { state.withLock { $0.hasBegun = false } }
    }

    private func request(
        _ url: String, _ stream: Waiting, _ method: HTTPMethod = .post
    ) -> HTTPRequest {
        HTTPRequest(url: URL(string: url), method: method, body: .stream(stream))
    }

    /// Sends a request that waits for its stream without end.
    private func perform(_ steps: [Step], length: Int64?) async throws -> TransferResult {
        let server = try ScriptedServer.start { _ in [.requestHead] + steps }
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 20 }
        return try await transport.perform(request(server.baseURL, Waiting(length: length)))
    }

    private static func slow(_ text: String) -> Step {
        .trickle(Array(text.utf8), size: 2, interval: .milliseconds(1))
    }

    @Test(
        arguments: [
            ("", "without a response"), ("HTTP/1.1 200 O", "without a response"),
            ("HTTP/1.1 200 OK\r\nA: b", "without a response"),
            ("HTTP/1.1 100 Continue\r\n\r\n", "without a response"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "after 5 bytes"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                "after 5 bytes"
            ),
            ("HTTP/1.1 413 No\r\nContent-Length: 9\r\n\r\nlarge", "5 of 9 bytes"),
            (
                "HTTP/1.1 413 No\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "5\r\nlarge",
                "outstanding read data"
            ),
        ], [nil, 10] as [Int64?])
    func `an upload fails when the server closes the connection`(
        sent: (text: String, fact: String), length: Int64?
    ) async throws {
        let error = try #require(try await perform([.send(sent.text)], length: length).error)
        #expect(error.code == .networkConnectionLost)
        #expect(error.reason.contains(sent.fact), "\(error.reason)")
    }

    @Test func `an upload fails when the server resets the connection`() async throws {
        let result = try await perform([.reset], length: nil)
        #expect(result.error?.code == .networkConnectionLost, "\(result.error?.reason ?? "")")
    }

    @Test(
        arguments: [
            "HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\nlarge",
            "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge",
            "HTTP/1.1 413 No\r\nConnection: close\r\n\r\nlarge", "HTTP/1.1 413 No\r\n\r\nlarge",
            "HTTP/1.1 413 No\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5\r\nlarge\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlarge", "HTTP/1.1 200 OK\r\n\r\nlarge",
            "HTTP/1.1 204 None\r\n\r\n",
        ], [nil, 10] as [Int64?])
    func `a complete response is delivered when the server closes the connection`(
        text: String, length: Int64?
    ) async throws {
        for step in [Step.send(text), Self.slow(text)] {
            let result = try await perform([step], length: length)
            #expect(result.error == nil, "\(result.error?.reason ?? "")")
            #expect(result.text == (result.response?.statusCode == 204 ? "" : "large"))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\nlarge",
        "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlarge",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "5\r\nlarge\r\n0\r\n\r\n",
    ])
    func `a complete response that ends the upload is delivered while the connection stays open`(
        text: String
    ) async throws {
        for step in [Step.send(text), Self.slow(text)] {
            let result = try await perform([step, .stall], length: nil)
            #expect(result.error == nil, "\(result.error?.reason ?? "")")
            #expect(result.text == "large")
        }
    }

    @Test func `the upload goes on after a response that leaves the connection open`() async throws
    {
        let server = try ScriptedServer.start(
            .requestHead, .respond(body: "early"), .stall)
        let stream = Waiting()
        let probe = Probe()
        let transport = CurlTransport.test()
        _ = transport.start(
            TransferJob(request: request(server.baseURL, stream), delivery: .chunks),
            handler: probe)
        try await probe.events.values(2)
        stream.end()
        let result = try await probe.end.value()
        #expect(result.error == nil)
        #expect(result.metrics.requestBodyBytes == "5\r\nbegin\r\n0\r\n\r\n".utf8.count)
        #expect(probe.chunks == Array("early".utf8))
    }

    @Test func `a connection that ends after the response ends the upload`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .requestHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"), .wait(gate))
        let probe = Probe()
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 20 }
        _ = transport.start(
            TransferJob(request: request(server.baseURL, Waiting()), delivery: .chunks),
            handler: probe)
        try await probe.events.values(2)
        gate.open()
        let result = try await probe.end.value()
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
    }

    @Test func `a suspended upload notices the closed connection when it is resumed`() async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(.requestHead, .wait(gate))
        let probe = Probe()
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 20 }
        let task = transport.start(
            TransferJob(request: request(server.baseURL, Waiting())), handler: probe)
        try await server.requests.values(1)
        task.suspend()
        gate.open()
        try await server.endings.values(0)
        task.resume()
        #expect(try await probe.end.value().error?.code == .networkConnectionLost)
    }

    @Test func `a PUT on a kept connection that is closed is sent again on another one`()
        async throws
    {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond(body: "first"), .requestHead]
                : [.requestHead, .respond(body: "second")]
        }
        let stream = Waiting()
        let probe = Probe()
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 20 }
        // Streams have connections of their own.
        let first = Waiting()
        first.end()
        #expect(try await transport.perform(request(server.baseURL, first, .put)).text == "first")
        _ = transport.start(
            TransferJob(request: request(server.baseURL, stream, .put)), handler: probe)
        try await server.requests.values(3)
        stream.end()
        #expect(try await probe.end.value().text == "second")
    }

    // MARK: HTTP/2

    private static let complete: FramePeer.Frame = .data("large", ends: true)

    @Test(
        arguments: [
            ([[.head(200, length: 5), complete, .reset(0)]], "with its response (status 200)"),
            ([[.head(413), complete, .reset(0)]], "with its response (status 413)"),
            ([[.head(200)], [.data("large"), .reset(0)]], ""), ([[.close]], ""),
            ([[.goAwayFrom(request: 0)]], "refused the request (GOAWAY)"),
        ] as [([[FramePeer.Frame]], String)])
    func `an upload fails when the server ends its stream`(
        groups: [[FramePeer.Frame]], fact: String
    ) async throws {
        let server = try await FramePeer.start(.init(request: 0, isEarly: true, groups))
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            $0.timeoutIntervalForRequest = 20
        }
        let result = try await transport.perform(request("\(server.baseURL)/", Waiting()))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(
            result.error?.reason.contains(fact) == true, "\(result.error?.reason ?? "")")
        await server.stop()
    }

    @Test func `an upload that waits for more bytes goes on after an early response has begun`()
        async throws
    {
        let server = try await FramePeer.start(
            .init(
                request: 0, isEarly: true, [.head(200)], [.bodyEnd], [.data("done", ends: true)]))
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            $0.timeoutIntervalForRequest = 20
        }
        let stream = Waiting()
        let probe = Probe()
        _ = transport.start(
            TransferJob(request: request("\(server.baseURL)/", stream)), handler: probe)
        while probe.heads.isEmpty, !Task.isCancelled { await Task.yield() }
        // The loop looks for an end that libcurl has missed after 20, 40 and 80 ms.
        try await Task.sleep(for: .milliseconds(250))
        #expect(!probe.isOver)
        stream.end()
        let result = try await probe.end.value()
        #expect(result.error == nil && result.text == "done", "\(result.error?.reason ?? "")")
        await server.stop()
    }

    @Test func `a complete response ends an upload that the server refuses`() async throws {
        let server = try await FramePeer.start(
            .init(request: 0, isEarly: true, [.head(413, length: 5), Self.complete]))
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            $0.timeoutIntervalForRequest = 20
        }
        let result = try await transport.perform(request("\(server.baseURL)/", Waiting()))
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.text == "large")
        await server.stop()
    }
}
