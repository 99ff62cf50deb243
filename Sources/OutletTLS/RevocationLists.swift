import COpenSSL

/// Parsed certificate revocation lists, for repeated use.
///
/// Thread: any.
package final class RevocationLists: @unchecked Sendable {
    // because the stack does not change after `init`, and OpenSSL locks a list while it sorts it
    // for the first look-up.

    /// `STACK_OF(X509_CRL)`.
    let raw: OpaquePointer

    /// Whether there is no list.
    package var isEmpty: Bool { OPENSSL_sk_num(raw) <= 0 }

    /// Parses lists, each in DER or PEM; `nil` if one of them is invalid or memory is exhausted.
    package init?(_ lists: [[UInt8]]) {
        guard let raw = OPENSSL_sk_new_null() else { return nil }
        self.raw = raw
        for bytes in lists {
            guard Self.read(bytes, into: raw) else { return nil }
        }
    }

    deinit {
        while let list = OPENSSL_sk_pop(raw) { X509_CRL_free(OpaquePointer(list)) }
        OPENSSL_sk_free(raw)
    }

    /// Parses the lists of a PEM text, or the one list in DER, and adds them to `raw`.
    ///
    /// - Returns: Whether there was at least one list.
    private static func read(_ bytes: [UInt8], into raw: OpaquePointer) -> Bool {
        let before = OPENSSL_sk_num(raw)
        bytes.withUnsafeBytes { buffer in
            guard let file = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count))
            else { return }
            defer { BIO_free(file) }
            while let list = PEM_read_bio_X509_CRL(file, nil, nil, nil) {
                if OPENSSL_sk_push(raw, UnsafeRawPointer(list)) <= 0 { X509_CRL_free(list) }
            }
            // At the end of the text, OpenSSL adds "no start line" to its error queue.
            ERR_clear_error()
        }
        guard OPENSSL_sk_num(raw) == before else { return true }
        let list = bytes.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return d2i_X509_CRL(nil, &position, buffer.count)
        }
        ERR_clear_error()
        guard let list else { return false }
        guard OPENSSL_sk_push(raw, UnsafeRawPointer(list)) > 0 else {
            X509_CRL_free(list)
            return false
        }
        return true
    }
}
