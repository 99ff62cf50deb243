import OutletHTTP

/// The place that credentials belong to (RFC 9110 §11.5).
public struct ProtectionSpace: Sendable, Equatable, Hashable {
    /// The method of a space whose credentials answer whatever the server asks for.
    public static let anyMethod = "default"

    /// The host in canonical form, as `Origin.host`.
    public let host: String
    /// The port.
    public let port: Int
    /// The address's scheme, `http` or `https`.
    public let `protocol`: String
    /// What the server calls the space; `nil` when it gives no name.
    public let realm: String?
    /// How to authenticate, such as `basic` or `digest`, in lower case; or ``anyMethod``.
    public let authenticationMethod: String
    /// Whether the proxy asks, not the server.
    public let isProxy: Bool

    /// Makes a space.
    ///
    /// - Parameters:
    ///   - host: The host's name.
    ///   - port: The port.
    ///   - protocol: The address's scheme.
    ///   - realm: What the server calls the space.
    ///   - authenticationMethod: How to authenticate.
    ///   - isProxy: Whether the proxy asks.
    public init(
        host: String, port: Int, protocol: String, realm: String?,
        authenticationMethod: String = ProtectionSpace.anyMethod, isProxy: Bool = false
    ) {
        self.host = Origin.hostForComparison(host)
        self.port = port
        self.protocol = `protocol`.lowercasedASCII
        self.realm = realm
        self.authenticationMethod = authenticationMethod.lowercasedASCII
        self.isProxy = isProxy
    }

    /// The same place, whatever the method.
    package var forAnyMethod: ProtectionSpace {
        ProtectionSpace(
            host: host, port: port, protocol: self.protocol, realm: realm, isProxy: isProxy)
    }
}
