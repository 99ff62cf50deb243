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
