import COpenSSL

/// What OpenSSL found while it verified the certificates of one connection.
///
/// Thread: the one that runs the connection.
public final class Verification {
    /// The kinds of refusal that call for different remedies.
    public enum Fault: Sendable {
        /// The certificate's last second has passed.
        case expired
        /// The certificate's first second is to come.
        case notYetValid
        /// No trusted authority has signed it, or nobody but itself.
        case untrusted
        /// Anything else.
        case other

        init(_ code: Int32) {
            switch code {
            case X509_V_ERR_CERT_HAS_EXPIRED: self = .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: self = .notYetValid
            case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
                self = .untrusted
            default: self = .other
            }
        }
    }

    /// Why a chain is refused.
    public struct Refusal: Sendable, Equatable {
        /// What is wrong.
        public let fault: Fault
        /// OpenSSL's verdict (`X509_V_ERR_…`).
        public let code: Int32
        /// The verdict in OpenSSL's words.
        public let reason: String
        /// How far from the server's certificate: 0 is its own.
        public let depth: Int
        /// The certificate that is to blame.
        public let certificate: Certificate?
    }

    /// The first thing that was wrong; `nil` while all is well.
    public private(set) var refusal: Refusal?
    /// OpenSSL's form of the server's own certificate, counted.
    private var leaf: OpaquePointer?

    private init() {}

    deinit {
        X509_free(leaf)
    }

    /// The server's own certificate, if it was looked at.
    public var serverCertificate: Certificate? { leaf.flatMap { Certificate($0) } }

    /// Watches the verification of all connections made from an `SSL_CTX *`, and changes nothing.
    ///
    /// - Parameter context: The `SSL_CTX *`, as libcurl gives it to `CURLOPT_SSL_CTX_FUNCTION`.
    public static func watch(context: UnsafeMutableRawPointer) -> Verification? {
        let context = OpaquePointer(context)
        let verification = Verification()
        // The context keeps it as long as it lives, because libcurl may use it for longer than the
        // transfer that made it.
        let box = Unmanaged.passRetained(verification)
        guard slot >= 0, SSL_CTX_set_ex_data(context, slot, box.toOpaque()) == 1 else {
            box.release()
            return nil
        }
        SSL_CTX_set_verify(context, SSL_CTX_get_verify_mode(context), verified)
        return verification
    }

    /// Where a context keeps its ``Verification``.
    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil,
        { _, box, _, _, _, _ in
            if let box { Unmanaged<Verification>.fromOpaque(box).release() }
        })

    /// OpenSSL's callback, once for each certificate of a chain, the root first.
    private static let verified: @convention(c) (Int32, OpaquePointer?) -> Int32 = {
        isGood, store in
        guard let store,
            let connection = X509_STORE_CTX_get_ex_data(
                store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let context = SSL_get_SSL_CTX(OpaquePointer(connection)),
            let box = SSL_CTX_get_ex_data(context, slot)
        else { return isGood }
        Unmanaged<Verification>.fromOpaque(box).takeUnretainedValue().note(store, isGood != 0)
        return isGood
    }

    private func note(_ store: OpaquePointer, _ isGood: Bool) {
        let certificate = X509_STORE_CTX_get_current_cert(store)
        let depth = X509_STORE_CTX_get_error_depth(store)
        if depth == 0, leaf == nil, let certificate, X509_up_ref(certificate) == 1 {
            leaf = certificate
        }
        guard !isGood, refusal == nil else { return }
        refusal = Refusal(store)
    }
}

extension Verification.Refusal {
    /// What is wrong where OpenSSL stands in a chain.
    init(_ context: OpaquePointer) {
        let code = X509_STORE_CTX_get_error(context)
        self.init(
            fault: Verification.Fault(code), code: code,
            reason: String(cString: X509_verify_cert_error_string(Int(code))),
            depth: Int(X509_STORE_CTX_get_error_depth(context)),
            certificate: X509_STORE_CTX_get_current_cert(context).flatMap { Certificate($0) })
    }
}

extension Verification.Refusal: CustomStringConvertible {
    /// The verdict and the certificate that it is about.
    public var description: String {
        certificate.map { "\(reason): \($0)" } ?? reason
    }
}
