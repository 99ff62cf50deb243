import COpenSSL

/// The status of a server's certificate in its stapled OCSP response (RFC 6960, RFC 6066 §8).
package enum StapledResponse: Sendable, Equatable {
    /// The certificate is good.
    case good
    /// The responder does not know the certificate.
    case unknown
    /// The certificate was revoked.
    case revoked
    /// The response proves nothing: it is malformed, not valid now, not signed by a trusted
    /// responder, or for another certificate.
    case invalid(reason: String)

    /// Why it does not prove that the certificate is good; `nil` if it does.
    package var fault: String? {
        switch self {
        case .good: nil
        case .unknown: "the responder does not know the certificate"
        case .revoked: "the certificate was revoked"
        case .invalid(let reason): reason
        }
    }

    /// Verifies a response and reads the status of the server's certificate.
    ///
    /// - Parameters:
    ///   - der: The stapled response.
    ///   - chain: The certificates as the server has sent them, its own first, in DER.
    ///   - issuer: The certificate of the server certificate's issuer, in DER.
    ///   - verifier: Has the authorities that the responder's certificate must lead to.
    package init(_ der: [UInt8], chain: [[UInt8]], issuer: [UInt8], verifier: ChainVerifier) {
        self =
            verifier.withStore { Self.evaluate(der, chain + [issuer], $0) }
            ?? .invalid(reason: "no memory left")
        ERR_clear_error()
    }

    /// Verifies a response with the authorities of a connection.
    ///
    /// - Parameters:
    ///   - der: The stapled response.
    ///   - connection: The `SSL *`, whose chain has been verified.
    init(_ der: [UInt8], of connection: OpaquePointer) {
        let path = SSL_get0_verified_chain(connection).map { path in
            (0..<max(0, OPENSSL_sk_num(path))).compactMap { index in
                OPENSSL_sk_value(path, index).flatMap { Certificate(OpaquePointer($0))?.der }
            }
        }
        let store = SSL_get_SSL_CTX(connection).flatMap { SSL_CTX_get_cert_store($0) }
        guard let path, let leaf = path.first, let store else {
            self = .invalid(reason: "no authority is known that could vouch for it")
            return
        }
        // A self-signed certificate is its own issuer.
        self = Self.evaluate(der, path + [path.dropFirst().first ?? leaf], store)
        ERR_clear_error()
    }

    /// - Parameters:
    ///   - der: The response.
    ///   - certificates: The server's certificate first, its issuer's last, in DER.
    ///   - store: The authorities, an `X509_STORE *`.
    private static func evaluate(
        _ der: [UInt8], _ certificates: [[UInt8]], _ store: OpaquePointer
    ) -> StapledResponse {
        guard let sent = CertificateStack(certificates), let leaf = sent.certificate(at: 0),
            let signer = sent.certificate(at: sent.count - 1)
        else { return .invalid(reason: "the server's chain cannot be read") }
        let parsed = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_OCSP_RESPONSE(nil, &position, bytes.count)
        }
        guard let parsed else { return .invalid(reason: "it cannot be read") }
        defer { OCSP_RESPONSE_free(parsed) }
        let status = OCSP_response_status(parsed)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            return .invalid(
                reason: "the responder says "
                    + String(cString: OCSP_response_status_str(Int(status))))
        }
        guard let basic = OCSP_response_get1_basic(parsed) else {
            return .invalid(reason: "it is of an unknown kind")
        }
        defer { OCSP_BASICRESP_free(basic) }
        guard OCSP_basic_verify(basic, sent.raw, store, 0) == 1 else {
            return .invalid(reason: "no trusted authority has signed it")
        }
        return find(leaf, signer, basic)
    }

    /// Finds the status of the server's certificate; computes its identifier with the hash
    /// algorithm of each entry, because responders choose the algorithm.
    private static func find(
        _ leaf: OpaquePointer, _ issuer: OpaquePointer, _ basic: OpaquePointer
    ) -> StapledResponse {
        for index in 0..<max(0, OCSP_resp_count(basic)) {
            guard let single = OCSP_resp_get0(basic, index),
                let named = OCSP_SINGLERESP_get0_id(single)
            else { continue }
            var algorithm: OpaquePointer?
            guard OCSP_id_get0_info(nil, &algorithm, nil, nil, named) == 1,
                let digest = EVP_get_digestbyname(OBJ_nid2sn(OBJ_obj2nid(algorithm))),
                let wanted = OCSP_cert_to_id(digest, leaf, issuer)
            else { continue }
            defer { OCSP_CERTID_free(wanted) }
            if OCSP_id_cmp(wanted, named) == 0 { return status(single) }
        }
        return .invalid(reason: "it is about another certificate")
    }

    /// By how many seconds clocks may differ, as in libcurl.
    private static let clockDifference = 300
    /// How many seconds a response without `nextUpdate` is valid.
    ///
    /// Without a limit, a server could staple a response from before its certificate was revoked for
    /// ever.
    private static let lifetime = 86_400

    private static func status(_ single: OpaquePointer) -> StapledResponse {
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = OCSP_single_get0_status(single, nil, nil, &thisUpdate, &nextUpdate)
        let oldest = nextUpdate == nil ? lifetime + clockDifference : -1
        guard OCSP_check_validity(thisUpdate, nextUpdate, clockDifference, oldest) == 1 else {
            return .invalid(reason: "its time has passed or is to come")
        }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return .good
        case V_OCSP_CERTSTATUS_REVOKED: return .revoked
        default: return .unknown
        }
    }
}
