import FoundationEssentials
import OutletTLS
import OutletTestSupport
import Testing

@Suite struct `A certificate` {
    private func readFile(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    @Test func `a certificate contains subject, issuer, host names and dates`() async throws {
        let authority = try await TestCA.shared()
        let server = try await authority.server()
        let certificates = try #require(
            Certificate.certificates(pem: try readFile(server.certificatePath)))
        let certificate = try #require(certificates.first)
        #expect(certificates.count == 1)
        #expect(certificate.subject == "CN=localhost,O=Outlet")
        #expect(certificate.issuer == "CN=Outlet Test CA,O=Outlet")
        #expect(certificate.subjectAlternativeNames == ["localhost", "127.0.0.1"])
        #expect(certificate.notAfter - certificate.notBefore == 2 * 86_400)
        #expect(Certificate(der: certificate.der) == certificate)
    }

    @Test func `publicKeySHA256 equals the hash from openssl`() async throws {
        let server = try await TestCA.shared().server()
        let certificate = try #require(
            Certificate.certificates(pem: try readFile(server.certificatePath))?.first)
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c",
                "openssl x509 -in \(server.certificatePath) -pubkey -noout"
                    + " | openssl pkey -pubin -outform DER | openssl dgst -sha256 -r",
            ])
        let hex = certificate.publicKeySHA256.map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        #expect(result.output.hasPrefix(hex))
        #expect(hex.count == 64)
    }

    @Test func `invalid bytes are not a certificate`() {
        #expect(Certificate(der: []) == nil)
        #expect(Certificate(der: Array("not a certificate".utf8)) == nil)
        #expect(Certificate.certificates(pem: Array("nor this".utf8))?.isEmpty == true)
    }

    @Test func `a text with a damaged certificate is refused as a whole`() async throws {
        let server = try await TestCA.shared().server()
        let text = String(decoding: try readFile(server.certificatePath), as: UTF8.self)
        #expect(Certificate.certificates(pem: Array((text + "\n" + text).utf8))?.count == 2)
        for damaged in [
            String(text.dropLast(40)), String(text.dropFirst()),
            text.replacing("\nMI", with: "\n*I"),
        ] {
            #expect(Certificate.certificates(pem: Array((text + damaged).utf8)) == nil)
        }
        let der = try #require(Certificate.certificates(pem: Array(text.utf8))?.first?.der)
        #expect(Certificate(der: der + [0]) == nil)
    }

    @Test func `the description of an expired certificate contains its dates`() async throws {
        let server = try await TestCA.shared().server(.expired)
        let certificate = try #require(
            Certificate.certificates(pem: try readFile(server.certificatePath))?.first)
        #expect(
            certificate.description.hasSuffix(
                "valid 2020-01-01 00:00 UTC to 2020-01-31 00:00 UTC"))
    }
}
