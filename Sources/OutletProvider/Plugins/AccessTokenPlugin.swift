public import OutletHTTP

/// A target whose requests carry an access token.
public protocol AccessTokenAuthorizable: TargetType {
    /// The scheme of the token; `nil` leaves the request without one.
    var authorizationType: AuthorizationType? { get }
}

/// The authentication scheme of an access token, the first word of `Authorization`.
public enum AuthorizationType: Equatable, Sendable {
    /// `Basic`; the token is `user:password` in base64.
    case basic
    /// `Bearer`.
    case bearer
    /// Another scheme.
    case custom(String)

    /// The scheme as it is sent.
    public var value: String {
        switch self {
        case .basic: "Basic"
        case .bearer: "Bearer"
        case .custom(let scheme): scheme
        }
    }
}

extension MultiTarget: AccessTokenAuthorizable {
    /// The scheme of the wrapped target; `nil` unless that is ``AccessTokenAuthorizable``.
    public var authorizationType: AuthorizationType? {
        (target as? any AccessTokenAuthorizable)?.authorizationType
    }
}

/// Sets `Authorization` on requests whose target is ``AccessTokenAuthorizable``.
public struct AccessTokenPlugin: PluginType {
    /// Returns the token for a target, without the scheme.
    ///
    /// Called before each attempt and each redirect hop of a target whose
    /// ``AccessTokenAuthorizable/authorizationType`` is not `nil`. A ``MultiTarget`` is unwrapped.
    ///
    /// Thread: that of ``PluginType/prepare(_:target:)``.
    public typealias TokenClosure = @Sendable (any TargetType) -> String

    /// Returns the token for a target.
    public let tokenClosure: TokenClosure

    /// Makes the plugin.
    ///
    /// - Parameter tokenClosure: Returns the token, without the scheme; see ``TokenClosure``.
    public init(tokenClosure: @escaping TokenClosure) {
        self.tokenClosure = tokenClosure
    }

    /// Sets `Authorization`, and replaces a value that the request already has.
    ///
    /// Returns the request unchanged if the target has no
    /// ``AccessTokenAuthorizable/authorizationType``. Never throws.
    ///
    /// - Parameters:
    ///   - request: The request as the plugins before this one prepared it. Its context says which
    ///     attempt (`RequestContext.attempt`) and which redirect hop (`RequestContext.hop`) it is.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        guard let kind = (target as? any AccessTokenAuthorizable)?.authorizationType else {
            return request
        }
        let inner = (target as? MultiTarget)?.target ?? target
        var request = request
        request.headers.update(
            name: "Authorization", value: "\(kind.value) \(tokenClosure(inner))")
        return request
    }
}
