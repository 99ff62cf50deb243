import OutletSession
import OutletTransport

/// Sessions that last as long as their test: requests end with their session.
final class KeptSessions: Sendable {
    private let sessions = Lock<[Session]>([])

    /// Makes a session on a transport.
    func make(
        _ transport: any Transport, startRequestsImmediately: Bool = true,
        interceptor: (any RequestInterceptor)? = nil
    ) -> Session {
        let session = Session(
            transport: transport, startRequestsImmediately: startRequestsImmediately,
            interceptor: interceptor)
        sessions.withLock { $0.append(session) }
        return session
    }
}
