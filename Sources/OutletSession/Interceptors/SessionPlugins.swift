public import OutletTransport

/// Interceptors, layers, middleware, monitors and trust decisions that are added to a session
/// together: `Session(plugins:)`.
///
/// They apply to every kind of request: data, uploads, downloads, streams and the handshakes of
/// WebSockets.
public protocol SessionPlugins: Sendable {
    /// Interceptors of all requests, called after the session's own interceptor.
    var interceptors: [any RequestInterceptor] { get }
    /// Layers for every hop on the wire, inside the session's own layers.
    var layers: [@Sendable (_ next: any Transport) -> any Transport] { get }
    /// Called for redirects that the request's own handler would follow.
    var redirectDeciders: [any RedirectDecider] { get }
    /// Middleware around all calls, inside the session's own middleware.
    var middleware: [any Middleware] { get }
    /// Monitors of all requests, in addition to the session's own.
    var eventMonitors: [any EventMonitor] { get }
    /// Returns the object that decides which servers are trusted.
    ///
    /// - Parameters:
    ///   - manager: Decides without plugins; `nil` for the default checks.
    ///   - verifies: Whether certificates are verified at all.
    /// - Returns: Used in place of `manager`; `nil` for the default checks.
    func trustDecider(
        behind manager: (any ServerTrustDeciding)?, verifies: Bool
    ) -> (any ServerTrustDeciding)?
    /// Called when a session begins to use the plugins.
    ///
    /// - Parameter session: The session; must not be retained.
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
    /// Returns the manager.
    ///
    /// - Parameters:
    ///   - manager: Decides without plugins; `nil` for the default checks.
    ///   - verifies: Whether certificates are verified at all.
    public func trustDecider(
        behind manager: (any ServerTrustDeciding)?, verifies: Bool
    ) -> (any ServerTrustDeciding)? { manager }
    /// Does nothing.
    ///
    /// - Parameter session: The session.
    public func attach(to session: Session) {}
}
