/// What a server or a proxy asks credentials for (RFC 9110 §11.6.1, §11.7.1).
public struct AuthenticationChallenge: Sendable, Equatable {
    /// What is protected, and how.
    public let protectionSpace: ProtectionSpace
    /// How often this request was refused with credentials before.
    public let previousFailureCount: Int
    /// The scheme's parameters besides the realm, names in lower case.
    public let parameters: [String: String]
    /// How many requests have answered it with the one that is being sent: the `nc` of Digest
    /// (RFC 7616 §3.4), with which a server tells an answer from a repeated one.
    public var nonceCount = 1

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
