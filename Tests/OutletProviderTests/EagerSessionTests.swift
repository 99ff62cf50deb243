import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import OutletTransport
import Testing

/// A session whose requests are adapted before `request` has returned them.
private final class HastySession: Session, @unchecked Sendable {
    // because what it adds is behind a lock.

    /// To be taken out: a request holds what has plugins, and that its session.
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

/// Providers with sessions that make requests ready at once.
@Suite struct EagerSessionTests {
    @Test func `a plugin's changes apply to a request that is adapted before it is returned`()
        async throws
    {
        let session = HastySession(
            transport: StubTransport { _ in .text("fed") }, requestSetup: .eager)
        let diary = Diary("a")
        let provider = Provider<Zoo>(
            session: session,
            plugins: [CredentialsPlugin { _ in Credential(user: "me", password: "p") }, diary])
        let response = try await provider.request(.feed(grams: 1))
        #expect(try response.mapString() == "fed")
        let request = try #require(session.made.withLock { $0.popLast() })
        #expect(request.credential?.user == "me")
        #expect(response.request?.headers["X-Seen-By"] == "a")
        #expect(
            diary.entries == ["a.prepare", "a.willSend[a]", "a.didReceive", "a.process"])
    }
}
