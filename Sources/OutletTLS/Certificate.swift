import COpenSSL
import FoundationEssentials
import Glibc

/// The parsed fields of a certificate (RFC 5280).
package struct Certificate: Sendable, Equatable, Hashable {
    /// The subject, such as `CN=example.org,O=Example` (RFC 2253).
    package let subject: String
    /// The issuer, in the form of ``subject``.
    package let issuer: String
    /// The subject's hosts: DNS names as in the certificate, and IP addresses in text form.
    package let subjectAlternativeNames: [String]
    /// The first second of its validity, in seconds since 1970.
    package let notBefore: Int64
    /// The last second of its validity, in seconds since 1970.
    package let notAfter: Int64
    /// The public key (SubjectPublicKeyInfo) as DER.
    package let publicKey: [UInt8]
    /// The SHA-256 hash of ``publicKey``, 32 bytes.
    package let publicKeySHA256: [UInt8]
    /// The certificate as DER.
    package let der: [UInt8]

    /// Parses a certificate in DER; `nil` if the bytes are none, or others follow it.
    package init?(der: [UInt8]) {
        var isWhole = false
        let parsed = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let certificate = d2i_X509(nil, &position, bytes.count)
            isWhole = position == bytes.baseAddress.map { $0 + bytes.count }
            return certificate
        }
        ERR_clear_error()
        guard let parsed else { return nil }
        defer { X509_free(parsed) }
        guard isWhole else { return nil }
        self.init(parsed)
    }

    /// Parses all certificates of a PEM text, in order; other objects are skipped.
    ///
    /// - Returns: `nil` if an object is damaged or incomplete.
    package static func certificates(pem: [UInt8]) -> [Certificate]? {
        guard let objects = PEMText.objects(["CERTIFICATE", "X509 CERTIFICATE"], in: pem) else {
            return nil
        }
        var found: [Certificate] = []
        for object in objects {
            guard let certificate = Certificate(der: object) else { return nil }
            found.append(certificate)
        }
        return found
    }

    /// Reads an `X509 *`, which the caller keeps.
    init?(_ parsed: OpaquePointer) {
        guard let notBefore = Self.time(X509_get0_notBefore(parsed)),
            let notAfter = Self.time(X509_get0_notAfter(parsed)),
            let der = Self.der({ i2d_X509(parsed, $0) }),
            let key = X509_get_X509_PUBKEY(parsed),
            let keyDER = Self.der({ i2d_X509_PUBKEY(key, $0) })
        else { return nil }
        subject = Self.text(X509_get_subject_name(parsed))
        issuer = Self.text(X509_get_issuer_name(parsed))
        subjectAlternativeNames = Self.alternativeNames(parsed)
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.der = der
        publicKey = keyDER
        publicKeySHA256 = Self.sha256(keyDER)
    }

    private static func text(_ name: OpaquePointer?) -> String {
        guard let name, let buffer = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(buffer) }
        guard X509_NAME_print_ex(buffer, name, 0, copenssl_name_flags) >= 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(buffer)))
        let count = BIO_read(buffer, &bytes, Int32(clamping: bytes.count))
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var fields = tm()
        guard let time, ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return Int64(timegm(&fields))
    }

    /// Calls one of OpenSSL's `i2d` functions, which allocate the bytes if they get a NULL pointer.
    private static func der(
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
    ) -> [UInt8]? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = encode(&bytes)
        guard count > 0, let bytes else { return nil }
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else {
            return []
        }
        return digest
    }

    private static func alternativeNames(_ parsed: OpaquePointer) -> [String] {
        guard let names = X509_get_ext_d2i(parsed, NID_subject_alt_name, nil, nil) else {
            return []
        }
        let stack = OpaquePointer(names)
        defer { GENERAL_NAMES_free(stack) }
        return (0..<OPENSSL_sk_num(stack)).compactMap { index in
            guard let entry = OPENSSL_sk_value(stack, index) else { return nil }
            let name = entry.assumingMemoryBound(to: GENERAL_NAME.self).pointee
            switch name.type {
            case GEN_DNS: return bytes(name.d.dNSName).map { String(decoding: $0, as: UTF8.self) }
            case GEN_IPADD: return bytes(name.d.iPAddress).flatMap(address)
            default: return nil
            }
        }
    }

    /// Whether an `X509 *` has no subject alternative name that libcurl compares with a host, so that
    /// libcurl compares its common name.
    static func isNameless(_ parsed: OpaquePointer) -> Bool {
        guard let names = X509_get_ext_d2i(parsed, NID_subject_alt_name, nil, nil) else {
            return true
        }
        let stack = OpaquePointer(names)
        defer { GENERAL_NAMES_free(stack) }
        return !(0..<max(0, OPENSSL_sk_num(stack))).contains { index in
            guard let entry = OPENSSL_sk_value(stack, index) else { return false }
            let kind = entry.assumingMemoryBound(to: GENERAL_NAME.self).pointee.type
            return kind == GEN_DNS || kind == GEN_IPADD
        }
    }

    /// Why a certificate without such a name is refused.
    static let namelessReason =
        "it has no host among its subject alternative names, and its common name does not count "
        + "(RFC 9110 §4.3.4)"

    private static func bytes(_ string: UnsafeMutablePointer<ASN1_STRING>?) -> [UInt8]? {
        guard let string, let start = ASN1_STRING_get0_data(string) else { return nil }
        return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(string))))
    }

    private static func address(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension Certificate: CustomStringConvertible {
    /// Subject, issuer and dates, in one line.
    package var description: String {
        "\(subject), signed by \(issuer), valid \(Self.date(notBefore)) to \(Self.date(notAfter))"
    }

    /// A time as `2026-11-20 13:21 UTC`.
    static func date(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var fields = tm()
        gmtime_r(&time, &fields)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(fields.tm_year + 1900)-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday)) "
            + "\(two(fields.tm_hour)):\(two(fields.tm_min)) UTC"
    }
}
