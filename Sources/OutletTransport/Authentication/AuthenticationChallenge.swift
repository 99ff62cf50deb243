/// The challenge of a server or a proxy that requires credentials (RFC 9110 §11.6.1, §11.7.1).
public struct AuthenticationChallenge: Sendable, Equatable {
    /// The server and realm, and the authentication scheme.
    public let protectionSpace: ProtectionSpace
    /// How many times this request was refused with credentials before.
    public let previousFailureCount: Int
    /// The parameters of the scheme except the realm, by name in lower case.
    public let parameters: [String: String]
    /// The number of requests that have answered this challenge, including the current one.
    ///
    /// It is the `nc` parameter of Digest (RFC 7616 §3.4), with which a server detects replays.
    public var nonceCount = 1
    /// Whether the bytes of the realm and the parameters are Latin-1, as received; otherwise they are
    /// UTF-8.
    package var isLatin1 = false

    /// Makes a challenge.
    ///
    /// - Parameters:
    ///   - protectionSpace: The server and realm, and the authentication scheme.
    ///   - previousFailureCount: How many times the request was refused with credentials before.
    ///   - parameters: The parameters of the scheme except the realm, by name in lower case.
    public init(
        protectionSpace: ProtectionSpace, previousFailureCount: Int = 0,
        parameters: [String: String] = [:]
    ) {
        self.protectionSpace = protectionSpace
        self.previousFailureCount = previousFailureCount
        self.parameters = parameters
    }
}
