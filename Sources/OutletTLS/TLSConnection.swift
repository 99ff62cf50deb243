import COpenSSL

/// Reads the negotiated parameters of an `SSL *`.
package enum TLSConnection {
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

    /// OpenSSL's callback for each message and each header of a record: whether it was sent, the
    /// version, the kind, the bytes and their number, the `SSL *`, and the object.
    package typealias MessageWatcher =
        @convention(c) (
            Int32, Int32, Int32, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?
        ) -> Void

    /// Sets the callback for the messages of the connection of a context.
    ///
    /// - Parameters:
    ///   - context: The `SSL_CTX *`, as libcurl passes it to `CURLOPT_SSL_CTX_FUNCTION`.
    ///   - object: Passed to the callback; it must live longer than the connection.
    ///   - watcher: The callback; called on the thread that uses the connection.
    package static func watchMessages(
        context: UnsafeMutableRawPointer, _ object: UnsafeMutableRawPointer,
        _ watcher: @escaping MessageWatcher
    ) {
        copenssl_watch_messages(OpaquePointer(context), watcher, object)
    }

    /// Whether a ``MessageWatcher`` was called for the header of a record that was received.
    ///
    /// - Parameters:
    ///   - isSent: The callback's first argument.
    ///   - kind: Its third argument.
    package static func isReceivedRecord(_ isSent: Int32, _ kind: Int32) -> Bool {
        isSent == 0 && kind == SSL3_RT_HEADER
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
