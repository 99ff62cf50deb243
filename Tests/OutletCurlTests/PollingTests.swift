import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletCurl

@Suite(.timeLimit(.minutes(patience))) struct `Sockets that the kernel does not watch` {
    /// Waits until the loop has polled a socket often, and opens a gate.
    ///
    /// A loop that polled it without a pause would need less time.
    private func openLater(_ gate: Gate, _ port: UnwatchedPort) async {
        let begin = ContinuousClock.now
        let before = port.refusals
        while port.refusals < before + 20, !Task.isCancelled { await Task.yield() }
        #expect(ContinuousClock.now - begin > .milliseconds(50))
        gate.open()
    }

    @Test func `a request is polled, without taking the processor`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(), .again)
        let port = UnwatchedPort(server.port)
        let transport = CurlTransport.test()
        async let opened: Void = openLater(gate, port)
        let request = HTTPRequest(url: URL(string: server.baseURL))
        #expect(try await transport.perform(request).error == nil)
        await opened
        // Also with further data on the same connection.
        #expect(try await transport.get(server.baseURL).error == nil)
        #expect(server.connections.values.count == 1)
    }

    @Test func `a WebSocket is polled, without taking the processor`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .upgrade(), .wait(gate), .send(.close(1000)), .frame)
        let port = UnwatchedPort(server.port)
        async let opened: Void = openLater(gate, port)
        let end = Once<TransferResult>()
        _ = CurlTransport.test().connect(
            WebSocketJob(request: HTTPRequest(url: URL(string: server.baseURL))),
            handler: SocketEnd(end))
        #expect(try await end.value().error == nil)
        await opened
    }
}

@Suite(.timeLimit(.minutes(patience))) struct `Uploads that wait for the window of the server` {
    /// More than the first window of a stream, which ``FramePeer`` never enlarges.
    private let large = HTTPBody.data(Data(count: 200_000))

    private func turns(of transport: CurlTransport) async -> UInt64 {
        let loops = transport.livingLoops
        return await Task(executorPreference: transport.taskExecutor) {
            loops.reduce(0) { $0 + $1.epoch.pointee }
        }.value
    }

    @Test func `an upload over HTTP/2 waits without taking the processor`() async throws {
        let server = try await FramePeer.start()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            $0.timeoutIntervalForRequest = 0.5
        }
        let request = HTTPRequest(
            url: URL(string: "\(server.baseURL)/"), method: .post, body: large)
        let result = try await transport.perform(request)
        #expect(result.error?.code == .timedOut, "\(result.error?.reason ?? "no error")")
        await expectFewTurns(of: transport)
        await server.stop()
    }

    @Test func `an upload over HTTP/2 and a Unix socket waits without taking the processor`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path("http.sock")
        let server = try ScriptedServer.start(
            at: .unix(path: path), .send([0, 0, 0, 4, 0, 0, 0, 0, 0]), .stall)
        let transport = CurlTransport.test {
            $0.unixSocketPath = path
            $0.httpVersion = .http2PriorKnowledge
            $0.timeoutIntervalForRequest = 0.5
        }
        let request = HTTPRequest(
            url: URL(string: "http://localhost/"), method: .post, body: large)
        let result = try await transport.perform(request)
        #expect(result.error?.code == .timedOut, "\(result.error?.reason ?? "no error")")
        await expectFewTurns(of: transport)
        server.stop()
    }

    private func expectFewTurns(of transport: CurlTransport) async {
        // Without a pause there are more than 50 turns in a millisecond.
        let turns = await turns(of: transport)
        #expect(turns < 1000, "\(turns) turns of the loop")
    }
}
