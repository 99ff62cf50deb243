public import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTLS
public import OutletTransport

extension OutletTransport.Certificate {
    /// Why certificates could not be loaded.
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

    /// Parses a certificate in DER or PEM.
    ///
    /// - Parameter bytes: One DER certificate, or PEM text, of which the first certificate is used.
    /// - Throws: ``LoadingError`` if there is no certificate, or a part of the PEM text is damaged.
    public init(_ bytes: Data) throws(LoadingError) {
        guard let first = try Self.parse(bytes, path: "").first else {
            throw LoadingError(path: "", reason: "\(bytes.count) bytes: neither DER nor PEM")
        }
        self = first
    }

    /// Loads all certificates of a file or of a directory.
    ///
    /// - Parameter path: A file in DER or PEM, or a directory. Of a directory, the files that end
    ///   in `.cer`, `.crt`, `.der` or `.pem` are read in the order of their names.
    /// - Returns: The certificates; none if the directory has no such files.
    /// - Throws: ``LoadingError`` if the file or directory cannot be read, or a file contains no
    ///   certificate or a damaged one.
    public static func load(_ path: String) throws(LoadingError) -> [OutletTransport.Certificate] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw LoadingError(path: path, reason: systemText(errno))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return try loadFile(path) }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw LoadingError(path: path, reason: error.fileReason)
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
            throw LoadingError(path: path, reason: "cannot be read: \(error.fileReason)")
        }
        let found = try parse(bytes, path: path)
        guard !found.isEmpty else {
            throw LoadingError(path: path, reason: "holds no certificate, neither DER nor PEM")
        }
        return found
    }

    private static func parse(
        _ bytes: Data, path: String
    ) throws(LoadingError) -> [OutletTransport.Certificate] {
        let bytes = Array(bytes)
        guard let pem = OutletTLS.Certificate.certificates(pem: bytes) else {
            throw LoadingError(
                path: path, reason: "one of its parts in PEM is damaged or incomplete")
        }
        let found = pem.isEmpty ? [OutletTLS.Certificate(der: bytes)].compactMap(\.self) : pem
        return found.map { OutletTransport.Certificate($0) }
    }

    /// Converts a parsed certificate.
    init(_ parsed: OutletTLS.Certificate) {
        self.init(
            der: Data(parsed.der),
            publicKey: PublicKey(der: Data(parsed.publicKey), sha256: Data(parsed.publicKeySHA256)),
            subject: parsed.subject, issuer: parsed.issuer,
            subjectAlternativeNames: parsed.subjectAlternativeNames, notBefore: parsed.notBefore,
            notAfter: parsed.notAfter)
    }
}
