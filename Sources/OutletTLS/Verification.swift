import COpenSSL
import OutletPointers

/// The result of verifying the certificates of one connection.
///
/// Thread: the one that runs the connection.
package final class Verification {
    /// The kind of a fault.
    package enum Fault: Sendable {
        /// The certificate has expired.
        case expired
        /// The certificate is not valid yet.
        case notYetValid
        /// The certificate is not signed by a trusted authority, or is self-signed.
        case untrusted
        /// Any other fault.
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
        /// The kind of the fault.
        package let fault: Fault
        /// OpenSSL's code (`X509_V_ERR_…`).
        package let code: Int32
        /// OpenSSL's description of the code.
        package let reason: String
        /// The position in the chain; 0 is the server's own certificate.
        package let depth: Int
        /// The certificate that caused the fault; `nil` if none did.
        package let certificate: Certificate?
    }

    /// The decision about a server.
    package enum Decision: Sendable {
        /// The handshake fails.
        case refused
        /// The handshake continues; `isVerified` says whether the server's identity is verified.
        case accepted(isVerified: Bool)
    }

    /// The first fault; `nil` if there was none so far.
    package private(set) var refusal: Refusal?
    /// The decision; `nil` before it is made, or without a decider.
    package private(set) var decision: Decision?
    /// Whether the server has ended the connection with a closure alert (`close_notify`).
    ///
    /// Anyone on the way can end it without one.
    package private(set) var hasClosureAlert = false

    /// The last record of application data, if this side has sent it; `nil` if the server has.
    private var lastSent: SentRecord?
    /// ``lastSent`` before the record whose header was seen last.
    private var lastSentBefore: SentRecord?
    /// Whether the next record that is sent may end streams of HTTP/2.
    private var hasUnsentEnds = false
    /// The `SSL *`, since the handshake began.
    private var connection: OpaquePointer?
    /// The connection to a proxy that this one runs inside of, if that uses TLS, too.
    private let outer: Verification?
    /// Whether the connection's context was freed.
    private var isClosed = false
    private var isEndExpected = false

    /// Called for each record that is received, before its contents are read.
    private var refusesRecord: (() -> Bool)?
    /// Whether a record was refused, so that the connection counts as ended.
    package private(set) var hasRefusedRecord = false

    /// The server's own certificate, an `X509 *`, retained.
    private var leaf: OpaquePointer?
    /// Called once; released then with its captures.
    private var decider: ((Handshake) -> Decision)?
    private let hasDecider: Bool
    /// The number of the policy that decides about the server; `nil` without a decider.
    package let policy: UInt64?

    private init(
        _ decider: ((Handshake) -> Decision)?, of policy: UInt64?, inside outer: Verification?
    ) {
        self.outer = outer
        self.decider = decider
        self.policy = policy
        hasDecider = decider != nil
    }

    deinit {
        X509_free(leaf)
    }

    /// The server's own certificate; `nil` before it was verified.
    package var serverCertificate: Certificate? { leaf.flatMap { Certificate($0) } }

    // MARK: The context of a connection

    /// Installs callbacks for the verification of the connection made with an `SSL_CTX *`.
    ///
    /// Without a decider, OpenSSL verifies as usual, and the callbacks record the result. If a faulty
    /// certificate ends the handshake, they also refuse one without a host among its subject
    /// alternative names, whose common name libcurl would compare, and one that requires a stapled
    /// OCSP response and has none (``StapleRequirement``).
    ///
    /// A decider is called in place of OpenSSL's verification, once for a connection: before a
    /// client certificate is sent, and for a resumed session before any data is sent. OpenSSL's
    /// other rules for the handshake stay in force. The end of the connection is recorded in both
    /// cases.
    ///
    /// - Parameters:
    ///   - context: The `SSL_CTX *`, as libcurl passes it to `CURLOPT_SSL_CTX_FUNCTION`.
    ///   - policy: The number of the policy that the decider applies.
    ///   - outer: The connection to a proxy that the new one runs inside of, if that uses TLS, too.
    ///   - decider: Decides whether the server is accepted. Called during the handshake, on its
    ///     thread; must not block.
    /// - Returns: `nil` if memory is exhausted; the context must not be used then.
    package static func watch(
        context: UnsafeMutableRawPointer, policy: UInt64? = nil, inside outer: Verification? = nil,
        decider: ((Handshake) -> Decision)? = nil
    ) -> Verification? {
        let context = OpaquePointer(context)
        let verification = Verification(decider, of: policy, inside: outer)
        // The context retains the object until it is freed, because libcurl may use the context
        // longer than the transfer that made it.
        let box = ObjectPointer.retained(verification)
        guard slot >= 0, SSL_CTX_set_ex_data(context, slot, box) == 1 else {
            ObjectPointer.release(box)
            return nil
        }
        SSL_CTX_set_info_callback(context, stepped)
        guard decider != nil else {
            let mode = SSL_CTX_get_verify_mode(context)
            SSL_CTX_set_verify(context, mode, verified)
            if mode & SSL_VERIFY_PEER != 0 {
                guard copenssl_ask_for_staple(context, requiredStapleMayHaveCome) else {
                    return nil
                }
            }
            return verification
        }
        guard copenssl_ask_for_staple(context, stapleMayHaveCome) else { return nil }
        // With SSL_VERIFY_PEER a refusal ends the handshake, whatever libcurl has set before.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(context, certificatesCame, nil)
        return verification
    }

    /// Lets a closure end the connection of a context between two records.
    ///
    /// - Parameters:
    ///   - context: The `SSL_CTX *` that ``watch(context:decider:)`` was called with.
    ///   - refuses: Called for each record that is received, on the thread that reads, also while
    ///     the connection is closed. If it returns `true`, the next read finds the connection ended.
    package func watchRecords(
        context: UnsafeMutableRawPointer, _ refuses: @escaping () -> Bool
    ) {
        refusesRecord = refuses
        SSL_CTX_set_msg_callback(OpaquePointer(context)) {
            isSent, _, kind, bytes, count, connection, _ in
            guard let connection, let verification = Verification.of(connection) else { return }
            verification.note(
                kind, UnsafeRawBufferPointer(start: bytes, count: count), isSent: isSent != 0,
                of: connection)
            guard isSent == 0, kind == SSL3_RT_HEADER, verification.refusesRecord?() == true
            else { return }
            verification.hasRefusedRecord = true
            SSL_set_shutdown(connection, SSL_get_shutdown(connection) | SSL_RECEIVED_SHUTDOWN)
        }
    }

    /// Whether the connection was closed, and the last record on it was one of this side with a GOAWAY of
    /// HTTP/2: libcurl has found that the server broke the protocol.
    ///
    /// OpenSSL shows only the length of a record. It tells that there is a GOAWAY if it is not that of
    /// answers to frames which a server may send before it ends the connection. So a GOAWAY is missed if its
    /// reason makes it as long as answers (of those of nghttp2 1.52 about a quarter, such as
    /// `HEADERS: stream closed`), if it has none (a frame of a wrong size, faulty compression of fields, too
    /// large a window), if this side has ended a stream in the same record, and with ciphers whose records do
    /// not tell the length. False without ``watchRecords(context:_:)``.
    package var hasBrokenOff: Bool {
        guard isClosed, !isEndExpected, let lastSent, let length = lastSent.length else {
            return false
        }
        return !lastSent.mayEndStreams && !SentRecord.mayBeAnswers(length)
    }

    /// Records that this side ends a stream of HTTP/2 (RST_STREAM), which libcurl does now or has just done.
    ///
    /// libcurl sends the end together with its next frames.
    package func noteEndOfStream() {
        hasUnsentEnds = true
        lastSent?.mayEndStreams = true
    }

    /// Whether data was received that has not been read, apart from what is in the socket.
    package var hasUnreadData: Bool {
        if let connection, SSL_has_pending(connection) == 1 { return true }
        return outer?.hasUnreadData == true
    }

    /// Records that the connection is closed because its owner wants that.
    package func expectEnd() { isEndExpected = true }

    /// Records what is sent and received.
    private func note(
        _ kind: Int32, _ bytes: UnsafeRawBufferPointer, isSent: Bool, of connection: OpaquePointer
    ) {
        switch kind {
        case SSL3_RT_HEADER where bytes.count >= 5 && Int32(bytes[0]) == SSL3_RT_APPLICATION_DATA:
            lastSentBefore = lastSent
            lastSent = nil
            guard isSent else { break }
            let length = Int(bytes[3]) << 8 + Int(bytes[4])
            lastSent = SentRecord(
                length: Self.overhead(of: connection).map { length - $0 },
                mayEndStreams: hasUnsentEnds)
            hasUnsentEnds = false
        case SSL3_RT_INNER_CONTENT_TYPE where bytes.first != UInt8(SSL3_RT_APPLICATION_DATA):
            // With TLS 1.3 the header of a record does not tell its kind.
            if isSent, lastSent?.mayEndStreams == true { hasUnsentEnds = true }
            lastSent = lastSentBefore
        default: break
        }
    }

    /// The number of bytes that a record has beside its data; `nil` if that varies, or is not known.
    private static func overhead(of connection: OpaquePointer) -> Int? {
        // With TLS 1.3 the kind of the contents is encrypted as well.
        let isModern = SSL_version(connection) == TLS1_3_VERSION
        switch SSL_CIPHER_get_cipher_nid(SSL_get_current_cipher(connection)) {
        // The code of authentication, and before TLS 1.3 a part of the nonce.
        case NID_aes_128_gcm, NID_aes_256_gcm: return isModern ? 17 : 24
        case NID_chacha20_poly1305: return isModern ? 17 : 16
        default: return nil
        }
    }

    /// Returns the object that was installed for a connection's context; `nil` if there is none.
    ///
    /// - Parameter connection: The `SSL *`, as libcurl returns it for `CURLINFO_TLS_SSL_PTR`.
    package static func of(_ connection: UnsafeMutableRawPointer) -> Verification? {
        of(OpaquePointer(connection))
    }

    private static func of(_ connection: OpaquePointer) -> Verification? {
        guard let context = SSL_get_SSL_CTX(connection),
            let box = SSL_CTX_get_ex_data(context, slot)
        else { return nil }
        return ObjectPointer.object(at: box)
    }

    /// The index of the ``Verification`` in a context's extra data.
    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil,
        { _, box, _, _, _, _ in
            guard let box else { return }
            let verification: Verification = ObjectPointer.object(at: box)
            verification.connection = nil
            verification.isClosed = true
            ObjectPointer.release(box)
        })

    // MARK: Without a decider

    /// OpenSSL's callback, called for each certificate of a chain, the root first.
    private static let verified: @convention(c) (Int32, OpaquePointer?) -> Int32 = {
        isGood, store in
        guard let store, let connection = connection(of: store), let verification = of(connection)
        else { return isGood }
        verification.note(store, isGood != 0)
        guard isGood != 0, SSL_get_verify_mode(connection) & SSL_VERIFY_PEER != 0,
            X509_STORE_CTX_get_error_depth(store) == 0, verification.isNameless
        else { return isGood }
        verification.refuse(
            X509_V_ERR_HOSTNAME_MISMATCH, Certificate.namelessReason)
        X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH)
        return 0
    }

    /// Whether the server's certificate has no host among its subject alternative names.
    private var isNameless: Bool { leaf.map { Certificate.isNameless($0) } ?? false }

    /// Records a fault of the server's certificate that OpenSSL has not found.
    private func refuse(_ code: Int32, _ reason: String) {
        guard refusal == nil else { return }
        refusal = Refusal(
            fault: .other, code: code, reason: reason, depth: 0, certificate: serverCertificate)
    }

    /// OpenSSL's callback after the server's first messages (`SSL_CTX_set_tlsext_status_cb`).
    private static let requiredStapleMayHaveCome:
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { connection, _ in
            // A session was made with the response, which is not sent again when it is resumed.
            guard let connection, SSL_session_reused(connection) == 0,
                let verification = of(connection), let leaf = verification.leaf,
                StapleRequirement.applies(to: leaf)
            else { return 1 }
            guard let sent = Handshake.stapled(connection) else {
                verification.refuse(X509_V_ERR_OCSP_VERIFY_NEEDED, StapleRequirement.missing)
                return 0
            }
            let response = StapledResponse(sent, of: connection)
            guard let fault = response.fault else { return 1 }
            verification.refuse(
                response == .revoked ? X509_V_ERR_CERT_REVOKED : X509_V_ERR_OCSP_VERIFY_FAILED,
                StapleRequirement.unmet(fault))
            return 0
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

    // MARK: With a decider

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

    /// Records the server's certificate; calls the decider for TLS 1.3.
    ///
    /// - Returns: Whether the handshake continues.
    private func mayGoOn(
        _ connection: OpaquePointer, sent: OpaquePointer?, leaf: OpaquePointer?
    ) -> Bool {
        guard let leaf else { return false }
        if let known = self.leaf {
            // A renegotiation (TLS 1.2) must present the same certificate.
            return decision.isAcceptance && X509_cmp(known, leaf) == 0
        }
        guard X509_up_ref(leaf) == 1 else { return false }
        self.leaf = leaf
        // Before TLS 1.3 the stapled response arrives later, and the decider needs it.
        if SSL_version(connection) < TLS1_3_VERSION { return true }
        return decide(connection, sent)
    }

    /// OpenSSL's callback after the server's first messages (`SSL_CTX_set_tlsext_status_cb`).
    ///
    /// Called in TLS 1.3 always, in TLS 1.2 only if no session is resumed.
    private static let stapleMayHaveCome:
        @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { connection, _ in
            guard let connection, let verification = of(connection) else { return 0 }
            return verification.decide(connection, SSL_get_peer_cert_chain(connection)) ? 1 : 0
        }

    /// OpenSSL's callback for each alert, and for each step of a handshake, of which only the first
    /// and the last are used.
    ///
    /// No other callback is called for a session that is resumed in TLS 1.2.
    private static let stepped: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = {
        connection, step, value in
        guard let connection else { return }
        let verification = of(connection)
        if step & SSL_CB_HANDSHAKE_START != 0 { verification?.connection = connection }
        if step & copenssl_read_alert == copenssl_read_alert, value & 0xFF == SSL_AD_CLOSE_NOTIFY {
            verification?.hasClosureAlert = true
        }
        guard step & SSL_CB_HANDSHAKE_DONE != 0, verification?.hasDecider != false else { return }
        if verification?.decide(connection, SSL_get_peer_cert_chain(connection)) == true { return }
        // The handshake can no longer fail, but after this call nothing can be written.
        SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    }

    /// Calls the decider, the first time only; returns whether the server is accepted.
    private func decide(_ connection: OpaquePointer, _ sent: OpaquePointer?) -> Bool {
        if let decider {
            self.decider = nil
            decision = decider(Handshake(connection, sent))
        }
        return decision.isAcceptance
    }
}

extension Verification.Decision? {
    fileprivate var isAcceptance: Bool {
        if case .accepted = self { true } else { false }
    }
}

extension Verification {
    /// A record of application data that this side has sent.
    private struct SentRecord {
        /// The length of its data; `nil` if the record does not tell it.
        let length: Int?
        /// Whether it may end streams of HTTP/2 (RST_STREAM).
        var mayEndStreams: Bool

        /// Whether data may consist of the answers to frames of one batch: acknowledgements of PING
        /// (17 bytes each), at most one of SETTINGS (9), and WINDOW_UPDATE (13) for at most the connection
        /// and one stream.
        static func mayBeAnswers(_ length: Int) -> Bool {
            [0, 9, 13, 13 + 9, 2 * 13, 2 * 13 + 9].contains {
                length >= $0 && (length - $0) % 17 == 0
            }
        }
    }
}

extension Verification.Refusal {
    /// Reads the current error of an `X509_STORE_CTX *`.
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
    /// The reason and the certificate.
    package var description: String {
        certificate.map { "\(reason): \($0)" } ?? reason
    }
}
