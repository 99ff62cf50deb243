import COpenSSL
import FoundationEssentials
import Glibc
import OutletFiles

/// Finds out why a client certificate or its key cannot be used, and names the file.
///
/// libcurl reports only that they cannot be used, not why.
package enum ClientIdentity {
    /// Where a certificate or a key is read from.
    package enum Source: Sendable {
        /// A file.
        case file(path: String)
        /// Bytes in memory.
        case bytes([UInt8])
    }

    /// The format of certificate and key.
    package enum Format: Sendable {
        /// PEM.
        case pem
        /// DER.
        case der
        /// PKCS #12 (RFC 7292): both together, usually with a password.
        case pkcs12
    }

    private struct Fault: Error {
        let text: String
    }

    /// Reads certificate and key and checks that they belong together.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - key: The private key; `nil` if `certificate` contains it.
    ///   - format: The format of both.
    ///   - password: The password of the key; `nil` for none.
    /// - Returns: What is wrong; `nil` if they can be used.
    ///
    /// Thread: any that may wait for a disk.
    package static func fault(
        certificate: Source, key: Source?, format: Format, password: String?
    ) -> String? {
        defer { ERR_clear_error() }
        do throws(Fault) {
            try check(certificate, key, format, password)
            return nil
        } catch {
            return error.text
        }
    }

    private static func check(
        _ certificate: Source, _ key: Source?, _ format: Format, _ password: String?
    ) throws(Fault) {
        if format == .pkcs12 {
            return try checkPKCS12(try bytes(of: certificate), certificate.name, password)
        }
        let read =
            format == .pem
            ? try certificates(certificate).first
            : Certificate(der: try bytes(of: certificate))
        guard let read else {
            throw Fault(
                text: "\(certificate.name): holds no certificate in "
                    + (format == .pem ? "PEM" : "DER"))
        }
        let source = key ?? certificate
        let parsed = try self.key(try bytes(of: source), source.name, format, password)
        defer { EVP_PKEY_free(parsed) }
        guard let stack = CertificateStack([read.der]),
            X509_check_private_key(stack.certificate(at: 0), parsed) == 1
        else {
            throw Fault(
                text: "\(source.name): the key is not that of the certificate \(certificate.name) "
                    + "(\(read.subject))")
        }
    }

    private static func certificates(_ source: Source) throws(Fault) -> [Certificate] {
        guard let found = Certificate.certificates(pem: try bytes(of: source)) else {
            throw Fault(text: "\(source.name): one of its parts in PEM is damaged or incomplete")
        }
        return found
    }

    private static func holds(_ word: String, _ bytes: [UInt8]) -> Bool {
        bytes.firstRange(of: Array(word.utf8)) != nil
    }

    private static func checkPKCS12(
        _ bytes: [UInt8], _ name: String, _ password: String?
    ) throws(Fault) {
        let parsed = bytes.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return d2i_PKCS12(nil, &position, buffer.count)
        }
        guard let parsed else { throw Fault(text: "\(name): is no PKCS #12 file") }
        defer { PKCS12_free(parsed) }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        let isOpen = PKCS12_parse(parsed, password ?? "", &key, &certificate, nil) == 1
        defer {
            EVP_PKEY_free(key)
            X509_free(certificate)
        }
        guard isOpen else {
            let reason = lastReason()
            guard holds("unsupported", Array(reason.utf8)) else {
                throw Fault(
                    text: password == nil
                        ? "\(name): wants a password, and none is given"
                        : "\(name): the password does not open it")
            }
            throw Fault(
                text: "\(name): is written with a cipher that OpenSSL no longer reads (\(reason)); "
                    + "write it anew with a newer openssl pkcs12 -export")
        }
        if certificate == nil { throw Fault(text: "\(name): holds no certificate") }
        if key == nil { throw Fault(text: "\(name): holds no private key") }
    }

    private static func key(
        _ bytes: [UInt8], _ name: String, _ format: Format, _ password: String?
    ) throws(Fault) -> OpaquePointer {
        let file = bytes.withUnsafeBytes { buffer in
            let file = BIO_new(BIO_s_mem())
            BIO_write(file, buffer.baseAddress, Int32(clamping: buffer.count))
            return file
        }
        defer { BIO_free(file) }
        // Without a callback, OpenSSL uses the argument as the password and does not prompt.
        let key = (password ?? "").withCString { password in
            let password = UnsafeMutableRawPointer(mutating: password)
            return format == .pem
                ? PEM_read_bio_PrivateKey(file, nil, nil, password)
                : d2i_PrivateKey_bio(file, nil)
        }
        if let key { return key }
        if format == .pem, holds("PRIVATE KEY", bytes) {
            guard holds("ENCRYPTED", bytes) else {
                throw Fault(text: "\(name): the private key is broken: \(lastReason())")
            }
            throw Fault(
                text: password == nil
                    ? "\(name): the private key is encrypted, and no password is given"
                    : "\(name): the password does not open the private key")
        }
        throw Fault(
            text: "\(name): holds no private key in " + (format == .pem ? "PEM" : "DER"))
    }

    private static func bytes(of source: Source) throws(Fault) -> [UInt8] {
        switch source {
        case .bytes(let bytes): return bytes
        case .file(let path):
            guard access(path, R_OK) == 0 else {
                throw Fault(text: "\(path): \(systemText(errno))")
            }
            do {
                return Array(try Data(contentOf: URL(filePath: path)))
            } catch {
                throw Fault(text: "\(path): cannot be read: \(error.fileReason)")
            }
        }
    }

    /// The first reason in OpenSSL's error queue.
    private static func lastReason() -> String {
        let code = ERR_peek_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "unknown reason" }
        return String(cString: reason)
    }
}

extension ClientIdentity.Source {
    /// The name in error messages: the path, or the number of bytes.
    fileprivate var name: String {
        switch self {
        case .file(let path): path
        case .bytes(let bytes): "\(bytes.count) bytes in memory"
        }
    }
}
