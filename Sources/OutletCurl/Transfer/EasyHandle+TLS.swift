import CCurl
import FoundationEssentials
import OutletTLS
import OutletTransport

/// The options about TLS; see `EasyHandle+Options.swift`.
extension EasyHandle {
    // MARK: Once for a handle

    /// Sets the options about certificates and TLS versions that the configuration determines.
    func applyTLS(_ settings: TransportSettings) {
        let configuration = settings.configuration
        // Without these values libcurl has less to copy for each transfer, also without TLS. They
        // are set for the first transfer that needs them.
        hasAuthorities = false
        policy = nil
        certificateNumber = nil
        set(CURLOPT_CAINFO, text: nil)
        set(CURLOPT_CAPATH, text: nil)
        if settings.proxies.isEmpty {
            set(CURLOPT_PROXY_CAINFO, text: nil)
            set(CURLOPT_PROXY_CAPATH, text: nil)
        }
        set(CURLOPT_SSL_VERIFYPEER, configuration.verifiesCertificates ? 1 : 0)
        set(CURLOPT_SSL_VERIFYHOST, configuration.verifiesCertificates ? 2 : 0)
        applyAgreement(configuration, withProxies: !settings.secureProxies.isEmpty)
        note(CURLOPT_SSL_CTX_FUNCTION, ccurl_set_ssl_context(raw, willSecure))
        set(CURLOPT_SSL_CTX_DATA, pointer: client)
        if let certificate = configuration.clientCertificate { apply(certificate) }
    }

    /// Sets the TLS version and ciphers for servers, and for https proxies.
    private func applyAgreement(_ configuration: TransportConfiguration, withProxies: Bool) {
        if let version = configuration.minimumTLSVersion {
            set(CURLOPT_SSLVERSION, version.curlValue)
            if withProxies { set(CURLOPT_PROXY_SSLVERSION, version.curlValue) }
        }
        if let list = configuration.tlsCipherList {
            set(CURLOPT_SSL_CIPHER_LIST, text: list)
            if withProxies { set(CURLOPT_PROXY_SSL_CIPHER_LIST, text: list) }
        }
        if let suites = configuration.tls13CipherSuites {
            set(CURLOPT_TLS13_CIPHERS, text: suites)
            if withProxies { set(CURLOPT_PROXY_TLS13_CIPHERS, text: suites) }
        }
    }

    /// Sets the client certificate and its key.
    private func apply(_ certificate: ClientCertificate) {
        set(CURLOPT_SSLCERTTYPE, text: certificate.format.rawValue)
        apply(certificate.certificate, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB)
        set(CURLOPT_SSLKEYTYPE, text: certificate.format.rawValue)
        let key = certificate.key ?? certificate.certificate
        apply(key, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB)
        // Always set, because OpenSSL would otherwise ask for a password on the terminal.
        set(CURLOPT_KEYPASSWD, text: certificate.keyPassword ?? "")
    }

    private func apply(
        _ source: ClientCertificate.Source, _ path: CURLoption, _ blob: CURLoption
    ) {
        switch source {
        case .file(let name):
            set(path, text: name)
            note(blob, ccurl_set_blob(raw, blob, nil, 0))
        case .bytes(let data):
            set(path, text: nil)
            let bytes = Array(data)
            note(
                blob, bytes.withUnsafeBytes { ccurl_set_blob(raw, blob, $0.baseAddress, $0.count) })
        }
    }

    // MARK: For each transfer

    /// Selects the verification of the server: libcurl's with the configured authorities, or that
    /// of a ``ServerVerifier``.
    ///
    /// A connection that a verifier's policy has accepted, or that was made with a client
    /// certificate, is reused only with the same cipher list, and each policy and each certificate
    /// has a list of its own.
    ///
    /// - Parameters:
    ///   - verifier: `nil` for libcurl.
    ///   - certificate: The number of the client certificate; `nil` for none.
    func applyTrust(
        _ verifier: ServerVerifier?, certificate: UInt64?, _ settings: TransportSettings
    ) {
        guard verifier != nil || policy != nil || certificate != certificateNumber else {
            return applyAuthorities(settings)
        }
        changeTrust(verifier, certificate, settings)
    }

