public import OutletHTTP
import OutletObservation
import OutletSession
public import OutletTransport

/// Sees, and may change, what a provider sends and receives.
///
/// The hooks of one request run in the order below; of several plugins, each hook runs for all in
/// the order they were given, before the next hook runs for any. ``prepare(_:target:)`` and
/// ``willSend(_:target:)`` run before each attempt, retries included, and before each hop that a
/// redirect leads to; ``didReceive(_:target:)`` and ``process(_:target:)`` once, after the last.
///
/// Thread: where the request is made, or finished; never two hooks of one request at a time.
public protocol PluginType: Sendable {
    /// Returns the request to send.
    ///
    /// Of a redirect's next hop (`RequestContext.hop` counts them) the address counts;
    /// fields and body are kept as they were, because what is added for one address may be a secret
    /// to another.
    ///
    /// - Throws: Any error; the request fails with it, and nothing is sent.
    func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest

    /// The request is about to be sent, as all plugins have prepared it.
    func willSend(_ request: any RequestType, target: any TargetType)

    /// The result has arrived; no plugin has processed it yet.
    func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType)

    /// Returns the result to hand to the caller.
    func process(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> Result<Response, ProviderError>
}

extension PluginType {
    /// Returns the request unchanged.
    public func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        request
    }

    /// Does nothing.
    public func willSend(_ request: any RequestType, target: any TargetType) {}

    /// Does nothing.
    public func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {}

    /// Returns the result unchanged.
    public func process(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> Result<Response, ProviderError> { result }
}

/// A request as a plugin sees it just before it is sent.
public protocol RequestType: Sendable {
    /// The request as prepared.
    var request: HTTPRequest? { get }
    /// The fields that the session adds where the request has none of that name.
    var sessionHeaders: [String: String] { get }

    /// Answers authentication challenges with a name and a password.
    @discardableResult
    func authenticate(
        username: String, password: String, persistence: Credential.Persistence
    ) -> Self
    /// Answers authentication challenges with a credential.
    @discardableResult
    func authenticate(with credential: Credential) -> Self

    /// Calls a closure with the request as a command line for curl, secrets left out.
    @discardableResult
    func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self
}

extension RequestType {
    /// Calls a closure at once with the command for what was prepared.
    @discardableResult
    public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
        var described = request
        described?.headers.addMissing(from: HTTPHeaders(sessionHeaders))
        handler(HTTPRequest.cURLDescription(of: described))
        return self
    }
}
