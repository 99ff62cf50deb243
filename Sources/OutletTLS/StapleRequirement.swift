import COpenSSL

/// Certificates that require a stapled OCSP response: those with the TLS feature `status_request`
/// (RFC 7633).
package enum StapleRequirement {
    /// The text of errors about a missing response.
    package static let missing =
        "the certificate requires a stapled OCSP response (RFC 7633), and the server has stapled none"

    /// Describes a response that does not prove that the certificate is good.
    ///
    /// - Parameter reason: What is wrong with the response, or what it says.
    package static func unmet(_ reason: String) -> String {
        "the certificate requires a stapled OCSP response (RFC 7633) that says that it is good: "
            + reason
    }

    /// The number of the extension `status_request` (RFC 6066 §8), and of `status_request_v2` (RFC 6961).
    private static let features: Set<Int> = [5, 17]

    /// Whether a certificate requires a stapled response.
    ///
    /// - Parameter der: The certificate in DER; `false` if it cannot be read.
    package static func applies(to der: [UInt8]) -> Bool {
        guard let stack = CertificateStack([der]), let certificate = stack.certificate(at: 0) else {
            return false
        }
        return applies(to: certificate)
    }

    /// Whether an `X509 *`, which the caller keeps, requires a stapled response.
    static func applies(to certificate: OpaquePointer) -> Bool {
        guard let list = X509_get_ext_d2i(certificate, NID_tlsfeature, nil, nil) else {
            return false
        }
        let stack = OpaquePointer(list)
        defer { TLS_FEATURE_free(stack) }
        return (0..<max(0, OPENSSL_sk_num(stack))).contains { index in
            guard let entry = OPENSSL_sk_value(stack, index) else { return false }
            return features.contains(
                ASN1_INTEGER_get(entry.assumingMemoryBound(to: ASN1_INTEGER.self)))
        }
    }
}
