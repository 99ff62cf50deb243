public import FoundationEssentials

/// A client's certificate for mutual TLS, with its key.
public struct ClientCertificate: Sendable, Hashable {
    /// Where bytes lie.
    public enum Source: Sendable, Hashable {
        /// In a file, read anew for each connection.
        case file(path: String)
        /// In memory.
        case bytes(Data)
    }

    /// How certificate and key are written (`CURLOPT_SSLCERTTYPE`).
    public enum Format: String, Sendable, Hashable {
        /// Text between `-----BEGIN` and `-----END`; the chain behind the certificate.
        case pem = "PEM"
        /// Bytes.
        case der = "DER"
        /// Certificate, chain and key in one, behind a password (RFC 7292).
        case pkcs12 = "P12"
    }

    /// The certificate (`CURLOPT_SSLCERT`, `CURLOPT_SSLCERT_BLOB`).
    public var certificate: Source
    /// The private key (`CURLOPT_SSLKEY`, `CURLOPT_SSLKEY_BLOB`); with the certificate if `nil`.
    public var key: Source?
    /// How both are written.
    public var format: Format
    /// What opens the key (`CURLOPT_KEYPASSWD`); never part of a description.
    public var keyPassword: String?

    /// Names certificate and key.
    public init(
        certificate: Source, key: Source? = nil, format: Format = .pem, keyPassword: String? = nil
    ) {
        self.certificate = certificate
        self.key = key
        self.format = format
        self.keyPassword = keyPassword
    }

    /// Names PEM files.
    ///
    /// - Parameters:
    ///   - certificatePath: The certificate, its chain behind it.
    ///   - keyPath: The private key; `nil` when it is in the certificate's file.
    ///   - keyPassword: What opens the key.
    public init(certificatePath: String, keyPath: String? = nil, keyPassword: String? = nil) {
        self.init(
            certificate: .file(path: certificatePath), key: keyPath.map { .file(path: $0) },
            keyPassword: keyPassword)
    }

    /// Names a PKCS #12 file (`.p12`, `.pfx`).
    ///
    /// - Parameters:
    ///   - pkcs12Path: The path of the file; it is read when a connection needs it.
    ///   - password: Decrypts it; `nil` where it has none.
    public init(pkcs12Path: String, password: String? = nil) {
        self.init(
            certificate: .file(path: pkcs12Path), format: .pkcs12, keyPassword: password)
    }
}

extension ClientCertificate: CustomStringConvertible {
    /// Where it lies; the password is left out.
    public var description: String {
        switch certificate {
        case .file(let path): path
        case .bytes(let bytes): "\(bytes.count) bytes in memory"
        }
    }
}

extension ClientCertificate: CustomDebugStringConvertible {
    /// Same as ``description``.
    public var debugDescription: String { description }
}

/// Which client certificate is shown to which host.
public struct ClientCertificateProvider: Sendable {
    private let find: @Sendable (_ host: String, _ port: Int) -> ClientCertificate?

    /// Makes a provider of a table.
    ///
    /// - Parameter certificates: By host: `example.com`, `example.com:8443`, `*.example.com` for
    ///   one label before it, `**.example.com` for any number; the most precise counts.
    public init(_ certificates: [String: ClientCertificate]) {
        let table = HostTable(certificates)
        find = { table.value(forHost: $0, exactPort: $1) ?? table.value(forHost: $0) }
    }

    /// Makes a provider of a closure.
    ///
    /// - Parameter find: Asked for each transfer over TLS. On the thread that drives the transport,
    ///   with no lock held and never inside of the call that starts the request: its own thread, or
    ///   that of a blocking ``Transport`` call. It must not block, since all transfers wait for it.
    public init(
        _ find: @escaping @Sendable (_ host: String, _ port: Int) -> ClientCertificate?
    ) {
        self.find = find
    }

    /// The certificate for a host at a port, if it gets one.
    public func certificate(forHost host: String, port: Int) -> ClientCertificate? {
        find(host, port)
    }
}
