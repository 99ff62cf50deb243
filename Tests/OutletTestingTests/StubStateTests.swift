import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// The state and the current request of stubbed transfers.
@Suite(.timeLimit(.minutes(patience))) struct StubStateTests {
    private let sessions = KeptSessions()

    @Test(arguments: ["http://example.test/get", "ws://example.test/chat"])
    func `a stubbed transfer reports its state and its current request`(address: String)
        async throws
    {
        let session = sessions.make(StubTransport { _ in .silence })
        let ended = Recorder<SessionError?>()
        let request: Request
        if address.hasPrefix("ws") {
            request = session.webSocketRequest(to: address).streamMessageEvents { event in
                guard case .completed(let completion) = event.kind else { return }
                ended.record(completion.error)
            }
        } else {
            request = session.request(address).response { ended.record($0.error) }
        }
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        let task = try #require(request.task)
        #expect(task.state == .running)
        #expect(task.currentRequest?.url?.path == request.request?.url?.path)
        request.suspend()
        #expect(task.state == .suspended)
        request.resume()
        #expect(task.state == .running)
        request.cancel()
        #expect(task.state == .canceling || task.state == .completed)
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        #expect(task.state == .completed)
    }

    @Test func `a transfer is completed before its completion handler is called`() async throws {
        let states = Recorder<TransferState>()
        let monitor = ClosureEventMonitor()
        monitor.taskDidComplete = { _, task, _ in states.record(task.state) }
        let session = Session(
            transport: StubTransport { _ in .text("x") }, eventMonitors: [monitor])
        #expect(
            await session.request("http://example.test/").serializingString().response.value == "x")
        #expect(try await states.values(1) == [.completed])
    }
}
