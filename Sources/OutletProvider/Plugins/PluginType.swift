public import OutletHTTP
import OutletObservation
import OutletSession
public import OutletTransport

/// Observes and changes what a provider sends and receives.
///
/// The hooks of one request run in the order below. Each hook runs for all plugins, in the order in
/// which they were given to the provider, before the next hook runs. ``prepare(_:target:)`` and
/// ``willSend(_:target:)`` run before each attempt, retries included, and before each redirect hop;
/// ``didReceive(_:target:)`` and ``process(_:target:)`` run once, after the last attempt.
///
/// Thread: ``prepare(_:target:)`` and ``willSend(_:target:)`` run on the thread that starts the
/// request or on the session's request queue, ``didReceive(_:target:)`` and ``process(_:target:)``
/// where the completion runs. Two hooks of one request never run at the same time; those of several
/// requests may. No hook may block.
public protocol PluginType: Sendable {
    /// Returns the request to send.
    ///
    /// Of a redirect hop only the URL of the returned request is used: headers and body stay as
    /// they were, because what is added for one server may be a secret from another.
    ///
    /// - Parameters:
    ///   - request: The request as the plugins before this one prepared it. Its context says which
    ///     attempt (`RequestContext.attempt`) and which redirect hop (`RequestContext.hop`) it is.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    /// - Throws: Any error. The request is not sent; the provider's result is
    ///   ``ProviderError/underlying(_:_:)`` with
    ///   `SessionError.requestAdaptationFailed(error:)` around it.
    func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest

    /// Runs before the request is sent, after all plugins have prepared it.
    ///
    /// - Parameters:
    ///   - request: The prepared request; can be given a credential here.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    func willSend(_ request: any RequestType, target: any TargetType)

    /// Runs when the result is known, before any plugin processes it.
    ///
    /// Runs also for requests that failed before ``willSend(_:target:)``, and after a cancel.
    ///
    /// - Parameters:
    ///   - result: The validated response, or the error.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType)

    /// Returns the result that the caller receives.
    ///
    /// - Parameters:
    ///   - result: The result as the plugins before this one processed it.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    func process(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> Result<Response, ProviderError>
}

extension PluginType {
    /// Returns the request unchanged; never throws.
    ///
    /// - Parameters:
    ///   - request: The request as the plugins before this one prepared it. Its context says which
    ///     attempt (`RequestContext.attempt`) and which redirect hop (`RequestContext.hop`) it is.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        request
    }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The prepared request; can be given a credential here.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func willSend(_ request: any RequestType, target: any TargetType) {}

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - result: The validated response, or the error.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {}

    /// Returns the result unchanged.
    ///
    /// - Parameters:
    ///   - result: The result as the plugins before this one processed it.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func process(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> Result<Response, ProviderError> { result }
}

/// A prepared request, as ``PluginType/willSend(_:target:)`` receives it.
public protocol RequestType: Sendable {
    /// The request as all plugins have prepared it.
    var request: HTTPRequest? { get }
    /// The headers that the session adds if the request has none of that name.
    var sessionHeaders: [String: String] { get }

    /// Answers authentication challenges with a user name and a password.
    ///
    /// Without effect on stubbed requests.
    ///
    /// - Parameters:
    ///   - username: The user name, not encoded.
    ///   - password: The password, not encoded.
    ///   - persistence: How long the credential is kept.
    /// - Returns: The request itself.
    @discardableResult
    func authenticate(
        username: String, password: String, persistence: Credential.Persistence
    ) -> Self
    /// Answers authentication challenges with a credential.
    ///
    /// Without effect on stubbed requests.
    ///
    /// - Parameter credential: The credential; replaces one set before.
    /// - Returns: The request itself.
    @discardableResult
    func authenticate(with credential: Credential) -> Self

    /// Calls a closure with the request as a curl command line, secrets redacted.
    ///
    /// The command has the headers and cookies that the session adds, the body of an upload, and the
    /// credentials set so far; not what other interceptors of the session change later.
    ///
    /// - Parameter handler: Called once, before this returns, on the calling thread.
    /// - Returns: The request itself.
    @discardableResult
    func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self
}

extension RequestType {
    /// Calls a closure with the prepared request as a curl command line.
    ///
    /// - Parameter handler: Called once, before this returns, on the calling thread.
    /// - Returns: The request itself.
    @discardableResult
    public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
        var described = request
        described?.headers.addMissing(from: HTTPHeaders(sessionHeaders))
        handler(HTTPRequest.cURLDescription(of: described))
        return self
    }
}
