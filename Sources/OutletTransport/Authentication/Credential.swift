/// What answers a server that asks who is there: a name and a password, or a token.
public struct Credential: Sendable, Equatable, Hashable {
    /// The user's name; empty for a token.
    public var user: String
    /// The password or the token; never part of a description.
    public var password: String
    /// How long the credential is kept.
    public var persistence: Persistence
    /// The only scheme that it is used with; if `nil`, the safest of digest, NTLM and basic that
    /// the server offers.
    public var scheme: AuthenticationScheme?

    /// How long a credential is kept.
    public enum Persistence: Sendable {
        /// For the request that carries it.
        case none
        /// For the session, once it was let in, in its storage of credentials.
        case forSession
    }

    /// Makes a credential of a name and a password.
    public init(
        user: String, password: String, persistence: Persistence = .forSession,
        scheme: AuthenticationScheme? = nil
    ) {
        self.user = user
        self.password = password
        self.persistence = persistence
        self.scheme = scheme
    }

    /// Makes a credential of a token (RFC 6750), given to servers that ask for one.
    ///
    /// - Parameters:
    ///   - bearerToken: The token, without the scheme.
    ///   - persistence: How long it is kept.
    public init(bearerToken: String, persistence: Persistence = .forSession) {
        self.init(
            user: "", password: bearerToken, persistence: persistence, scheme: .bearer)
    }
}

/// What a transport does with the credential of a job.
public enum CredentialUse: Sendable {
    /// Answers the server's challenge with it.
    case onChallenge
    /// Sends it without being asked, where its scheme is known and allows that.
    case atOnce
    /// Nothing: who starts the job answers challenges by further jobs. It only says who asks, which
    /// the keys of stored and of shared responses hold.
    case identifiesOnly
}

extension Credential: CustomStringConvertible {
    /// The user's name; the password is left out.
    public var description: String { "\(user):•••" }
}

extension Credential: CustomDebugStringConvertible {
    /// Same as ``description``.
    public var debugDescription: String { description }
}
