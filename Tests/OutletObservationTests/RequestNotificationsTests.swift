import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@Suite struct RequestNotificationsTests {
    let address = "http://example.test/get"
    let notifications = RequestNotifications()

    @Test func `an observer receives the names it observes until it is cancelled`() async throws {
        let session = Session(
            transport: StubTransport { _ in .text("x") }, eventMonitors: [notifications])
        let seen = Recorder<RequestNotifications.Notification>()
        let all = Recorder<RequestNotifications.Name>()
        let observation = notifications.observe([.didFinish, .didCompleteTask]) { seen.record($0) }
        let other = notifications.observe { all.record($0.name) }
        let request = session.request(address)
        _ = await request.serializingString().response
        let received = try await seen.values(2)
        #expect(received.map(\.name) == [.didCompleteTask, .didFinish])
        #expect(received.allSatisfy { $0.request == request })
        #expect(received.first?.task != nil)
        observation.cancel()
        _ = await session.request(address).serializingString().response
        let names = try await all.values(8)
        #expect(names.prefix(4) == [.didResume, .didResumeTask, .didCompleteTask, .didFinish])
        #expect(seen.values.count == 2)
        other.cancel()
    }

    @Test func `notifications can be read as an asynchronous sequence`() async {
        let session = Session(
            transport: StubTransport { _ in .text("x") }, eventMonitors: [notifications])
        let stream = notifications.notifications([.didFinish])
        _ = await session.request(address).serializingString().response
        for await notification in stream {
            #expect(notification.name == .didFinish)
            break
        }
    }
}
