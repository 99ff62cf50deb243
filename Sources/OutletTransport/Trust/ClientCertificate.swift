public import FoundationEssentials

/// A client certificate for mutual TLS, with its private key.
public struct ClientCertificate: Sendable, Hashable {
    /// Where a certificate or a key is read from.
    public enum Source: Sendable, Hashable {
        /// A file, which is read again for each connection.
        ///
        /// After it has changed, connections and TLS sessions that were made before are not used
        /// any more.
        case file(path: String)
        /// Bytes in memory.
        case bytes(Data)
    }

    /// The format of certificate and key (`CURLOPT_SSLCERTTYPE`).
    public enum Format: String, Sendable, Hashable {
        /// PEM; the certificate may be followed by its chain.
        case pem = "PEM"
        /// DER, one certificate.
        case der = "DER"
        /// PKCS #12 (RFC 7292): certificate, chain and key together, usually with a password.
        case pkcs12 = "P12"
    }

    /// The certificate (`CURLOPT_SSLCERT`, `CURLOPT_SSLCERT_BLOB`).
    public var certificate: Source
    /// The private key (`CURLOPT_SSLKEY`, `CURLOPT_SSLKEY_BLOB`); `nil` if ``certificate`` contains
    /// it.
    public var key: Source?
    /// The format of both.
    public var format: Format
    /// The password of the key (`CURLOPT_KEYPASSWD`), never part of a description; `nil` for none.
    public var keyPassword: String?

    /// Makes a client certificate; nothing is read before a connection needs it.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - key: The private key; `nil` if `certificate` contains it.
    ///   - format: The format of both; PEM by default.
    ///   - keyPassword: The password of the key; `nil` for none.
    public init(
        certificate: Source, key: Source? = nil, format: Format = .pem, keyPassword: String? = nil
    ) {
        self.certificate = certificate
        self.key = key
        self.format = format
        self.keyPassword = keyPassword
    }

    /// Makes a client certificate of PEM files, which are read when a connection needs them.
    ///
    /// - Parameters:
    ///   - certificatePath: The file with the certificate, optionally followed by its chain.
    ///   - keyPath: The file with the private key; `nil` if it is in the certificate's file.
    ///   - keyPassword: The password of the key; `nil` for none.
    public init(certificatePath: String, keyPath: String? = nil, keyPassword: String? = nil) {
        self.init(
            certificate: .file(path: certificatePath), key: keyPath.map { .file(path: $0) },
            keyPassword: keyPassword)
    }

    /// Makes a client certificate of a PKCS #12 file (`.p12`, `.pfx`).
    ///
    /// - Parameters:
    ///   - pkcs12Path: The path of the file, which is read when a connection needs it.
    ///   - password: The password of the file; `nil` for none.
    public init(pkcs12Path: String, password: String? = nil) {
        self.init(
            certificate: .file(path: pkcs12Path), format: .pkcs12, keyPassword: password)
    }
}

extension ClientCertificate: CustomStringConvertible {
    /// The path or the number of bytes, without the password.
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

extension ClientCertificate: CustomReflectable {
    /// The format, without certificate, key and password.
    public var customMirror: Mirror {
        Mirror(self, children: ["format": format])
    }
}

/// Selects the client certificate for each host.
public struct ClientCertificateProvider: Sendable {
    private let find: @Sendable (_ host: String, _ port: Int) -> ClientCertificate?

    /// Makes a provider from a table.
    ///
    /// - Parameter certificates: The certificates by host: `example.com`, `example.com:8443`,
    ///   `*.example.com` for subdomains of one label, `**.example.com` for all subdomains. An entry
    ///   with a port comes before all entries without one, a name before a pattern, and a longer
    ///   pattern before a shorter one.
    public init(_ certificates: [String: ClientCertificate]) {
        let table = HostTable(certificates)
        find = { table.value(forHost: $0, exactPort: $1) ?? table.value(forHost: $0) }
    }

    /// Makes a provider from a closure.
    ///
    /// - Parameter find: Returns the certificate for a host and port, or `nil` for
    ///   ``TransportConfiguration/clientCertificate``. Called for each transfer over TLS, on the
    ///   transport's thread (that of the caller for blocking calls of a transport), without a lock
    ///   held, and never before the call that starts the request returns. It must not block,
    ///   because all transfers wait for it.
    public init(
        _ find: @escaping @Sendable (_ host: String, _ port: Int) -> ClientCertificate?
    ) {
        self.find = find
    }

    /// Returns the certificate for a host and port; `nil` if the provider has none for them.
    ///
    /// - Parameters:
    ///   - host: The host's name or IP address, without brackets.
    ///   - port: The port.
    public func certificate(forHost host: String, port: Int) -> ClientCertificate? {
        find(host, port)
    }
}
