public import OutletHTTP

/// A target that tells which kind of token it wants.
public protocol AccessTokenAuthorizable: TargetType {
    /// The kind; `nil` for none.
    var authorizationType: AuthorizationType? { get }
}

/// The kind of an access token, as `Authorization` names it.
public enum AuthorizationType: Equatable, Sendable {
    /// `Basic`; the token is what stands behind it, encoded already.
    case basic
    /// `Bearer`.
    case bearer
    /// Another scheme.
    case custom(String)

    /// The scheme as sent.
    public var value: String {
        switch self {
        case .basic: "Basic"
        case .bearer: "Bearer"
        case .custom(let scheme): scheme
        }
    }
}

extension MultiTarget: AccessTokenAuthorizable {
    /// The inner target's kind, if it tells one.
    public var authorizationType: AuthorizationType? {
        (target as? any AccessTokenAuthorizable)?.authorizationType
    }
}

/// Sets `Authorization` on requests of targets that ask for it.
public struct AccessTokenPlugin: PluginType {
    /// Returns the token for a target; asked only when one is needed.
    public typealias TokenClosure = @Sendable (any TargetType) -> String

    /// Returns the token for a target.
    public let tokenClosure: TokenClosure

    /// Makes the plugin.
    public init(tokenClosure: @escaping TokenClosure) {
        self.tokenClosure = tokenClosure
    }

    /// Sets `Authorization`, in place of what may be there.
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
