import COpenSSL

/// Owns a `STACK_OF(X509)` with its certificates.
struct CertificateStack: ~Copyable {
    let raw: OpaquePointer

    /// Parses certificates in DER; `nil` if one of them is invalid or memory is exhausted.
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

    /// The number of certificates.
    var count: Int32 { OPENSSL_sk_num(raw) }

    /// Returns a certificate, which the stack keeps; `nil` beyond the end.
    func certificate(at index: Int32) -> OpaquePointer? {
        OPENSSL_sk_value(raw, index).map { OpaquePointer($0) }
    }
}
