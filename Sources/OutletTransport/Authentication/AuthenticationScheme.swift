/// Ways to authenticate that a transport knows (RFC 9110 §16.4.1).
public enum AuthenticationScheme: String, Sendable, Hashable, CaseIterable {
    /// Kerberos by SPNEGO, with the tickets of the process's user (RFC 4559); name and password are
    /// not used.
    case negotiate
    /// A token (RFC 6750), taken for the password.
    case bearer
    /// Hashes of the password (RFC 7616).
    case digest
    /// Hashes of the password, connection by connection; HTTP/1.1 only.
    case ntlm
    /// The password, readable (RFC 7617).
    case basic
}
