/// The authentication schemes that a transport supports (RFC 9110 §16.4.1).
public enum AuthenticationScheme: String, Sendable, Hashable, CaseIterable {
    /// Kerberos with SPNEGO (RFC 4559), with the tickets of the process's user; user name and
    /// password are not used.
    case negotiate
    /// A token (RFC 6750), which is stored as the password.
    case bearer
    /// A hash of the password (RFC 7616).
    case digest
    /// A hash of the password, which authenticates a connection; HTTP/1.1 only.
    case ntlm
    /// The password in clear text (RFC 7617).
    case basic
}
