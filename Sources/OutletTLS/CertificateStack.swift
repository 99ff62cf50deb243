import COpenSSL

/// OpenSSL's form of some certificates (`STACK_OF(X509)`), owned.
struct CertificateStack: ~Copyable {
    let raw: OpaquePointer

    /// Reads certificates in DER; `nil` when one of them is none, or memory is short.
    init?(_ certificates: some Sequence<[UInt8]>) {
        guard let raw = OPENSSL_sk_new_null() else { return nil }
        var isFine = true
        for der in certificates {
            let parsed = der.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                return d2i_X509(nil, &position, bytes.count)
            }
            guard let parsed, OPENSSL_sk_push(raw, UnsafeRawPointer(parsed)) > 0 else {
                X509_free(parsed)
                isFine = false
                break
            }
        }
        guard isFine else {
            Self.free(raw)
            return nil
        }
        self.raw = raw
    }

    deinit {
        Self.free(raw)
    }

    private static func free(_ raw: OpaquePointer) {
        while let certificate = OPENSSL_sk_pop(raw) { X509_free(OpaquePointer(certificate)) }
        OPENSSL_sk_free(raw)
    }

    /// How many there are.
    var count: Int32 { OPENSSL_sk_num(raw) }

    /// One of them, which stays the stack's; `nil` beyond the end.
    func certificate(at index: Int32) -> OpaquePointer? {
        OPENSSL_sk_value(raw, index).map { OpaquePointer($0) }
    }
}

/// OpenSSL's form of some certificate revocation lists (`STACK_OF(X509_CRL)`), owned.
struct RevocationStack: ~Copyable {
    let raw: OpaquePointer

    /// Reads lists, each in DER or PEM; `nil` when one of them is none, or memory is short.
    init?(_ lists: [[UInt8]]) {
        guard let raw = OPENSSL_sk_new_null() else { return nil }
        var isFine = true
        for bytes in lists where isFine { isFine = Self.read(bytes, into: raw) }
        guard isFine else {
            Self.free(raw)
            return nil
        }
        self.raw = raw
    }

    deinit {
        Self.free(raw)
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

    private static func free(_ raw: OpaquePointer) {
        while let list = OPENSSL_sk_pop(raw) { X509_CRL_free(OpaquePointer(list)) }
        OPENSSL_sk_free(raw)
    }
}
