public import OutletTransport

/// What takes part in all calls of a session, in several places at once: `Session(plugins:)`.
///
/// Every kind of request passes it: data, uploads, downloads, streams, the handshakes of WebSockets.
public protocol SessionPlugins: Sendable {
    /// Adapt and retry all requests, behind the session's own interceptor.
    var interceptors: [any RequestInterceptor] { get }
    /// See every hop on the wire, behind the session's own layers.
    var layers: [@Sendable (_ next: any Transport) -> any Transport] { get }
    /// Decide about redirects, behind the request's own handler.
    var redirectDeciders: [any RedirectDecider] { get }
    /// Surrounds all calls, inside of the session's own middleware.
    var middleware: [any Middleware] { get }
    /// Watch all requests, beside the session's own.
    var eventMonitors: [any EventMonitor] { get }
    /// Who decides which servers are trusted.
    ///
    /// - Parameters:
    ///   - manager: Decides without plugins; the usual checks if `nil`.
    ///   - verifies: Whether certificates are verified at all.
    /// - Returns: Asked in place of `manager`.
    func trustDecider(
        behind manager: (any ServerTrustDeciding)?, verifies: Bool
    ) -> (any ServerTrustDeciding)?
    /// A session begins to use them; it is not to be kept.
    func attach(to session: Session)
}

extension SessionPlugins {
    /// None.
    public var interceptors: [any RequestInterceptor] { [] }
    /// None.
    public var layers: [@Sendable (_ next: any Transport) -> any Transport] { [] }
    /// None.
    public var redirectDeciders: [any RedirectDecider] { [] }
    /// None.
    public var middleware: [any Middleware] { [] }
    /// None.
    public var eventMonitors: [any EventMonitor] { [] }
    /// The manager.
    public func trustDecider(
        behind manager: (any ServerTrustDeciding)?, verifies: Bool
    ) -> (any ServerTrustDeciding)? { manager }
    /// Does nothing.
    public func attach(to session: Session) {}
}
