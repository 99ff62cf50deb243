/// What a server or a proxy asks credentials for (RFC 9110 §11.6.1, §11.7.1).
public struct AuthenticationChallenge: Sendable, Equatable {
    /// The place that credentials belong to.
    public struct ProtectionSpace: Sendable, Equatable, Hashable {
        /// The host's name, in lower case.
        public let host: String
        /// The port.
        public let port: Int
        /// The address's scheme, `http` or `https`.
        public let `protocol`: String
        /// What the server calls the space; `nil` when it gives no name.
        public let realm: String?
        /// How to authenticate, such as `basic` or `digest`, in lower case.
        public let authenticationMethod: String
        /// Whether the proxy asks, not the server.
        public let isProxy: Bool

        /// Makes a space.
        public init(
            host: String, port: Int, protocol: String, realm: String?,
            authenticationMethod: String, isProxy: Bool = false
        ) {
            self.host = host.lowercased()
            self.port = port
            self.protocol = `protocol`
            self.realm = realm
            self.authenticationMethod = authenticationMethod.lowercased()
            self.isProxy = isProxy
        }
    }

    /// What is protected, and how.
    public let protectionSpace: ProtectionSpace
    /// How often this request was refused with credentials before.
    public let previousFailureCount: Int
    /// The scheme's parameters besides the realm, names in lower case.
    public let parameters: [String: String]

    /// Makes a challenge.
    public init(
        protectionSpace: ProtectionSpace, previousFailureCount: Int = 0,
        parameters: [String: String] = [:]
    ) {
        self.protectionSpace = protectionSpace
        self.previousFailureCount = previousFailureCount
        self.parameters = parameters
    }
}
