import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@Suite struct ClosureEventMonitorTests {
    let address = "http://example.test/get"
    let seen = Recorder<String>()

    @Test func `closures are called with the event's values on the monitor's queue`()
        async throws
    {
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "closures")
        queue.setSpecific(key: key, value: true)
        let monitor = ClosureEventMonitor(queue: queue)
        monitor.requestDidCreateURLRequest = { _, request in
            #expect(DispatchQueue.getSpecific(key: key) == true)
            seen.record("made \(request.method)")
        }
        monitor.dataTaskDidReceiveResponse = { _, _, response in
            seen.record("head \(response.statusCode)")
        }
        monitor.dataTaskDidReceiveData = { _, _, data in seen.record("data \(data.count)") }
        monitor.requestDidCompleteTaskWithError = { _, _, error in
            seen.record("completed \(error == nil)")
        }
        monitor.requestDidParseSerializedResponse = { _, response in
            seen.record("value \(response.value as? String ?? "none")")
        }
        let session = Session(
            transport: StubTransport { _ in .text("abc") }, eventMonitors: [monitor])
        _ = await session.request(address).serializingString().response
        #expect(
            try await seen.values(5) == [
                "made GET", "head 200", "data 3", "completed true", "value abc",
            ])
    }

    @Test func `a subclass may override single events`() async throws {
        final class Named: ClosureEventMonitor, @unchecked Sendable {
            let seen = Recorder<String>()
            override func requestDidFinish(_ request: Request) { seen.record("finished") }
            override func request<Value: Sendable>(
                _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
            ) { seen.record("\(Value.self)") }
        }
        let monitor = Named()
        let session = Session(
            transport: StubTransport { _ in .text("abc") }, eventMonitors: [monitor])
        _ = await session.request(address).serializingString().response
        #expect(try await monitor.seen.values(2) == ["finished", "String"])
    }

    @Test func `each monitor receives its events in order while another one is slow`() async throws
    {
        let monitors = (0..<3).map { _ in EventRecorder() }
        let slow = ClosureEventMonitor(queue: DispatchQueue(label: "slow"))
        let gate = try Gate()
        slow.requestDidResume = { _ in #expect(gate.isOpen(within: .seconds(60))) }
        let session = Session(
            transport: StubTransport { _ in .text("abc") }, eventMonitors: [slow] + monitors)
        _ = await session.request(address).serializingString().response
        let first = try await monitors[0].requestEvents()
        for monitor in monitors { #expect(try await monitor.requestEvents() == first) }
        gate.open()
    }
}
