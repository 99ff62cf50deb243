import COpenSSL
import OutletPointers

/// What was found, and decided, about the certificates of one connection.
///
/// Thread: the one that runs the connection.
package final class Verification {
    /// The kinds of refusal that call for different remedies.
    package enum Fault: Sendable {
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
    package struct Refusal: Sendable, Equatable {
        /// What is wrong.
        package let fault: Fault
        /// OpenSSL's verdict (`X509_V_ERR_…`).
        package let code: Int32
        /// The verdict in OpenSSL's words.
        package let reason: String
        /// How far from the server's certificate: 0 is its own.
        package let depth: Int
        /// The certificate that is to blame.
        package let certificate: Certificate?
    }

    /// What a judge decides about a server.
    package enum Judgement: Sendable {
        /// The handshake fails.
        case refused
        /// It goes on; `isVerified` tells whether the server is known to be the one that was meant.
        case accepted(isVerified: Bool)
    }

    /// The first thing that was wrong; `nil` while all is well.
    package private(set) var refusal: Refusal?
    /// What the judge has decided; `nil` before that, or without a judge.
    package private(set) var judgement: Judgement?

    /// OpenSSL's form of the server's own certificate, counted.
    private var leaf: OpaquePointer?
    /// Decides once; let go of then, with what it holds.
    private var judge: ((Handshake) -> Judgement)?
    private let isJudged: Bool

    private init(_ judge: ((Handshake) -> Judgement)?) {
        self.judge = judge
        isJudged = judge != nil
    }

    deinit {
        X509_free(leaf)
    }

    /// The server's own certificate, if it was looked at.
    package var serverCertificate: Certificate? { leaf.flatMap { Certificate($0) } }

    // MARK: The context of a connection

    /// Watches the verification of the connection that is made of an `SSL_CTX *`.
    ///
    /// Without a judge it changes nothing. A judge decides in place of OpenSSL, once for a
    /// connection: before a certificate of the client's is sent, and if a session is resumed,
    /// before anything else is. OpenSSL's rules for the handshake itself stay in force.
    ///
    /// - Parameters:
    ///   - context: The `SSL_CTX *`, as libcurl gives it to `CURLOPT_SSL_CTX_FUNCTION`.
    ///   - judge: Called in the handshake. Must not block.
    /// - Returns: `nil` when memory is short; the context must not be used then.
    package static func watch(
        context: UnsafeMutableRawPointer, judge: ((Handshake) -> Judgement)? = nil
    ) -> Verification? {
        let context = OpaquePointer(context)
        let verification = Verification(judge)
        // The context keeps it as long as it lives, because libcurl may use it for longer than the
        // transfer that made it.
        let box = ObjectPointer.retained(verification)
        guard slot >= 0, SSL_CTX_set_ex_data(context, slot, box) == 1 else {
            ObjectPointer.release(box)
            return nil
        }
        guard judge != nil else {
            SSL_CTX_set_verify(context, SSL_CTX_get_verify_mode(context), verified)
            return verification
        }
        guard copenssl_ask_for_staple(context, stapleMayHaveCome) else { return nil }
        // What the judge refuses ends the handshake, whatever the caller has set.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(context, certificatesCame, nil)
        SSL_CTX_set_info_callback(context, stepped)
        return verification
    }

    /// What belongs to a connection.
    ///
    /// - Parameter connection: The `SSL *`, as libcurl gives it for `CURLINFO_TLS_SSL_PTR`.
    package static func of(_ connection: UnsafeMutableRawPointer) -> Verification? {
        of(OpaquePointer(connection))
    }

    private static func of(_ connection: OpaquePointer) -> Verification? {
        guard let context = SSL_get_SSL_CTX(connection),
            let box = SSL_CTX_get_ex_data(context, slot)
        else { return nil }
        return ObjectPointer.object(at: box)
    }

    /// Where a context keeps its ``Verification``.
    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil,
        { _, box, _, _, _, _ in
            if let box { ObjectPointer.release(box) }
        })

    // MARK: Without a judge

    /// OpenSSL's callback, once for each certificate of a chain, the root first.
    private static let verified: @convention(c) (Int32, OpaquePointer?) -> Int32 = {
        isGood, store in
        guard let store, let connection = connection(of: store), let verification = of(connection)
        else { return isGood }
        verification.note(store, isGood != 0)
        return isGood
    }

    private static func connection(of store: OpaquePointer) -> OpaquePointer? {
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
            .map { OpaquePointer($0) }
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

    // MARK: With a judge

    /// OpenSSL's callback in place of its own verification (`SSL_CTX_set_cert_verify_callback`).
    private static let certificatesCame:
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { store, _ in
            guard let store, let connection = connection(of: store),
                let verification = of(connection),
                verification.mayGoOn(
                    connection, sent: X509_STORE_CTX_get0_untrusted(store),
                    leaf: X509_STORE_CTX_get0_cert(store))
            else {
                if let store { X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED) }
                return 0
            }
            X509_STORE_CTX_set_error(store, X509_V_OK)
            return 1
        }

    /// The server has shown its certificates.
    private func mayGoOn(
        _ connection: OpaquePointer, sent: OpaquePointer?, leaf: OpaquePointer?
    ) -> Bool {
        guard let leaf else { return false }
        if let known = self.leaf {
            // TLS 1.2 may be negotiated again, but not with another server.
            return judgement.isAcceptance && X509_cmp(known, leaf) == 0
        }
        guard X509_up_ref(leaf) == 1 else { return false }
        self.leaf = leaf
        // Before TLS 1.3 the stapled response follows, and the judge wants to see it.
        if SSL_version(connection) < TLS1_3_VERSION { return true }
        return decide(connection, sent)
    }

    /// OpenSSL's callback behind the server's first messages (`SSL_CTX_set_tlsext_status_cb`): of
    /// TLS 1.2 if no session is resumed, of TLS 1.3 always.
    private static let stapleMayHaveCome:
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { connection, _ in
            guard let connection, let verification = of(connection) else { return 0 }
            return verification.decide(connection, SSL_get_peer_cert_chain(connection)) ? 1 : 0
        }

    /// OpenSSL's callback for each step of a handshake, of which the last counts: a session that is
    /// resumed in TLS 1.2 comes to no other.
    private static let stepped: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = {
        connection, step, _ in
        guard step & SSL_CB_HANDSHAKE_DONE != 0, let connection else { return }
        if let verification = of(connection),
            verification.decide(connection, SSL_get_peer_cert_chain(connection))
        {
            return
        }
        // The handshake cannot fail any more, but nothing can be written after this.
        SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    }

    /// Asks the judge, once.
    private func decide(_ connection: OpaquePointer, _ sent: OpaquePointer?) -> Bool {
        if let judge {
            self.judge = nil
            judgement = judge(Handshake(connection, sent))
        }
        return judgement.isAcceptance
    }
}

extension Verification.Judgement? {
    fileprivate var isAcceptance: Bool {
        if case .accepted = self { true } else { false }
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
    package var description: String {
        certificate.map { "\(reason): \($0)" } ?? reason
    }
}
