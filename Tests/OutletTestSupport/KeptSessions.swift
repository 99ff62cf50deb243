public import OutletSession
public import OutletTransport

/// Retains sessions until the end of a test.
///
/// A session that is released cancels its requests, so a test must keep it until they end.
public final class KeptSessions: Sendable {
    private let sessions = Lock<[Session]>([])

    /// Creates a store without sessions.
    public init() {}

    /// Makes a session on a transport, and retains it.
    ///
    /// The parameters are passed on to `Session.init`.
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
