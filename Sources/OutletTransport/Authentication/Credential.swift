import OutletHTTP

/// A user name and a password, or a token, for authentication.
///
/// Control characters in any of them, and a colon in a user name that may be sent with Basic (RFC 7617
/// §2), are an error of the request (``TransferError/Code/badRequest``) before they would be sent.
public struct Credential: Sendable, Equatable, Hashable {
    /// The user's name; empty for a token.
    public var user: String
    /// The password or the token; never part of a description.
    public var password: String
    /// How long the credential is stored.
    public var persistence: Persistence
    /// The only scheme to use it with; `nil` for the safest of digest, NTLM and basic that the
    /// server offers.
    public var scheme: AuthenticationScheme?

    /// How long a credential is stored.
    public enum Persistence: Sendable {
        /// Only for the request that has it.
        case none
        /// In the session's credential storage, after a server has accepted it.
        case forSession
    }

    /// Makes a credential from a user name and a password.
    ///
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The password.
    ///   - persistence: How long it is stored; by default for the session.
    ///   - scheme: The only scheme to use it with; `nil` for the safest of digest, NTLM and basic
    ///     that the server offers.
    public init(
        user: String, password: String, persistence: Persistence = .forSession,
        scheme: AuthenticationScheme? = nil
    ) {
        self.user = user
        self.password = password
        self.persistence = persistence
        self.scheme = scheme
    }

    /// Makes a credential from a token (RFC 6750), with the scheme
    /// ``AuthenticationScheme/bearer``.
    ///
    /// - Parameters:
    ///   - bearerToken: The token, without the scheme.
    ///   - persistence: How long it is stored; by default for the session.
    public init(bearerToken: String, persistence: Persistence = .forSession) {
        self.init(
            user: "", password: bearerToken, persistence: persistence, scheme: .bearer)
    }

    /// What keeps the credential from being sent with its scheme, without any part of it; `nil` if
    /// nothing does.
    ///
    /// Without a scheme it may be sent with Basic, where a server would take the rest of a user name
    /// after a colon for the start of the password (RFC 7617 §2).
    package var fault: String? {
        if user.utf8.contains(where: \.isControl) { return "its user name has a control character" }
        if password.utf8.contains(where: \.isControl) {
            return "its \(scheme == .bearer ? "token" : "password") has a control character"
        }
        guard scheme == nil || scheme == .basic, user.containsByte(":") else { return nil }
        return "its user name has a colon, which the Basic scheme cannot send"
    }
}

/// How a transport uses the credential of a job.
public enum CredentialUse: Sendable {
    /// It answers the server's challenge with the credential.
    case onChallenge
    /// It sends the credential with the request, without waiting for a challenge, if the scheme is
    /// known and allows that.
    case atOnce
    /// It does not send the credential: a layer answers challenges with further jobs.
    ///
    /// The credential still distinguishes users in the keys of cached and shared responses.
    case identifiesOnly
}

extension Credential: CustomStringConvertible {
    /// The user name, without the password.
    public var description: String { "\(user):•••" }
}

extension Credential: CustomDebugStringConvertible {
    /// Same as ``description``.
    public var debugDescription: String { description }
}

extension Credential: CustomReflectable {
    /// The properties without the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["user": user, "persistence": persistence, "scheme": scheme as Any])
    }
}
