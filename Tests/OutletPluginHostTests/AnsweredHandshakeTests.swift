import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletPluginHost
import OutletTransport

/// A WebSocket handshake that a plugin answers in place of the server.
@Suite struct AnsweredHandshakeTests {
    @Test func `a WebSocket handshake that a plugin answers fails and does not reach the network`()
        async throws
    {
        let network = StubTransport { _ in .webSocket([.close(.normalClosure)]) }
        let session = Session(
            transport: network,
            layers: [
                { HookedWire(around: $0, finalizers: [], watchers: [], limit: 0, keeping: nil) }
            ])
        let answer = GivenAnswer(status: 200, headers: ["X-By": "plugin"], body: Data())
        let ended = Recorder<SessionError?>()
        session.webSocketRequest(
            to: "ws://a.test/", requestModifier: { $0.givenAnswer = answer }
        ).streamMessageEvents { event in
            if case .completed(let completion) = event.kind { ended.record(completion.error) }
        }
        let error = try await ended.values(1)[0]
        #expect(error?.transferError?.code == .badServerResponse)
        #expect(
            error?.transferError?.reason.hasPrefix(
                "a plugin answered 200 to the WebSocket handshake")
                == true)
        #expect(network.requests.isEmpty)
        withExtendedLifetime(session) {}
    }
}
