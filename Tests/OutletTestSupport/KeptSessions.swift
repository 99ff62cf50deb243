public import OutletSession
public import OutletTransport

/// Keeps sessions until the end of their test: requests end with their session.
public final class KeptSessions: Sendable {
    private let sessions = Lock<[Session]>([])

    /// No sessions yet.
    public init() {}

    /// Makes a session on a transport, and keeps it.
    ///
    /// The other parameters are those of `Session.init`.
    public func make(
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
