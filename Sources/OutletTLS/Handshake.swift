import COpenSSL
import OutletPointers

/// The certificates and the OCSP response that a server has sent in a TLS handshake.
package struct Handshake {
    /// The certificates as the server has sent them, its own first; for a resumed session those of
    /// the first handshake.
    package let certificates: [Certificate]
    /// The stapled OCSP response in DER; `nil` if there is none.
    ///
    /// For a resumed session it is that of the first handshake.
    package let stapledResponse: [UInt8]?
    /// OpenSSL's security level of the connection (SSL_CTX_set_security_level(3)).
    package let securityLevel: Int32

    /// Reads the data of a connection.
    ///
    /// - Parameters:
    ///   - connection: The `SSL *`.
    ///   - sent: The certificates that the server has sent, a `STACK_OF(X509)`.
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

    /// The stapled OCSP response of an `SSL *`, in DER; `nil` if there is none.
    static func stapled(_ connection: OpaquePointer) -> [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = copenssl_staple(connection, &bytes)
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}

/// The OCSP response of a full handshake, kept with the TLS session, because the server sends none
/// when the session is resumed.
private final class Staple: Sendable {
    let response: [UInt8]

    init(_ response: [UInt8]) {
        self.response = response
    }

    static func of(_ session: OpaquePointer) -> Staple? {
        SSL_SESSION_get_ex_data(session, slot)
            .map { ObjectPointer.object(at: $0) }
    }

    /// Attaches the response to a session; OpenSSL copies it to sessions for further tickets.
    func belong(to session: OpaquePointer) {
        guard Self.slot >= 0, Self.of(session) == nil else { return }
        let box = ObjectPointer.retained(self)
        if SSL_SESSION_set_ex_data(session, Self.slot, box) != 1 { ObjectPointer.release(box) }
    }

    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_SESSION, 0, nil, nil,
        { _, _, box, _, _, _ in
            // The copied session retains the response too.
            if let box = box?.pointee { ObjectPointer.retain(box) }
            return 1
        },
        { _, box, _, _, _, _ in
            if let box { ObjectPointer.release(box) }
        })
}
