import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTransport

/// Runs `prepare` and `willSend` of all plugins before each attempt of the session's request, and
/// before each hop that redirects lead to.
final class PluginInterceptor: RequestInterceptor, RedirectGuard {
    private let call: ProviderCall

    private struct State: Sendable {
        /// Weak: the request holds this interceptor.
        weak var request: Request?
        var isAttached = false
        /// What the session asked for before the request was known.
        var waiting: (@Sendable (Request) -> Void)?
    }

    private let state = Lock(State())

    init(call: ProviderCall) {
        self.call = call
    }

    /// Tells whose plugins these are.
    ///
    /// A session may have the request adapted before whoever made it has it in hand; the plugins
    /// run after this, so that what they do to the request reaches it.
    func attach(_ request: Request) {
        let waiting = state.withLock { state in
            state.request = request
            state.isAttached = true
            defer { state.waiting = nil }
            return state.waiting
        }
        if let waiting { call.session.requestQueue.async { waiting(request) } }
    }

    func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let (isAttached, sent) = self.state.withLock { mutable in
            if !mutable.isAttached {
                mutable.waiting = { self.run(on: request, of: $0, state, completion) }
            }
            return (mutable.isAttached, mutable.request)
        }
        if isAttached { run(on: request, of: sent, state, completion) }
    }

    private func run(
        on request: HTTPRequest, of sent: Request?, _ state: RequestAdapterState,
        _ completion: @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        completion(
            Result {
                var described = request
                described.attributes["request.id"] = state.requestID.uuidString
                described.attributes["request.attempt"] = "\(state.retryCount + 1)"
                let prepared = described.accepting(try call.prepare(described))
                call.willSend(
                    SentRequest(request: prepared, session: state.session, sent: sent))
                return prepared
            })
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { completion(.doNotRetry) }
}

/// A request of the session, as plugins see it.
private struct SentRequest: RequestType {
    let request: HTTPRequest?
    let session: Session
    let sent: Request?

    var sessionHeaders: [String: String] { session.sessionConfiguration.headers.dictionary }

    func authenticate(
        username: String, password: String, persistence: Credential.Persistence
    ) -> Self {
        authenticate(
            with: Credential(user: username, password: password, persistence: persistence))
    }

    func authenticate(with credential: Credential) -> Self {
        sent?.authenticate(with: credential)
        return self
    }

    func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
        sent?.cURLDescription(calling: handler)
        return self
    }
}
