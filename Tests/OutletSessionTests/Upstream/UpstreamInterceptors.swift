import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletReachability
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Synchronization
import Testing

/// An interceptor written for upstream, with completion closures.
private final class UpstreamInterceptor: RequestInterceptor {
    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        var urlRequest = urlRequest
        urlRequest.headers.add(.authorization(bearerToken: "token"))
        completion(.success(urlRequest))
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(request.retryCount < 1 ? .retryWithDelay(0) : .doNotRetryWithError(error))
    }
}

private struct StateAdapter: RequestAdapter {
    let seen = Recorder<UUID>()

    func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        seen.record(state.requestID)
        completion(.success(urlRequest))
    }

    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) { completion(.failure(AFError.explicitlyCancelled)) }
}

private final class OverridingAdapter: Adapter, @unchecked Sendable {
    let states = Recorder<UUID>()

    override func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        states.record(state.requestID)
        super.adapt(urlRequest, using: state, completion: completion)
    }
}

private final class PickyPolicy: RetryPolicy, @unchecked Sendable {
    override func shouldRetry(request: Request, dueTo error: any Error) -> Bool { false }
}

private struct OAuthCredential: AuthenticationCredential {
    var accessToken = "a0"
    var requiresRefresh = false
}

private final class OAuthAuthenticator: Authenticator {
    func apply(_ credential: OAuthCredential, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
    }

    func refresh(
        _ credential: OAuthCredential, for session: Session,
        completion: @escaping @Sendable (Result<OAuthCredential, any Error>) -> Void
    ) { completion(.success(OAuthCredential(accessToken: "a1"))) }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(
        _ urlRequest: URLRequest, authenticatedWith credential: OAuthCredential
    ) -> Bool { urlRequest.headers["Authorization"] == "Bearer \(credential.accessToken)" }
}

private struct UpstreamRedirector: RedirectHandler {
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse, completion: @escaping (URLRequest?) -> Void
    ) { completion(request) }
}

/// Uses interceptors, policies and handlers with upstream's names.
@Suite struct UpstreamInterceptorTests {
    let url = "http://example.test/get"

    private func take(_ interceptor: any RequestInterceptor) {}
    private func take(adapter: any RequestAdapter) {}
    private func take(retrier: any RequestRetrier) {}

