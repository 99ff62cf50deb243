/// A version of TLS.
public enum TLSVersion: String, Sendable, Hashable, CaseIterable {
    /// TLS 1.0; OpenSSL 3 speaks it only with `@SECLEVEL=0` in
    /// ``TransportConfiguration/tlsCipherList``.
    case tls10 = "1.0"
    /// TLS 1.1; the same holds.
    case tls11 = "1.1"
    /// TLS 1.2.
    case tls12 = "1.2"
    /// TLS 1.3.
    case tls13 = "1.3"
}

/// Where the keys of TLS connections are written, for programs that show what was sent (Wireshark).
///
/// Anyone who has the file can read everything that the connections carry: passwords, tokens,
/// bodies. It is for its owner's eyes only (mode 0600, also where it was there before with
/// another), lines are added at its end, and a symbolic link, a pipe or a device is refused. A file
/// that cannot be written to is the error of all requests of the transport.
public enum TLSKeyLog: Sendable, Hashable {
    /// Nowhere, whatever the environment says.
    ///
    /// libcurl by itself would follow `SSLKEYLOGFILE` (7.88.1, OpenSSL): no connection of the
    /// transport does. What remains of it is that libcurl opens that file when it is first used in
    /// the process, and so makes it, empty.
    case off
    /// To that file.
    case file(path: String)
    /// To the file that `SSLKEYLOGFILE` names when the transport is made; nowhere if it names none.
    case environment
}
