public import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTLS
public import OutletTransport

extension OutletTransport.Certificate {
    /// Why no certificates can be had from a place.
    public struct LoadingError: Error, Sendable, Equatable, CustomStringConvertible {
        /// The file or directory; empty for bytes in memory.
        public let path: String
        /// What is wrong with it.
        public let reason: String

        /// The place, and what is wrong with it.
        public var description: String {
            path.isEmpty ? "certificate: \(reason)" : "\(path): \(reason)"
        }
    }

    /// Reads a certificate, or the first of several, in DER or PEM.
    ///
    /// - Throws: ``LoadingError`` when there is none.
    public init(_ bytes: Data) throws(LoadingError) {
        guard let first = Self.parse(bytes).first else {
            throw LoadingError(path: "", reason: "\(bytes.count) bytes: neither DER nor PEM")
        }
        self = first
    }

    /// Reads all certificates of a file, in DER or PEM, or of the files of a directory that end in
    /// `.cer`, `.crt`, `.der` or `.pem`, by name.
    ///
    /// - Throws: ``LoadingError`` when it cannot be read, or a file holds no certificate.
    public static func load(_ path: String) throws(LoadingError) -> [OutletTransport.Certificate] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw LoadingError(path: path, reason: String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return try loadFile(path) }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw LoadingError(path: path, reason: "\(error)")
        }
        var found: [OutletTransport.Certificate] = []
        for name in names.sorted() where Self.isCertificateName(name) {
            found += try loadFile(path + "/" + name)
        }
        return found
    }

    private static func isCertificateName(_ name: String) -> Bool {
        let name = name.lowercasedASCII
        return [".cer", ".crt", ".der", ".pem"].contains { name.endsWithBytes(of: $0) }
    }

    private static func loadFile(
        _ path: String
    ) throws(LoadingError) -> [OutletTransport.Certificate] {
        let bytes: Data
        do {
            bytes = try Data(contentOf: URL(filePath: path))
        } catch {
            throw LoadingError(path: path, reason: "cannot be read: \(error)")
        }
        let found = parse(bytes)
        guard !found.isEmpty else {
            throw LoadingError(path: path, reason: "holds no certificate, neither DER nor PEM")
        }
        return found
    }

    private static func parse(_ bytes: Data) -> [OutletTransport.Certificate] {
        let bytes = Array(bytes)
        let pem = OutletTLS.Certificate.certificates(pem: bytes)
        let found = pem.isEmpty ? [OutletTLS.Certificate(der: bytes)].compactMap(\.self) : pem
        return found.map { OutletTransport.Certificate($0) }
    }

    /// Copies what was read.
    init(_ parsed: OutletTLS.Certificate) {
        self.init(
            der: Data(parsed.der),
            publicKey: PublicKey(der: Data(parsed.publicKey), sha256: Data(parsed.publicKeySHA256)),
            subject: parsed.subject, issuer: parsed.issuer,
            subjectAlternativeNames: parsed.subjectAlternativeNames, notBefore: parsed.notBefore,
            notAfter: parsed.notAfter)
    }
}
