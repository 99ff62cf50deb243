import COpenSSL

/// What two sides agreed on, told by an `SSL *`.
public enum TLSConnection {
    /// Version and cipher, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`.
    ///
    /// - Parameter connection: The `SSL *`, as libcurl gives it for `CURLINFO_TLS_SSL_PTR`.
    public static func agreement(of connection: UnsafeMutableRawPointer) -> String {
        let connection = OpaquePointer(connection)
        guard let version = SSL_get_version(connection) else { return "" }
        guard let name = SSL_CIPHER_get_name(SSL_get_current_cipher(connection)) else {
            return String(cString: version)
        }
        return "\(String(cString: version)) \(String(cString: name))"
    }

    /// The certificates that the server sent, its own first, DER; also where the session is resumed.
    ///
    /// - Parameter connection: The `SSL *`.
    public static func chain(of connection: UnsafeMutableRawPointer) -> [Certificate] {
        guard let chain = SSL_get_peer_cert_chain(OpaquePointer(connection)) else { return [] }
        return (0..<max(0, OPENSSL_sk_num(chain))).compactMap { index in
            OPENSSL_sk_value(chain, index).flatMap { Certificate(OpaquePointer($0)) }
        }
    }

    /// The OCSP response that the server stapled, DER; `nil` without one, as in resumed sessions.
    ///
    /// - Parameter connection: The `SSL *`.
    public static func stapledResponse(of connection: UnsafeMutableRawPointer) -> [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = copenssl_staple(OpaquePointer(connection), &bytes)
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// Makes all connections of a context ask for a stapled OCSP response (RFC 6066 §8).
    ///
    /// - Parameter context: The `SSL_CTX *`.
    public static func askForStaple(context: UnsafeMutableRawPointer) {
        _ = copenssl_ask_for_staple(OpaquePointer(context))
    }

    // MARK: A verdict that lives as long as the connection

    /// Whether ``accept(_:)`` was called for the connection.
    public static func isAccepted(_ connection: UnsafeMutableRawPointer) -> Bool {
        slot >= 0 && SSL_get_ex_data(OpaquePointer(connection), slot) != nil
    }

    /// Notes that whoever decides about the server has accepted it.
    public static func accept(_ connection: UnsafeMutableRawPointer) {
        guard slot >= 0 else { return }
        SSL_set_ex_data(OpaquePointer(connection), slot, UnsafeMutableRawPointer(bitPattern: 1))
    }

    private static let slot: Int32 = CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)
}
