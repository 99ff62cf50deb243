import COpenSSL
import Glibc

/// Verifies chains of certificates with OpenSSL, outside of OpenSSL's own handshake verification.
///
/// Thread: any.
package final class ChainVerifier: @unchecked Sendable {
    // because OpenSSL locks the store, and `store` does not change after `init`.

    /// The result of verifying a chain.
    package struct Verdict: Sendable {
        /// Why the chain is refused; `nil` if it is valid.
        package let refusal: Verification.Refusal?
        /// Whether one of the given revocation lists is of the server certificate's issuer.
        package let isListed: Bool
        /// The chain from the server's certificate up to the last one whose signature is proved,
        /// each certificate signed by the next; other certificates that the server sends prove
        /// nothing.
        package let path: [Certificate]
    }

    private let store: OpaquePointer?

    /// Makes a verifier with the authorities of a trust store.
    ///
    /// - Parameter trust: Where the authorities are; a bundle is read now, the files of a directory
    ///   when they are needed. Files that cannot be read are ignored.
    package init(_ trust: TrustStore) {
        store = X509_STORE_new()
        guard let store else { return }
        // As in libcurl: a trusted authority need not be self-signed.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        if let bundle = trust.bundle { X509_STORE_load_file(store, bundle) }
        if let directory = trust.directory { X509_STORE_load_path(store, directory) }
        ERR_clear_error()
    }

    /// Makes a verifier with the given certificates as its only authorities.
    ///
    /// - Parameter anchors: The certificates in DER; invalid ones are ignored.
    package convenience init(anchors: [[UInt8]]) {
        self.init(TrustStore())
        for anchor in anchors {
            guard let stack = CertificateStack([anchor]), let certificate = stack.certificate(at: 0)
            else { continue }
            // The store retains the certificate.
            X509_STORE_add_cert(store, certificate)
        }
        ERR_clear_error()
    }

    deinit {
        X509_STORE_free(store)
    }

    /// Verifies that a chain leads to an authority, and the dates and purposes of its certificates.
    ///
    /// - Parameters:
    ///   - chain: The certificates as the server has sent them, its own first, in DER.
    ///   - anchors: The only certificates that are trusted as authorities, in DER; `nil` for those
    ///     of the store.
    ///   - lists: The revocation lists to search; no others are downloaded. `nil` for no check.
    ///   - securityLevel: The required strength of keys and signatures
    ///     (X509_VERIFY_PARAM_set_auth_level(3)); by default that of connections.
    package func verify(
        _ chain: [[UInt8]], anchors: [[UInt8]]? = nil, lists: RevocationLists? = nil,
        securityLevel: Int32 = TLSLibrary.securityLevel
    ) -> Verdict {
        guard let sent = CertificateStack(chain), let leaf = sent.certificate(at: 0) else {
            return Verdict(failing: "the server's chain cannot be read")
        }
        guard let trusted = CertificateStack(anchors ?? []) else {
            return Verdict(failing: "one of the trusted certificates cannot be read")
        }
        guard let context = X509_STORE_CTX_new() else { return Verdict(failing: "no memory left") }
        defer { X509_STORE_CTX_free(context) }
        guard X509_STORE_CTX_init(context, store, leaf, sent.raw) == 1,
            X509_STORE_CTX_set_default(context, "ssl_server") == 1
        else { return Verdict(failing: "no memory left") }
        if anchors != nil { X509_STORE_CTX_set0_trusted_stack(context, trusted.raw) }
        var flags = UInt(X509_V_FLAG_PARTIAL_CHAIN)
        if let lists, !lists.isEmpty {
            flags |= UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL)
            X509_STORE_CTX_set0_crls(context, lists.raw)
        }
        X509_STORE_CTX_set_flags(context, flags)
        X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context), securityLevel)
        var notes = Notes()
        X509_STORE_CTX_set_verify_cb(context, Self.note)
        let isGood = withUnsafeMutablePointer(to: &notes) { notes in
            X509_STORE_CTX_set_ex_data(context, 0, notes)
            return X509_verify_cert(context) == 1
        }
        ERR_clear_error()
        let refusal = isGood ? nil : notes.refusal ?? Verification.Refusal(context)
        return Verdict(
            refusal: refusal, isListed: lists?.isEmpty == false && !notes.isUnlisted,
            path: Self.path(context, leaf, isGood: isGood, securityLevel))
    }

    /// Whether a certificate is valid for a host, a name or an IP address (RFC 6125).
    ///
    /// Only subject alternative names count: the common name does not (RFC 9110 §4.3.4).
    package static func isCertificate(_ der: [UInt8], for host: String) -> Bool {
        guard let stack = CertificateStack([der]), let leaf = stack.certificate(at: 0) else {
            return false
        }
        if X509_check_ip_asc(leaf, host, 0) == 1 { return true }
        var address = in6_addr()
        guard inet_pton(AF_INET, host, &address) != 1, inet_pton(AF_INET6, host, &address) != 1
        else { return false }
        let flags = UInt32(
            X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        return X509_check_host(leaf, host, host.utf8.count, flags, nil) == 1
    }

    /// Calls `body` with the store, for other checks against the same authorities.
    func withStore<Value>(_ body: (OpaquePointer) -> Value) -> Value? { store.map(body) }

    // MARK: OpenSSL's verification callback

    /// The findings of the callback.
    private struct Notes {
        var refusal: Verification.Refusal?
        var isUnlisted = false
    }

    /// OpenSSL's callback for each fault and each valid certificate; accepts a missing revocation
    /// list.
    private static let note: @convention(c) (Int32, OpaquePointer?) -> Int32 = { isGood, context in
        guard isGood == 0, let context,
            let notes = X509_STORE_CTX_get_ex_data(context, 0)?.assumingMemoryBound(to: Notes.self)
        else { return isGood }
        if X509_STORE_CTX_get_error(context) == X509_V_ERR_UNABLE_TO_GET_CRL {
            if X509_STORE_CTX_get_error_depth(context) == 0 { notes.pointee.isUnlisted = true }
            return 1
        }
        if notes.pointee.refusal == nil {
            notes.pointee.refusal = Verification.Refusal(context)
        }
        return 0
    }

    /// Returns the chain that OpenSSL has built; if it is not valid, only up to the last
    /// certificate that is proved by signatures of sufficient strength.
    private static func path(
        _ context: OpaquePointer, _ leaf: OpaquePointer, isGood: Bool, _ securityLevel: Int32
    ) -> [Certificate] {
        guard let built = X509_STORE_CTX_get0_chain(context), OPENSSL_sk_num(built) > 0 else {
            return [Certificate(leaf)].compactMap(\.self)
        }
        var path: [Certificate] = []
        var former: OpaquePointer?
        for index in 0..<OPENSSL_sk_num(built) {
            guard let next = OPENSSL_sk_value(built, index).map({ OpaquePointer($0) }),
                let certificate = Certificate(next),
                isGood || former.map({ isSigned($0, by: next, securityLevel) }) != false
            else { break }
            path.append(certificate)
            former = next
        }
        return path
    }

    /// The security bits that each level requires (SSL_CTX_set_security_level(3)).
    private static let bits: [Int32] = [0, 80, 112, 128, 192, 256]

    private static func isSigned(
        _ certificate: OpaquePointer, by issuer: OpaquePointer, _ securityLevel: Int32
    ) -> Bool {
        let least = bits[Int(min(max(securityLevel, 0), 5))]
        var strength: Int32 = 0
        guard let key = X509_get0_pubkey(issuer), EVP_PKEY_get_security_bits(key) >= least,
            X509_get_signature_info(certificate, nil, nil, &strength, nil) == 1, strength >= least
        else { return false }
        return X509_verify(certificate, key) == 1
    }
}

extension ChainVerifier.Verdict {
    /// Makes the verdict of a chain that could not be verified at all.
    fileprivate init(failing reason: String) {
        refusal = Verification.Refusal(
            fault: .other, code: Int32(X509_V_ERR_UNSPECIFIED), reason: reason, depth: 0,
            certificate: nil)
        isListed = false
        path = []
    }
}