    private func changeTrust(
        _ verifier: ServerVerifier?, _ certificate: UInt64?, _ settings: TransportSettings
    ) {
        let hasPolicyChanged = verifier?.policy !== policy
        if hasPolicyChanged || certificate != certificateNumber {
            policy = verifier?.policy
            certificateNumber = certificate
            set(CURLOPT_SSL_CIPHER_LIST, text: cipherList(verifier, certificate, settings))
        }
        guard hasPolicyChanged else {
            if verifier == nil { applyAuthorities(settings) }
            return
        }
        guard verifier != nil else {
            let verifies = settings.configuration.verifiesCertificates
            set(CURLOPT_SSL_VERIFYPEER, verifies ? 1 : 0)
            set(CURLOPT_SSL_VERIFYHOST, verifies ? 2 : 0)
            return applyAuthorities(settings)
        }
        set(CURLOPT_SSL_VERIFYPEER, 0)
        // libcurl would otherwise overrule the verifier, after the client certificate has been
        // sent.
        set(CURLOPT_SSL_VERIFYHOST, 0)
        // The verifier has its own authorities, so libcurl need not read these.
        hasAuthorities = false
        set(CURLOPT_CAINFO, text: nil)
        set(CURLOPT_CAPATH, text: nil)
    }

    /// Returns the cipher list for connections that belong to a policy, or to a client certificate;
    /// `nil` for that of OpenSSL's configuration.
    ///
    /// See ``ServerVerifier/cipherList(of:)``.
    private func cipherList(
        _ verifier: ServerVerifier?, _ certificate: UInt64?, _ settings: TransportSettings
    ) -> String? {
        let list = settings.configuration.tlsCipherList
        let ofPolicy = verifier?.cipherList(of: list) ?? list
        guard let certificate else { return ofPolicy }
        return "\(ofPolicy ?? TLSLibrary.cipherList):OUTLET-CERT-\(certificate)"
    }

    /// Selects the verification of an https proxy, on a handle that is marked and so reset after
    /// the transfer.
    ///
    /// - Parameter verifier: `nil` for libcurl.
    /// - Throws: `TransferError` if there are no certificate authorities for libcurl.
    func applyProxyTrust(
        _ verifier: ServerVerifier?, _ settings: TransportSettings, _ proxy: SecureProxy
    ) throws(TransferError) {
        if let verifier {
            let ciphers = settings.configuration.tlsCipherList
            set(CURLOPT_PROXY_SSL_CIPHER_LIST, text: verifier.cipherList(of: ciphers))
            set(CURLOPT_PROXY_SSL_VERIFYPEER, 0)
            set(CURLOPT_PROXY_SSL_VERIFYHOST, 0)
            set(CURLOPT_PROXY_CAINFO, text: nil)
            set(CURLOPT_PROXY_CAPATH, text: nil)
            return
        }
        do throws(TransferError) {
            let store = try settings.trust.get()
            set(CURLOPT_PROXY_CAINFO, text: store.bundle)
            set(CURLOPT_PROXY_CAPATH, text: store.directory)
        } catch {
            var error = error
            error.host = proxy.host
            throw error
        }
    }

    /// Sets the certificate authorities, once, before the handle's first transfer with TLS.
    private func applyAuthorities(_ settings: TransportSettings) {
        guard !hasAuthorities else { return }
        hasAuthorities = true
        // `checkTrust(for:)` fails https transfers that would need a missing store.
        let store = (try? settings.trust.get()) ?? TrustStore()
        // The store never has both. With both set, libcurl would not cache the parsed authorities,
        // as with Debian's defaults.
        set(CURLOPT_CAINFO, text: store.bundle)
        set(CURLOPT_CAPATH, text: store.directory)
    }

    /// Checks the client certificate for a server, and sets it if a provider chooses one per host.
    ///
    /// - Returns: The certificate's number; `nil` if there is none.
    /// - Throws: `TransferError` with code `clientCertificateRejected` if its files cannot be used.
    func applyIdentity(
        _ settings: TransportSettings, _ address: Address
    ) throws(TransferError) -> UInt64? {
        guard settings.configuration.showsCertificates,
            let certificate = settings.clientCertificate(for: address)
        else { return nil }
        try settings.check(certificate, for: address)
        let number = settings.certificateNumbers.number(of: certificate)
        guard settings.configuration.clientCertificateProvider != nil else { return number }
        isMarked = true
        apply(certificate)
        return number
    }
}

extension TLSVersion {
    /// The value for `CURLOPT_SSLVERSION`: this version or a later one.
    fileprivate var curlValue: Int {
        switch self {
        case .tls10: Int(CURL_SSLVERSION_TLSv1_0)
        case .tls11: Int(CURL_SSLVERSION_TLSv1_1)
        case .tls12: Int(CURL_SSLVERSION_TLSv1_2)
        case .tls13: Int(CURL_SSLVERSION_TLSv1_3)
        }
    }
}
