import COpenSSL

/// Certificate revocation lists as OpenSSL has them, read once and looked into often.
///
/// Thread: any.
package final class RevocationLists: @unchecked Sendable {
    // because nobody changes the stack after `init`, and OpenSSL locks a list while it sorts it for
    // its first look-up.

    /// `STACK_OF(X509_CRL)`.
    let raw: OpaquePointer

    /// Whether there is none.
    package var isEmpty: Bool { OPENSSL_sk_num(raw) <= 0 }

    /// Reads lists, each in DER or PEM; `nil` when one of them is none, or memory is short.
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

    /// A PEM text may hold several lists, a DER file holds one.
    private static func read(_ bytes: [UInt8], into raw: OpaquePointer) -> Bool {
        let before = OPENSSL_sk_num(raw)
        bytes.withUnsafeBytes { buffer in
            guard let file = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count))
            else { return }
            defer { BIO_free(file) }
            while let list = PEM_read_bio_X509_CRL(file, nil, nil, nil) {
                if OPENSSL_sk_push(raw, UnsafeRawPointer(list)) <= 0 { X509_CRL_free(list) }
            }
            // Where the text ends, OpenSSL leaves "no start line" in its queue of errors.
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
