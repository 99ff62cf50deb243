import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

private struct OAuthCredential: AuthenticationCredential {
    var accessToken = "a0"
    var requiresRefresh = false
}

private enum OAuthError: Error { case refreshNetworkFailure }

/// Counts the calls of its methods.
private final class OAuthAuthenticator: Authenticator {
    private struct Counts {
        var apply = 0
        var refresh = 0
        var didFail = 0
        var isAuthenticated = 0
    }
    private let counts = Lock(Counts())
    private let refreshResult: Result<OAuthCredential, any Error>?

    /// The numbers of calls of `apply`, `refresh`, `didRequest` and `isRequest`.
    var calls: [Int] {
        counts.withLock { [$0.apply, $0.refresh, $0.didFail, $0.isAuthenticated] }
    }

    init(refreshResult: Result<OAuthCredential, any Error>? = nil) {
        self.refreshResult = refreshResult
    }

    func apply(_ credential: OAuthCredential, to urlRequest: inout URLRequest) {
        counts.withLock { $0.apply += 1 }
        urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
    }

    func refresh(
        _ credential: OAuthCredential, for session: Session,
        completion: @escaping @Sendable (Result<OAuthCredential, any Error>) -> Void
    ) {
        let count = counts.withLock { counts in
            counts.refresh += 1
            return counts.refresh
        }
        let result = refreshResult ?? .success(OAuthCredential(accessToken: "a\(count)"))
        // Delayed, so that other requests wait for it.
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { completion(result) }
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool {
        counts.withLock { $0.didFail += 1 }
        return response.statusCode == 401
    }

    func isRequest(
        _ urlRequest: URLRequest, authenticatedWith credential: OAuthCredential
    ) -> Bool {
        counts.withLock { $0.isAuthenticated += 1 }
        return urlRequest.headers["Authorization"]
            == HTTPHeader.authorization(bearerToken: credential.accessToken).value
    }
}

/// Sets the next of the given paths at each attempt.
private final class PathAdapter: RequestAdapter {
    private let paths: Lock<[String]>

    init(paths: [String]) { self.paths = Lock(paths) }

    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        var request = urlRequest
        var components = URLComponents(string: request.url?.absoluteString ?? "")
        components?.path = paths.withLock { $0.removeFirst() }
        request.url = components?.url
        completion(.success(request))
    }
}

