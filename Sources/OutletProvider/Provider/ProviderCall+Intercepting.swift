import OutletHTTP
import OutletObservation
import OutletSession
import OutletTransport

/// Runs `prepare` and `willSend` of all plugins before each attempt of the session's request, and
/// before each hop that redirects lead to.
extension ProviderCall: RequestInterceptor, SynchronousRequestAdapter, RedirectGuard {
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest {
        let prepared = request.accepting(try prepare(request))
        willSend(SentRequest(request: prepared, session: state.session, sent: state.request))
        return prepared
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
        let command =
            if let sent, let request {
                sent.cURLDescription(of: request)
            } else {
                HTTPRequest.cURLDescription(of: request)
            }
        handler(command)
        return self
    }
}
