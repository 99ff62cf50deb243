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
            let read = verifier.read(lists)
            #expect(read?.isEmpty == lists.isEmpty)
            #expect(isSame(verifier.read(lists), read))
        }
        #expect(!isSame(verifier.read([file]), verifier.read([memory])))
        #expect(!isSame(verifier.read([file, memory]), verifier.read([memory, file])))
    }

    @Test func `a list is read again when its file has changed`() throws {
        let file = try list()
        let read = verifier.read([file])
        try bytes.write(to: URL(filePath: directory.path("next")))
        #expect(rename(directory.path("next"), directory.path("list")) == 0)
        let again = verifier.read([file])
        #expect(again != nil && !isSame(again, read))
        #expect(isSame(verifier.read([file]), again))
        // The same file, overwritten in place.
        #expect(file.bytes == bytes)
        try (bytes + bytes).write(to: URL(filePath: directory.path("list")))
        #expect(file.bytes == bytes + bytes)
        #expect(!isSame(verifier.read([file]), again))
    }

    @Test func `a list is released after 16 other lists were used`() throws {
        let file = try list()
        weak var first: RevocationLists?
        first = verifier.read([file])
        #expect(first != nil)
        for _ in 0..<16 { _ = verifier.read([RevocationList(bytes: bytes)]) }
        #expect(first == nil)
    }

    @Test func `an invalid list is an error each time`() throws {
        let list = RevocationList(bytes: Data("no list".utf8))
        #expect(verifier.read([list]) == nil)
        #expect(verifier.read([list]) == nil)
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