/// Tests that the methods of an authenticator are called as often as with upstream.
@Suite struct UpstreamAuthenticationTests {
    private typealias Interceptor = OutletSession.Interceptor
    private let url = "http://example.test/get"
    private let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))

    /// Responds with the status code at the end of the path; 200 without one.
    private let transport = StubTransport { job in
        guard job.request.url?.scheme != nil else { return .failure(URLError(.unsupportedURL)) }
        return .status(Int(job.request.url?.lastPathComponent ?? "") ?? 200)
    }

    private func statuses(_ codes: Int...) -> PathAdapter {
        PathAdapter(paths: codes.map { "/status/\($0)" })
    }

    private func token(_ response: AFDataResponse<Data?>) -> String? {
        response.request?.headers["Authorization"]
    }

    private func get(
        _ session: Session, _ path: String, _ interceptor: any RequestInterceptor
    ) async -> (Request, AFDataResponse<Data?>) {
        let request = session.request("http://example.test\(path)", interceptor: interceptor)
            .validate()
        return (request, await request.serializingUnserialized().response)
    }

    @Test func `a valid credential is applied once without other authenticator calls`() async {
        let authenticator = OAuthAuthenticator()
        let session = Session(transport: transport)
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: OAuthCredential())
        let (request, response) = await get(session, "/get", interceptor)
        #expect(token(response) == "Bearer a0" && response.result.isSuccess)
        #expect(authenticator.calls == [1, 0, 0, 0] && request.retryCount == 0)
        let (_, failed) = await get(session, "/status/500", interceptor)
        #expect(failed.error?.responseCode == 500)
        #expect(authenticator.calls == [2, 0, 1, 0])
        let invalid = await session.request("/invalid/path", interceptor: interceptor).validate()
            .serializingUnserialized().response
        #expect(token(invalid) == "Bearer a0" && invalid.error?.isSessionTaskError == true)
        #expect(authenticator.calls == [3, 0, 1, 0])
    }

    @Test func `requests wait for a required refresh and are adapted once`() async {
        let authenticator = OAuthAuthenticator()
        let session = Session(transport: transport)
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: OAuthCredential(requiresRefresh: true))
        async let first = get(session, "/status/200", interceptor)
        async let second = get(session, "/status/202", interceptor)
        for (request, response) in await [first, second] {
            #expect(token(response) == "Bearer a1" && response.result.isSuccess)
            #expect(request.retryCount == 0)
        }
        #expect(authenticator.calls == [2, 1, 0, 0])
    }

    @Test func `a failed refresh is the error of the adaptation or of the retry`() async {
        let authenticator = OAuthAuthenticator(
            refreshResult: .failure(OAuthError.refreshNetworkFailure))
        let session = Session(transport: transport)
        let due = AuthenticationInterceptor(
            authenticator: authenticator, credential: OAuthCredential(requiresRefresh: true))
        let (_, unsent) = await get(session, "/get", due)
        #expect(unsent.request?.headers.count == 0)
        #expect(unsent.error?.isRequestAdaptationError == true)
        #expect(unsent.error?.underlyingError as? OAuthError == .refreshNetworkFailure)
        #expect(authenticator.calls == [0, 1, 0, 0])
        let late = AuthenticationInterceptor(
            authenticator: authenticator, credential: OAuthCredential())
        let (request, refused) = await get(session, "/status/401", late)
        #expect(token(refused) == "Bearer a0" && request.retryCount == 0)
        #expect(refused.error?.isRequestRetryError == true)
        #expect(refused.error?.underlyingError as? OAuthError == .refreshNetworkFailure)
        guard case let .requestRetryFailed(_, originalError)? = refused.error else {
            Issue.record("\(String(describing: refused.error))")
            return
        }
        #expect(originalError.asAFError?.responseCode == 401)
        #expect(authenticator.calls == [1, 2, 1, 1])
    }

    @Test func `a credential removed or changed during a request fails or retries it`() async throws
    {
        let gone = OAuthAuthenticator()
        let interceptor = AuthenticationInterceptor(
            authenticator: gone, credential: OAuthCredential())
        // One gate for each of the two requests.
        let gates = (try Gate(), try Gate())
        let asked = Lock(0)
        let credentials = Lock<[OAuthCredential?]>([nil, OAuthCredential(accessToken: "a1")])
        monitor.requestDidCreateTask = { request, _ in
            guard request.retryCount == 0 else { return }
            let (credential, isFirst) = credentials.withLock { credentials in
                (credentials.removeFirst(), !credentials.isEmpty)
            }
            interceptor.credential = credential
            (isFirst ? gates.0 : gates.1).open()
        }
        let session = Session(
            transport: StubTransport { job in
                if job.request.url?.lastPathComponent == "401" {
                    let number = asked.withLock { asked in
                        asked += 1
                        return asked
                    }
                    #expect((number == 1 ? gates.0 : gates.1).isOpen(within: .seconds(60)))
                }
                return .status(Int(job.request.url?.lastPathComponent ?? "") ?? 200)
            }, eventMonitors: [monitor])
        let (_, missing) = await get(session, "/status/401", interceptor)
        #expect(missing.error?.isRequestRetryError == true)
        #expect(missing.error?.underlyingError as? AuthenticationError == .missingCredential)
        #expect(gone.calls == [1, 0, 1, 0])
        interceptor.credential = OAuthCredential()
        let both = Interceptor(
            adapters: [statuses(401, 200), interceptor], retriers: [interceptor])
        let (request, response) = await get(session, "/get", both)
        #expect(token(response) == "Bearer a1" && response.result.isSuccess)
        #expect(gone.calls == [3, 0, 2, 1] && request.retryCount == 1)
    }

    @Test func `parallel refusals cause one refresh`() async {
        let authenticator = OAuthAuthenticator()
        let session = Session(transport: transport)
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: OAuthCredential())
        await withTaskGroup { group in
            for index in 0..<6 {
                group.addTask {
                    let both = Interceptor(
                        adapters: [statuses(401, 200 + index), interceptor],
                        retriers: [interceptor])
                    let (request, response) = await get(session, "/get", both)
                    #expect(token(response) == "Bearer a1" && response.result.isSuccess)
                    #expect(request.retryCount == 1)
                }
            }
        }
        #expect(authenticator.calls == [12, 1, 6, 6])
    }

    @Test func `refreshes are limited by the window, and unlimited without one`() async {
        let session = Session(transport: transport)
        let endless = OAuthAuthenticator()
        let unbounded = AuthenticationInterceptor(
            authenticator: endless, credential: OAuthCredential(), refreshWindow: nil)
        let both = Interceptor(
            adapters: [statuses(401, 401, 401, 401, 401, 401, 200), unbounded],
            retriers: [unbounded])
        let (request, response) = await get(session, "/get", both)
        #expect(token(response) == "Bearer a6" && response.result.isSuccess)
        #expect(endless.calls == [7, 6, 6, 6] && request.retryCount == 6)
        let authenticator = OAuthAuthenticator()
        let bounded = AuthenticationInterceptor(
            authenticator: authenticator, credential: OAuthCredential(),
            refreshWindow: .init(interval: 30, maximumAttempts: 2))
        let (last, failed) = await get(session, "/status/401", bounded)
        #expect(token(failed) == "Bearer a2" && last.retryCount == 2)
        #expect(failed.error?.isRequestRetryError == true)
        #expect(failed.error?.underlyingError as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.calls == [3, 2, 3, 3])
    }

    @Test func `credentials and their storage work with upstream names`() {
        let credential = URLCredential(
            user: "user", password: "password", persistence: .forSession)
        let session = Session(transport: transport)
        let request = session.request(url).authenticate(with: credential)
            .authenticate(username: "user", password: "password", persistence: .forSession)
            .authenticate(username: "user", password: "password")
        #expect(request.credential == credential)
        let space = ProtectionSpace(
            host: "example.test", port: 80, protocol: "http", realm: "r",
            authenticationMethod: "basic")
        let storage = CredentialStorage()
        storage.set(credential, for: space)
        storage.setDefaultCredential(credential, for: space)
        #expect(storage.defaultCredential(for: space) == credential)
        for (space, credentials) in storage.allCredentials {
            for (_, credential) in credentials { storage.remove(credential, for: space) }
        }
        #expect(storage.credentials(for: space)?.isEmpty != false)
    }
}
