import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import OutletTransport
import Testing

/// A session whose requests are adapted before `request` has returned them.
private final class EagerlyAdaptedSession: Session, @unchecked Sendable {
    // because a lock protects the property that it adds.

    /// The requests made; a test must remove them, because a request with plugins retains its
    /// session.
    let made = Lock<[Request]>([])

    override func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) -> DataRequest {
        let request = super.request(
            convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        rootQueue.sync {}
        requestQueue.sync {}
        made.withLock { $0.append(request) }
        return request
    }
}

/// Providers with sessions that prepare requests eagerly.
@Suite struct EagerSessionTests {
    @Test func `a plugin's changes apply to a request that is adapted before it is returned`()
        async throws
    {
        let session = EagerlyAdaptedSession(
            transport: StubTransport { _ in .text("fed") }, requestSetup: .eager)
        let hookRecorder = HookRecorder("a")
        let provider = Provider<Zoo>(
            session: session,
            plugins: [
                CredentialsPlugin { _ in Credential(user: "me", password: "p") }, hookRecorder,
            ])
        let response = try await provider.request(.feed(grams: 1))
        #expect(try response.mapString() == "fed")
        let request = try #require(session.made.withLock { $0.popLast() })
        #expect(request.credential?.user == "me")
        #expect(response.request?.headers["X-Seen-By"] == "a")
        #expect(
            hookRecorder.entries == ["a.prepare", "a.willSend[a]", "a.didReceive", "a.process"])
    }
}
