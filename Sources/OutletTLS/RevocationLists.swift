import COpenSSL

/// Parsed certificate revocation lists, for repeated use.
///
/// Thread: any.
package final class RevocationLists: @unchecked Sendable {
    // because the stack does not change after `init`, and OpenSSL locks a list while it sorts it
    // for the first look-up.

    /// Why lists cannot be used.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        /// What is wrong, beginning with "one of the revocation lists".
        package let description: String

        fileprivate init(_ fault: String) {
            description = "one of the revocation lists \(fault)"
        }
    }

    /// `STACK_OF(X509_CRL)`.
    let raw: OpaquePointer

    /// Whether there is no list.
    package var isEmpty: Bool { OPENSSL_sk_num(raw) <= 0 }

    /// Parses lists, each in DER or PEM; a PEM text may contain several.
    ///
    /// - Throws: ``Fault`` if one of them is damaged, if OpenSSL would ignore it, or if memory is
    ///   exhausted.
    package init(_ lists: [[UInt8]]) throws(Fault) {
        guard let raw = OPENSSL_sk_new_null() else {
            throw Fault("cannot be read: no memory left")
        }
        self.raw = raw
        for bytes in lists {
            guard let found = PEMText.objects(["X509 CRL"], in: bytes) else {
                throw Fault("is damaged or incomplete")
            }
            for der in found.isEmpty ? [bytes] : found {
                try Self.read(der, into: raw, isPEM: !found.isEmpty)
            }
        }
    }

    deinit {
        while let list = OPENSSL_sk_pop(raw) { X509_CRL_free(OpaquePointer(list)) }
        OPENSSL_sk_free(raw)
    }

    /// Parses the one list in DER, and adds it to `raw`.
    private static func read(
        _ der: [UInt8], into raw: OpaquePointer, isPEM: Bool
    ) throws(Fault) {
        var isWhole = false
        let parsed = der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            let list = d2i_X509_CRL(nil, &position, buffer.count)
            isWhole = position == buffer.baseAddress.map { $0 + buffer.count }
            return list
        }
        ERR_clear_error()
        guard let parsed else {
            throw Fault(isPEM ? "is damaged or incomplete" : "is neither DER nor PEM")
        }
        let fault =
            !isWhole
            ? "is followed by other bytes"
            : isPartial(parsed)
                ? "is for some reasons only, indirect, or a delta, which is not supported" : nil
        guard fault == nil, OPENSSL_sk_push(raw, UnsafeRawPointer(parsed)) > 0 else {
            X509_CRL_free(parsed)
            throw Fault(fault ?? "cannot be read: no memory left")
        }
    }

    /// Whether OpenSSL would ignore a list (RFC 5280 §5.2.4, §5.2.5).
    ///
    /// It takes lists of some reasons and of other issuers' certificates only with
    /// X509_V_FLAG_EXTENDED_CRL_SUPPORT, which also allows other keys to sign lists.
    private static func isPartial(_ list: OpaquePointer) -> Bool {
        if X509_CRL_get_ext_by_NID(list, NID_delta_crl, -1) >= 0 { return true }
        guard X509_CRL_get_ext_by_NID(list, NID_issuing_distribution_point, -1) >= 0 else {
            return false
        }
        guard
            let found = X509_CRL_get_ext_d2i(list, NID_issuing_distribution_point, nil, nil)?
                .assumingMemoryBound(to: ISSUING_DIST_POINT.self)
        else { return true }
        defer { ISSUING_DIST_POINT_free(found) }
        let point = found.pointee
        let kinds = [point.onlyuser, point.onlyCA, point.onlyattr].count { $0 > 0 }
        return point.onlysomereasons != nil || point.indirectCRL > 0 || kinds > 1
    }
}
