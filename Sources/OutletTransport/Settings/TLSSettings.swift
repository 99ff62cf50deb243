/// A version of TLS.
public enum TLSVersion: String, Sendable, Hashable, CaseIterable {
    /// TLS 1.0.
    ///
    /// OpenSSL 3 supports it only with `@SECLEVEL=0` in ``TransportConfiguration/tlsCipherList``.
    case tls10 = "1.0"
    /// TLS 1.1; needs `@SECLEVEL=0` like ``tls10``.
    case tls11 = "1.1"
    /// TLS 1.2.
    case tls12 = "1.2"
    /// TLS 1.3.
    case tls13 = "1.3"
}

/// The file that the keys of TLS connections are written to, for programs such as Wireshark that
/// decrypt captured traffic.
///
/// Anyone who can read the file can decrypt everything sent on the connections: passwords, tokens
/// and bodies. The file gets mode 0600, even if it existed with another mode, and lines are
/// appended to it. A symbolic link, a pipe or a device is refused. If the file cannot be opened,
/// all requests of the transport fail.
public enum TLSKeyLog: Sendable, Hashable {
    /// No keys are written; `SSLKEYLOGFILE` is ignored.
    ///
    /// libcurl itself would use `SSLKEYLOGFILE` (7.88.1, OpenSSL); the transport turns that off for
    /// each connection. libcurl still creates the file, empty, when it is first used in a process, and
    /// waits for the reader of a pipe.
    case off
    /// Keys are written to the file at this path.
    case file(path: String)
    /// Keys are written to the file that `SSLKEYLOGFILE` names when the transport is made; none are
    /// written if the variable is not set or empty.
    case environment
}
