import OutletHTTP

/// The server or proxy, the realm and the scheme that credentials are valid for (RFC 9110 §11.5).
public struct ProtectionSpace: Sendable, Equatable, Hashable {
    /// The authentication method of a space whose credentials are used with any scheme.
    public static let anyMethod = "default"

    /// The host in canonical form, as `Origin.host`.
    public let host: String
    /// The port.
    public let port: Int
    /// The URL's scheme, `http` or `https`.
    public let `protocol`: String
    /// The realm that the server has sent; `nil` if there is none.
    public let realm: String?
    /// The authentication scheme, such as `basic` or `digest`, in lower case; or ``anyMethod``.
    public let authenticationMethod: String
    /// Whether the challenge came from a proxy.
    public let isProxy: Bool

    /// Makes a protection space.
    ///
    /// - Parameters:
    ///   - host: The host's name or IP address; converted to its canonical form.
    ///   - port: The port.
    ///   - protocol: The URL's scheme, `http` or `https`.
    ///   - realm: The realm that the server has sent; `nil` if there is none.
    ///   - authenticationMethod: The authentication scheme; by default any.
    ///   - isProxy: Whether the challenge came from a proxy.
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

    /// The same space with ``anyMethod``.
    package var forAnyMethod: ProtectionSpace {
        ProtectionSpace(
            host: host, port: port, protocol: self.protocol, realm: realm, isProxy: isProxy)
    }
}
