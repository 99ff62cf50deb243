public import FoundationEssentials
import OutletHTTP

/// A certificate (RFC 5280) with its parsed fields.
///
/// Certificates are equal if their DER bytes are equal.
public struct Certificate: Sendable, Hashable {
    /// The certificate as DER.
    public let der: Data
    /// The public key.
    public let publicKey: PublicKey
    /// The subject, such as `CN=example.org,O=Example` (RFC 2253).
    public let subject: String
    /// The issuer, in the form of ``subject``.
    public let issuer: String
    /// The subject's hosts: DNS names as in the certificate, and IP addresses in text form.
    public let subjectAlternativeNames: [String]
    /// The first second of its validity, in seconds since 1970.
    public let notBefore: Int64
    /// The last second of its validity, in seconds since 1970.
    public let notAfter: Int64

    /// Makes a certificate from its parsed fields, which are not checked.
    ///
    /// `OutletCurl` adds an initialiser and a function that parse DER and PEM.
    ///
    /// - Parameters:
    ///   - der: The certificate as DER.
    ///   - publicKey: The public key.
    ///   - subject: The subject, such as `CN=example.org,O=Example` (RFC 2253).
    ///   - issuer: The issuer, in the form of `subject`.
    ///   - subjectAlternativeNames: The subject's hosts: DNS names as in the certificate, and IP
    ///     addresses in text form.
    ///   - notBefore: The first second of its validity, in seconds since 1970.
    ///   - notAfter: The last second of its validity, in seconds since 1970.
    public init(
        der: Data, publicKey: PublicKey, subject: String, issuer: String,
        subjectAlternativeNames: [String], notBefore: Int64, notAfter: Int64
    ) {
        self.der = der
        self.publicKey = publicKey
        self.subject = subject
        self.issuer = issuer
        self.subjectAlternativeNames = subjectAlternativeNames
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// Compares the DER bytes.
    public static func == (a: Certificate, b: Certificate) -> Bool { a.der == b.der }

    /// Hashes the DER bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension Certificate: CustomStringConvertible {
    /// Subject and issuer.
    public var description: String { "\(subject), signed by \(issuer)" }
}

/// A certificate's public key, or only its hash.
///
/// Keys are equal if their hashes are equal.
public struct PublicKey: Sendable, Hashable {
    /// The error of a pin that is not the base64 form of a SHA-256 hash.
    public struct InvalidPin: Error, Sendable, Equatable, CustomStringConvertible {
        /// The invalid text.
        public let pin: String

        /// The invalid text and the expected form.
        public var description: String {
            "pin \(String(reflecting: pin)): not the base64 form of 32 bytes, as in "
                + "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        }
    }

    /// The key with its algorithm (SubjectPublicKeyInfo, RFC 5280 §4.1.2.7) as DER; `nil` if only
    /// the hash is known.
    public let der: Data?
    /// The SHA-256 hash of ``der``, 32 bytes.
    public let sha256: Data

    /// Makes a key from its DER form and its hash, which are not checked.
    ///
    /// - Parameters:
    ///   - der: The SubjectPublicKeyInfo as DER.
    ///   - sha256: The SHA-256 hash of `der`, 32 bytes.
    public init(der: Data, sha256: Data) {
        self.der = der
        self.sha256 = sha256
    }

    /// Makes a key from its hash (RFC 7469 §2.4); ``der`` is `nil`.
    ///
    /// - Parameter pin: The SHA-256 hash in base64, optionally prefixed with `sha256/` or
    ///   `sha256//`.
    /// - Throws: ``InvalidPin`` if the text is not the base64 form of 32 bytes.
    public init(pin: String) throws(InvalidPin) {
        var text = pin[...]
        // The hash itself may begin with a slash; it is 44 characters long.
        for prefix in ["sha256/", "/"]
        where text.utf8.count > 44 && text.startsWithBytes(of: prefix) {
            text = text.droppingBytes(prefix.utf8.count)
        }
        guard let hash = Data(base64Encoded: String(text)), hash.count == 32 else {
            throw InvalidPin(pin: pin)
        }
        der = nil
        sha256 = hash
    }

    /// Compares the hashes.
    public static func == (a: PublicKey, b: PublicKey) -> Bool { a.sha256 == b.sha256 }

    /// Hashes ``sha256``.
    public func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}

extension PublicKey: CustomStringConvertible {
    /// The key as a pin: `sha256/` and the hash in base64.
    public var description: String { "sha256/\(sha256.base64EncodedString())" }
}

extension Sequence where Element == Certificate {
    /// The DER forms of the certificates.
    public var data: [Data] { map(\.der) }
    /// The public keys of the certificates.
    public var publicKeys: [PublicKey] { map(\.publicKey) }
}