    @Test func `an interceptor written for upstream adapts and retries`() async {
        let transport = StubTransport { _ in .status(401) }
        let session = Session(transport: transport, interceptor: UpstreamInterceptor())
        let response = await session.request(url).validate().serializingData().response
        #expect(
            transport.requests.map { $0.headers["Authorization"] }
                == Array(
                    repeating: "Bearer token", count: 2))
        guard case .requestRetryFailed(let retryError, let originalError)? = response.error else {
            Issue.record("\(response)")
            return
        }
        #expect(originalError.asAFError?.responseCode == 401)
        #expect(retryError.asAFError?.responseCode == 401)
    }

    @Test func `adapters with a state get the request's id`() async {
        let adapter = StateAdapter()
        let overriding = OverridingAdapter { $2(.success($0)) }
        let session = Session(
            transport: StubTransport { _ in .text("x") },
            interceptor: Interceptor(adapters: [adapter, overriding]))
        let request = session.request(url)
        #expect(await request.serializingString().response.value == "x")
        #expect(adapter.seen.values == [request.id])
        #expect(overriding.states.values == [request.id])
    }

    @Test func `static members and initialisers of interceptors have upstream names`() throws {
        let adapt: AdaptHandler = { request, session, completion in completion(.success(request)) }
        let retry: RetryHandler = { _, session, error, completion in completion(.doNotRetry) }
        take(adapter: .adapter(using: adapt))
        take(adapter: .adapter { request, _, completion in completion(.success(request)) })
        take(retrier: .retrier(using: retry))
        take(retrier: .retrier { _, _, _, completion in completion(.retry) })
        take(.interceptor(adapter: adapt, retrier: retry))
        take(.interceptor(adapter: Adapter(adapt), retrier: Retrier(retry)))
        take(.interceptor(adapters: [Adapter(adapt)], retriers: [Retrier(retry)], interceptors: []))
        take(.retryPolicy)
        take(.retryPolicy(retryLimit: 1, exponentialBackoffBase: 2, exponentialBackoffScale: 0.1))
        take(
            .retryPolicy(
                retryableHTTPMethods: [.get], retryableHTTPStatusCodes: [500],
                retryableURLErrorCodes: [.timedOut]))
        take(.connectionLostRetryPolicy)
        take(
            .connectionLostRetryPolicy(
                retryLimit: 1, exponentialBackoffBase: 2, exponentialBackoffScale: 1,
                retryableHTTPMethods: [.post]))
        take(.deflateCompressor)
        take(
            .deflateCompressor(
                duplicateHeaderBehavior: .skip, shouldCompressBodyData: { $0.count > 10 }))
        take(.offlineRetrier())
        take(.offlineRetrier(requiredInterfaceType: .wifi, maximumWait: .seconds(1)))
        take(.offlineRetrier(prohibitedInterfaceTypes: [.cellular]) { _ in true })
        let interceptor = Interceptor(adaptHandler: adapt, retryHandler: retry)
        #expect(interceptor.adapters.count == 1 && interceptor.retriers.count == 1)
        let more = Interceptor(adapters: [interceptor], interceptors: [interceptor])
        #expect(more.adapters.count == 2 && more.retriers.count == 1)
        let policy = RetryPolicy(retryLimit: 5)
        #expect(policy.retryLimit == 5 && policy.exponentialBackoffBase == 2)
        #expect(policy.exponentialBackoffScale == 0.5)
        #expect(policy.retryableHTTPMethods == RetryPolicy.defaultRetryableHTTPMethods)
        #expect(policy.retryableHTTPStatusCodes == RetryPolicy.defaultRetryableHTTPStatusCodes)
        #expect(policy.retryableURLErrorCodes == RetryPolicy.defaultRetryableURLErrorCodes)
        #expect(RetryResult.retryWithDelay(1).delay == 1 && RetryResult.retry.retryRequired)
        #expect(RetryResult.doNotRetryWithError(AFError.explicitlyCancelled).error != nil)
        #expect(OfflineRetrier.defaultURLErrorOfflineCodes == [.notConnectedToInternet])
    }

    @Test func `interceptors can be called directly`() async throws {
        let session = Session(
            transport: StubTransport { _ in .silence }, startRequestsImmediately: false)
        let request = session.request(url)
        let urlRequest = try URLRequest(url: url, method: .get)
        let answers = Recorder<String>()
        Adapter { request, _, completion in completion(.success(request)) }
            .adapt(urlRequest, for: session) { answers.record("\($0.isSuccess)") }
        Retrier { _, _, _, completion in completion(.retry) }
            .adapt(urlRequest, for: session) { answers.record("\($0.success == urlRequest)") }
        Adapter { request, _, completion in completion(.success(request)) }
            .retry(request, for: session, dueTo: AFError.explicitlyCancelled) {
                answers.record("\($0)")
            }
        Interceptor(retriers: [Retrier { _, _, _, completion in completion(.retry) }])
            .retry(request, for: session, dueTo: AFError.explicitlyCancelled) {
                answers.record("\($0)")
            }
        PickyPolicy().retry(request, for: session, dueTo: URLError(.timedOut)) {
            answers.record("\($0)")
        }
        Interceptor().adapt(
            urlRequest, using: RequestAdapterState(requestID: UUID(), session: session)
        ) { answers.record("\($0.isSuccess)") }
        #expect(
            try await answers.values(6) == [
                "true", "true", "doNotRetry", "retry", "doNotRetry", "true",
            ])
    }

    @Test func `an authenticator written for upstream refreshes`() async {
        let transport = StubTransport { job in
            job.request.headers["Authorization"] == "Bearer a1" ? .text("x") : .status(401)
        }
        let session = Session(transport: transport)
        let interceptor = AuthenticationInterceptor(
            authenticator: OAuthAuthenticator(), credential: OAuthCredential(),
            refreshWindow: .init(interval: 30, maximumAttempts: 5))
        let request = session.request(url, interceptor: interceptor).validate()
        #expect(await request.serializingString().response.value == "x")
        #expect(request.retryCount == 1 && interceptor.credential?.accessToken == "a1")
        interceptor.credential = nil
        let bare = AuthenticationInterceptor(
            authenticator: OAuthAuthenticator(), refreshWindow: nil)
        let response = await session.request(url, interceptor: bare).serializingData().response
        #expect(response.error?.underlyingError as? AuthenticationError == .missingCredential)
        #expect(response.request?.headers.count == 0)
    }

    @Test func `a redirect handler written for upstream is called`() async {
        let session = Session(
            transport: StubTransport(answers: [.redirect(to: "/next"), .text("x")]),
            redirectHandler: UpstreamRedirector())
        let response = await session.request(url).serializingString().response
        #expect(response.value == "x" && response.response?.url?.path == "/next")
        let modifying = Redirector(behavior: .modify { task, request, response in nil })
        guard case .modify = modifying.behavior else {
            Issue.record("not kept")
            return
        }
        _ = session.request(url).redirect(using: .modify { _, _, _ in nil })
    }
}
