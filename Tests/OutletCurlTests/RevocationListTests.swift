import FoundationEssentials
import Glibc
import OutletSession
import OutletTLS
import OutletTestSupport
import Testing

@testable import OutletCurl
import OutletTransport

@Suite struct `Revocation lists` {
    private let verifier = OpenSSLVerifier(.success(TrustStore()))
    private let directory: TemporaryDirectory
    private let bytes: Data

    init() async throws {
        directory = try TemporaryDirectory()
        let path = try await TrustServer.shared().revocation.listPath
        bytes = try Data(contentsOf: URL(filePath: path))
    }

    private func list(_ name: String = "list") throws -> RevocationList {
        try bytes.write(to: URL(filePath: directory.path(name)))
        return try RevocationList(path: directory.path(name))
    }

    private func isSame(_ a: RevocationLists?, _ b: RevocationLists?) -> Bool {
        a != nil && a === b
    }

    @Test func `lists with the same content are read once`() throws {
        let (file, memory) = (try list(), RevocationList(bytes: bytes))
        for lists in [[file], [memory], [file, memory], []] {
            let read = try verifier.read(lists)
            #expect(read.isEmpty == lists.isEmpty)
            #expect(isSame(try verifier.read(lists), read))
        }
        #expect(!isSame(try verifier.read([file]), try verifier.read([memory])))
        #expect(!isSame(try verifier.read([file, memory]), try verifier.read([memory, file])))
    }

    @Test func `a list is read again when its file has changed`() throws {
        let file = try list()
        let read = try verifier.read([file])
        try bytes.write(to: URL(filePath: directory.path("next")))
        #expect(rename(directory.path("next"), directory.path("list")) == 0)
        let again = try verifier.read([file])
        #expect(!isSame(again, read))
        #expect(isSame(try verifier.read([file]), again))
        // The same file, overwritten in place.
        #expect(file.bytes == bytes)
        try (bytes + bytes).write(to: URL(filePath: directory.path("list")))
        #expect(file.bytes == bytes + bytes)
        #expect(!isSame(try verifier.read([file]), again))
    }

    @Test func `a list is read again when its content has changed, but not its length and time`()
        throws
    {
        let path = directory.path("list")
        let file = try list()
        #expect(file.bytes == bytes)
        let other = Data(repeating: 0, count: bytes.count)
        let descriptor = open(path, O_WRONLY)
        defer { close(descriptor) }
        var (before, after) = (stat(), stat())
        #expect(fstat(descriptor, &before) == 0)
        // The kernel's clock for files moves on in steps of a few milliseconds.
        repeat {
            #expect(other.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) } > 0)
            #expect(futimens(descriptor, [before.st_atim, before.st_mtim]) == 0)
            #expect(fstat(descriptor, &after) == 0)
        } while after.st_ctim.tv_nsec == before.st_ctim.tv_nsec
        #expect(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
        #expect(file.bytes == other)
    }

    @Test func `a list is released after 16 other lists were used`() throws {
        let file = try list()
        weak var first: RevocationLists?
        first = try verifier.read([file])
        #expect(first != nil)
        for _ in 0..<16 { _ = try verifier.read([RevocationList(bytes: bytes)]) }
        #expect(first == nil)
    }

    @Test func `an invalid list is an error each time`() throws {
        let list = RevocationList(bytes: Data("no list".utf8))
        for _ in 0..<2 {
            let fault = #expect(throws: RevocationLists.Fault.self) { try verifier.read([list]) }
            #expect(fault?.description == "one of the revocation lists is neither DER nor PEM")
        }
    }

    /// Changes of a text with two lists, each of which damages the second one.
    enum Damage: CaseIterable {
        case truncated, firstLine, lastLine, content, label

        func apply(to text: String) -> String {
            let half = text.utf8.count / 2
            let (first, second) = (String(text.prefix(half)), String(text.suffix(half)))
            let damaged =
                switch self {
                case .truncated: String(second.prefix(200))
                case .firstLine: String(second.dropFirst())
                case .lastLine: String(second.dropLast(4))
                case .content: second.replacing("\nMI", with: "\n*I")
                case .label: second.replacing("END X509 CRL", with: "END X509 CRX")
                }
            return first + damaged
        }
    }

    @Test(arguments: Damage.allCases)
    func `a text with a damaged list is refused as a whole`(damage: Damage) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(try !verifier.read([RevocationList(bytes: Data((text + text).utf8))]).isEmpty)
        // Text between the lists is allowed.
        #expect(
            try !verifier.read([RevocationList(bytes: Data((text + "next:\n" + text).utf8))])
                .isEmpty)
        let damaged = RevocationList(bytes: Data(damage.apply(to: text + text).utf8))
        let fault = #expect(throws: RevocationLists.Fault.self) { try verifier.read([damaged]) }
        #expect(fault?.description == "one of the revocation lists is damaged or incomplete")
    }

    /// Returns the list in DER.
    private func der() throws -> Data {
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return try #require(Data(base64Encoded: lines.joined()))
    }

    @Test func `bytes behind a list in DER are an error`() throws {
        let der = try der()
        #expect(try !verifier.read([RevocationList(bytes: der)]).isEmpty)
        for more in [Data([0]), der] {
            let list = RevocationList(bytes: der + more)
            let fault = #expect(throws: RevocationLists.Fault.self) { try verifier.read([list]) }
            #expect(fault?.description == "one of the revocation lists is followed by other bytes")
        }
    }

    @Test(arguments: ["onlysomereasons = keyCompromise", "indirectCRL = TRUE"])
    func `a list that OpenSSL would ignore is an error`(scope: String) async throws {
        let path = try await TestCA.shared().revocationList(limitedTo: scope)
        let list = try RevocationList(path: path)
        let fault = #expect(throws: RevocationLists.Fault.self) { try verifier.read([list]) }
        #expect(fault?.description.contains("not supported") == true)
        let whole = try await TestCA.shared().revocationList(limitedTo: "onlyuser = TRUE")
        #expect(try !verifier.read([RevocationList(path: whole)]).isEmpty)
    }

    @Test func `without authorities no certificate is trusted, and its status is unknown`()
        async throws
    {
        let error = TransferError(code: .secureConnectionFailed, reason: "none found")
        let verifier = OpenSSLVerifier(.failure(error))
        let chain = try OutletTransport.Certificate.load(
            try await TrustServer.shared().revocation.good.certificatePath)
        #expect(
            verifier.verify(chain, anchors: nil, 2).fault?.reason.contains("none found") == true)
        let status = verifier.revocationStatus(
            of: chain, ocspResponse: nil, lists: [RevocationList(bytes: bytes)], 2)
        #expect(status == .unknown)
    }
}
