internal import COpenSSL

/// What the process asks of OpenSSL as a whole.
package enum TLSLibrary {
    /// Keeps OpenSSL from freeing its locks when the process exits.
    ///
    /// Its own handler runs in the exiting thread while others may still close connections, which
    /// then crash (`OPENSSL_INIT_NO_ATEXIT`, OPENSSL_init_crypto(3)). What it would free, the
    /// process's end frees. Only the first initialisation in a process counts.
    package static func keepsAtExit() {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }

    /// The security level of connections, by OpenSSL's configuration
    /// (SSL_CTX_set_security_level(3)).
    package static let securityLevel: Int32 = {
        guard let context = TLSContext() else { return 2 }
        return SSL_CTX_get_security_level(context.raw)
    }()

    /// The cipher list of connections, by OpenSSL's configuration: `DEFAULT` unless that names
    /// others.
    ///
    /// For `CURLOPT_SSL_CIPHER_LIST`, where something is to be added to what is in force without
    /// it. The suites of TLS 1.3 are a list of their own.
    package static let cipherList: String = {
        guard let context = TLSContext() else { return "DEFAULT" }
        return cipherList(of: context)
    }()

    static func cipherList(of context: borrowing TLSContext) -> String {
        let ciphers = context.ciphers
        guard let plain = TLSContext(), plain.use("DEFAULT"), plain.ciphers != ciphers else {
            return "DEFAULT"
        }
        return ciphers.joined(separator: ":")
    }
}

/// An `SSL_CTX *` as OpenSSL's configuration makes it.
struct TLSContext: ~Copyable {
    let raw: OpaquePointer

    /// `nil` when memory is short.
    init?() {
        guard let raw = SSL_CTX_new(TLS_client_method()) else { return nil }
        self.raw = raw
    }

    deinit {
        SSL_CTX_free(raw)
    }

    /// Sets the cipher list.
    ///
    /// - Returns: Whether one of its ciphers is known.
    func use(_ list: String) -> Bool { SSL_CTX_set_cipher_list(raw, list) == 1 }

    /// Sets the cipher suites of TLS 1.3.
    ///
    /// - Returns: False when it cannot; of names that are not known it may say nothing.
    func useSuites(_ names: String) -> Bool { SSL_CTX_set_ciphersuites(raw, names) == 1 }

    /// The suites for TLS 1.2 and older, the preferred one first.
    var ciphers: [String] { names(ofTLS13: false) }

    /// The suites for TLS 1.3, the preferred one first.
    var suites: [String] { names(ofTLS13: true) }

    private func names(ofTLS13 isTLS13: Bool) -> [String] {
        let ciphers = SSL_CTX_get_ciphers(raw)
        return (0..<max(0, OPENSSL_sk_num(ciphers))).compactMap { index in
            guard let cipher = OPENSSL_sk_value(ciphers, index).map({ OpaquePointer($0) }),
                let version = SSL_CIPHER_get_version(cipher),
                let name = SSL_CIPHER_get_name(cipher),
                (String(cString: version) == "TLSv1.3") == isTLS13
            else { return nil }
            return String(cString: name)
        }
    }
}
