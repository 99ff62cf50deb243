public import FoundationEssentials
import OutletHTTP

/// A certificate (RFC 5280), as somebody who can read one has read it.
///
/// Two are equal when their bytes are.
public struct Certificate: Sendable, Hashable {
    /// The certificate itself, DER.
    public let der: Data
    /// Its public key.
    public let publicKey: PublicKey
    /// Whom it is for, as in `CN=example.org,O=Example` (RFC 2253).
    public let subject: String
    /// Who signed it.
    public let issuer: String
    /// The hosts it is for: DNS names as written, IP addresses in their usual form.
    public let subjectAlternativeNames: [String]
    /// Its first second, in seconds since 1970.
    public let notBefore: Int64
    /// Its last second, in seconds since 1970.
    public let notAfter: Int64

    /// Makes a value of what was read; nothing is checked.
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

    /// The same bytes.
    public static func == (a: Certificate, b: Certificate) -> Bool { a.der == b.der }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension Certificate: CustomStringConvertible {
    /// Subject and issuer.
    public var description: String { "\(subject), signed by \(issuer)" }
}

/// A certificate's public key, or what is known of one: its hash.
///
/// Two are equal when their hashes are.
public struct PublicKey: Sendable, Hashable {
    /// A text that is no hash of a public key.
    public struct InvalidPin: Error, Sendable, Equatable, CustomStringConvertible {
        /// The text.
        public let pin: String

        /// The text, and what it should be.
        public var description: String {
            "pin \(String(reflecting: pin)): not the base64 form of 32 bytes, as in "
                + "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        }
    }

    /// The key with its algorithm (SubjectPublicKeyInfo, RFC 5280 §4.1.2.7), DER; `nil` where only
    /// the hash is known.
    public let der: Data?
    /// The SHA-256 of the key with its algorithm, 32 bytes.
    public let sha256: Data

    /// Makes a value of what was read; nothing is checked.
    public init(der: Data, sha256: Data) {
        self.der = der
        self.sha256 = sha256
    }

    /// Takes a key's hash for the key (RFC 7469 §2.4).
    ///
    /// - Parameter pin: The SHA-256 in base64, with or without `sha256/` or `sha256//` before it.
    public init(pin: String) throws(InvalidPin) {
        var text = pin[...]
        // The hash may begin with a slash of its own: its length, 44, tells whose slash it is.
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

    /// The same hash.
    public static func == (a: PublicKey, b: PublicKey) -> Bool { a.sha256 == b.sha256 }

    /// Hashes the hash.
    public func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}

extension PublicKey: CustomStringConvertible {
    /// The key as a pin: `sha256/` and the hash in base64.
    public var description: String { "sha256/\(sha256.base64EncodedString())" }
}

extension Sequence where Element == Certificate {
    /// The certificates' bytes, DER.
    public var data: [Data] { map(\.der) }
    /// The certificates' public keys.
    public var publicKeys: [PublicKey] { map(\.publicKey) }
}
