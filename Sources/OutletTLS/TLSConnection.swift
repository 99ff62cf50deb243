import COpenSSL

/// Reads the negotiated parameters of an `SSL *`.
package enum TLSConnection {
    /// The largest record of an alert with an AEAD cipher, in bytes: a header of 5, with TLS 1.2 an
    /// initialization vector of 8, the alert of 2, with TLS 1.3 its kind, and a tag of 16.
    package static let alertSize: Int32 = 31

    /// Returns version and cipher, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`.
    ///
    /// - Parameter connection: The `SSL *`, as libcurl returns it for `CURLINFO_TLS_SSL_PTR`.
    package static func agreement(of connection: UnsafeMutableRawPointer) -> String {
        let connection = OpaquePointer(connection)
        guard let version = SSL_get_version(connection) else { return "" }
        guard let name = SSL_CIPHER_get_name(SSL_get_current_cipher(connection)) else {
            return String(cString: version)
        }
        return "\(String(cString: version)) \(String(cString: name))"
    }

    /// Whether the handshake has been completed.
    ///
    /// - Parameter connection: The `SSL *`, as libcurl returns it for `CURLINFO_TLS_SSL_PTR`.
    package static func isSecured(_ connection: UnsafeMutableRawPointer) -> Bool {
        SSL_is_init_finished(OpaquePointer(connection)) == 1
    }

    /// Whether HTTP/2 was negotiated (ALPN, RFC 7301).
    ///
    /// - Parameter connection: The `SSL *`, as libcurl returns it for `CURLINFO_TLS_SSL_PTR`.
    package static func speaksHTTP2(_ connection: UnsafeMutableRawPointer) -> Bool {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(OpaquePointer(connection), &name, &count)
        return UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual("h2".utf8)
    }
}
