import COpenSSL
import OutletPointers

/// What a server has shown of itself in a handshake.
package struct Handshake {
    /// The certificates as it sent them, its own first; also where a session is resumed.
    package let certificates: [Certificate]
    /// The OCSP response that it stapled, DER; that of the first handshake where a session is
    /// resumed.
    package let stapledResponse: [UInt8]?
    /// OpenSSL's security level of the connection (SSL_CTX_set_security_level(3)).
    package let securityLevel: Int32

    /// - Parameters:
    ///   - connection: The `SSL *`.
    ///   - sent: The certificates that came with it, `STACK_OF(X509)`.
    init(_ connection: OpaquePointer, _ sent: OpaquePointer?) {
        certificates = (0..<max(0, OPENSSL_sk_num(sent))).compactMap { index in
            OPENSSL_sk_value(sent, index).flatMap { Certificate(OpaquePointer($0)) }
        }
        securityLevel = SSL_get_security_level(connection)
        let now = Self.stapled(connection)
        guard let session = SSL_get_session(connection) else {
            stapledResponse = now
            return
        }
        if SSL_session_reused(connection) == 1 {
            stapledResponse = now ?? Staple.of(session)?.response
        } else {
            stapledResponse = now
            if let now { Staple(now).belong(to: session) }
        }
    }

    private static func stapled(_ connection: OpaquePointer) -> [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = copenssl_staple(connection, &bytes)
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}

/// The OCSP response of the handshake that made a TLS session: where that is resumed, no other
/// comes.
private final class Staple: Sendable {
    let response: [UInt8]

    init(_ response: [UInt8]) {
        self.response = response
    }

    static func of(_ session: OpaquePointer) -> Staple? {
        SSL_SESSION_get_ex_data(session, slot)
            .map { ObjectPointer.object(at: $0) }
    }

    /// Is kept by a session, and by those that OpenSSL makes of it for further tickets.
    func belong(to session: OpaquePointer) {
        guard Self.slot >= 0, Self.of(session) == nil else { return }
        let box = ObjectPointer.retained(self)
        if SSL_SESSION_set_ex_data(session, Self.slot, box) != 1 { ObjectPointer.release(box) }
    }

    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_SESSION, 0, nil, nil,
        { _, _, box, _, _, _ in
            // The copy is one more owner.
            if let box = box?.pointee { ObjectPointer.retain(box) }
            return 1
        },
        { _, box, _, _, _, _ in
            if let box { ObjectPointer.release(box) }
        })
}
