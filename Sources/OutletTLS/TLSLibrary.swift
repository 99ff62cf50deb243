internal import COpenSSL

/// Process-wide settings of OpenSSL.
package enum TLSLibrary {
    /// Keeps OpenSSL from freeing its locks when the process exits (`OPENSSL_INIT_NO_ATEXIT`,
    /// OPENSSL_init_crypto(3)).
    ///
    /// OpenSSL's `atexit` handler runs on the exiting thread while other threads may still close
    /// connections, which then crash. The memory is freed with the process anyway. Has an effect
    /// only if it is the first initialisation of OpenSSL in the process.
    package static func keepsAtExit() {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }

    /// The security level of connections in OpenSSL's configuration
    /// (SSL_CTX_set_security_level(3)).
    package static let securityLevel: Int32 = {
        guard let context = TLSContext() else { return 2 }
        return SSL_CTX_get_security_level(context.raw)
    }()

    /// The cipher list of connections in OpenSSL's configuration; `DEFAULT` unless it sets others.
    ///
    /// For `CURLOPT_SSL_CIPHER_LIST`, if something has to be added to the default list. The cipher
    /// suites of TLS 1.3 are not in this list.
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

/// Owns an `SSL_CTX *` with the settings of OpenSSL's configuration.
struct TLSContext: ~Copyable {
    let raw: OpaquePointer

    /// Makes a context for clients; `nil` if memory is exhausted.
    init?() {
        guard let raw = SSL_CTX_new(TLS_client_method()) else { return nil }
        self.raw = raw
    }

    deinit {
        SSL_CTX_free(raw)
    }

    /// Sets the cipher list for TLS 1.2 and older.
    ///
    /// - Returns: Whether at least one of its ciphers is known.
    func use(_ list: String) -> Bool { SSL_CTX_set_cipher_list(raw, list) == 1 }

    /// Sets the cipher suites of TLS 1.3.
    ///
    /// - Returns: Whether OpenSSL has accepted them; unknown names may be ignored silently.
    func useSuites(_ names: String) -> Bool { SSL_CTX_set_ciphersuites(raw, names) == 1 }

    /// The ciphers for TLS 1.2 and older, in order of preference.
    var ciphers: [String] { names(ofTLS13: false) }

    /// The cipher suites for TLS 1.3, in order of preference.
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
