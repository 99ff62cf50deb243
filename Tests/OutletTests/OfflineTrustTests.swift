import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Evaluators with certificates from files, without a server.
@Suite struct OfflineTrustTests {
    private func certificates(_ path: String) throws -> [Certificate] { try Certificate.load(path) }

    private func isTrusted(_ evaluator: any ServerTrustEvaluating, _ trust: ServerTrust) -> Bool {
        (try? evaluator.evaluate(trust, forHost: "localhost")) != nil
    }

    @Test func `certificates are verified with the given authorities`() async throws {
        let authority = try await TestCA.shared()
        let anchors = try certificates(authority.certificatePath)
        let sent = try certificates(try await authority.server().certificatePath)
        let good = ServerTrust(host: "localhost", sentCertificates: sent, anchors: anchors)
        #expect(good.chainFault == nil && good.certificates.last == anchors.last)
        #expect(isTrusted(.pinnedCertificates(certificates: anchors), good))
        #expect(isTrusted(.publicKeys(keys: sent.publicKeys), good))
        #expect(isTrusted(DefaultTrustEvaluator(), good))
        // The system does not trust the test authority.
        let unknown = ServerTrust(host: "localhost", sentCertificates: sent)
        #expect(!isTrusted(DefaultTrustEvaluator(), unknown))
        #expect(
            isTrusted(
                .pinnedCertificates(certificates: sent, acceptSelfSignedCertificates: true),
                unknown))
        let untrusted = ServerTrust(host: "localhost", sentCertificates: sent, anchors: [])
        #expect(untrusted.chainFault != nil)
    }

    @Test(arguments: [TestCA.Fault.expired, .wrongHost])
    func `an expired certificate and a wrong host name are refused`(fault: TestCA.Fault)
        async throws
    {
        let authority = try await TestCA.shared()
        let trust = ServerTrust(
            host: "localhost",
            sentCertificates: try certificates(try await authority.server(fault).certificatePath),
            anchors: try certificates(authority.certificatePath))
        #expect(!isTrusted(DefaultTrustEvaluator(), trust))
        #expect(
            isTrusted(DefaultTrustEvaluator(validateHost: false), trust) == (fault == .wrongHost))
    }

    /// The trust of a server's certificates, with one authority as anchor.
    private func trust(
        _ authority: TestCA, _ path: String, staple: String? = nil
    ) throws -> ServerTrust {
        ServerTrust(
            host: "localhost", sentCertificates: try certificates(path),
            anchors: try certificates(authority.certificatePath),
            ocspResponse: try staple.map { try Data(contentsOf: URL(filePath: $0)) })
    }

    @Test(arguments: [
        ("DNS:127.0.0.1", "127.0.0.1", false), ("DNS:127.0.0.1, IP:127.0.0.1", "127.0.0.1", true),
        ("DNS:*.a.test", "www.a.test", true), ("DNS:w*.a.test", "www.a.test", false),
        ("DNS:*.a.test", "www.b.a.test", false),
    ])
    func `a DNS name does not match an IP address, and a wildcard matches one label`(
        names: String, host: String, isFor: Bool
    ) async throws {
        let authority = try await TestCA.shared()
        let shown = try trust(authority, try await authority.server(names: names).certificatePath)
        #expect(shown.chainFault == nil)
        let fault = shown.hostFault(for: host)
        #expect((fault == nil) == isFor)
        guard names == "DNS:127.0.0.1" else { return }
        #expect(
            fault?.reason
                == "the server's certificate has 127.0.0.1 as a DNS name, not as an IP address")
    }

    @Test func `a client certificate is refused as a server certificate`() async throws {
        let authority = try await TestCA.shared()
        let shown = try trust(authority, try await authority.client().certificatePath)
        #expect(shown.chainFault?.reason.contains("purpose") == true)
    }

    @Test func `a revocation list for the intermediate authority is checked`() async throws {
        let authority = try await TestCA()
        let chain = try await authority.chain()
        let list = try await authority.revocationList(of: chain.intermediate)
        let shown = try trust(authority, chain.server.certificatePath)
        #expect(isTrusted(DefaultTrustEvaluator(), shown))
        let lists = [try RevocationList(path: list)]
        #expect(!isTrusted(.revocationChecking(options: .crl, revocationLists: lists), shown))
        withExtendedLifetime(authority) {}
    }

    @Test func `revocation lists and stapled responses are used according to the options`()
        async throws
    {
        let authority = try await TestCA()
        let revocation = try await authority.revocation()
        func isTrusted(
            _ identity: TestCA.Identity, _ list: String, staple: String? = nil,
            _ options: RevocationTrustEvaluator.Options
        ) throws -> Bool {
            let evaluator = RevocationTrustEvaluator(
                options: options, revocationLists: [try RevocationList(path: list)])
            return self.isTrusted(
                evaluator, try trust(authority, identity.certificatePath, staple: staple))
        }
        let (good, revoked) = (revocation.good, revocation.revoked)
        let staple = revocation.revokedStaplePath
        #expect(try !isTrusted(revoked, revocation.listPath, .crl))
        #expect(try isTrusted(revoked, revocation.listPath, .ocsp))
        #expect(try !isTrusted(revoked, revocation.formerListPath, staple: staple, .ocsp))
        #expect(try isTrusted(revoked, revocation.formerListPath, staple: staple, .crl))
        // A list of the issuer is a positive response, and a list of another authority is not.
        #expect(try isTrusted(good, revocation.listPath, [.any, .requirePositiveResponse]))
        let other = try await authority.revocationList(by: authority.chain().intermediate)
        #expect(try !isTrusted(good, other, [.any, .requirePositiveResponse]))
        #expect(try isTrusted(good, other, .any))
        withExtendedLifetime(authority) {}
    }

    @Test func `a stapled response with a foreign signature is refused`() async throws {
        let authority = try await TestCA()
        let good = try await authority.revocation().good
        let evaluator = RevocationTrustEvaluator(options: .ocsp)
        let own = try await authority.staple(good)
        #expect(isTrusted(evaluator, try trust(authority, good.certificatePath, staple: own)))
        let strange = try await authority.staple(good, signedBy: TestCA())
        #expect(!isTrusted(evaluator, try trust(authority, good.certificatePath, staple: strange)))
        withExtendedLifetime(authority) {}
    }

    /// The error of an evaluator that checks stapled responses; `nil` if it trusts the server.
    private func refusal(_ trust: ServerTrust) -> String? {
        do {
            try RevocationTrustEvaluator(options: .ocsp).evaluate(trust, forHost: "localhost")
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `a stapled response with an error status is refused`()
        async throws
    {
        let authority = try await TestCA()
        let good = try await authority.revocation().good
        var bytes = try Data(contentsOf: URL(filePath: try await authority.staple(good)))
        // The status is the sequence's first member, behind a length of two or three bytes.
        let status = try #require(bytes.firstRange(of: [0x0A, 0x01, 0x00])).lowerBound + 2
        #expect(status < 8)
        bytes[status] = 3
        let shown = ServerTrust(
            host: "localhost", sentCertificates: try certificates(good.certificatePath),
            anchors: try certificates(authority.certificatePath), ocspResponse: bytes)
        #expect(refusal(shown)?.contains("the responder says trylater") == true)
        withExtendedLifetime(authority) {}
    }

    @Test func `a stapled response for an unknown certificate is refused`() async throws {
        let authority = try await TestCA()
        // Issued without an entry in the authority's records.
        let server = try await authority.server()
        let staple = try await authority.staple(server)
        let shown = try trust(authority, server.certificatePath, staple: staple)
        #expect(shown.chainFault == nil)
        #expect(
            refusal(shown)?.contains("the responder does not know the certificate") == true)
        withExtendedLifetime(authority) {}
    }

    @Test func `a pin verifies the host name or the server's own certificate`() async throws {
        let authority = try await TestCA.shared()
        let anchors = try certificates(authority.certificatePath)
        let right = try trust(authority, try await authority.server().certificatePath)
        let wrong = try trust(authority, try await authority.server(.wrongHost).certificatePath)
        func verifies(_ evaluator: any ServerTrustEvaluating, _ trust: ServerTrust) -> Bool {
            evaluator.verifies(trust, forHost: "localhost")
        }
        for pins in [anchors, wrong.sentCertificates] {
            let isOwn = pins == wrong.sentCertificates
            for evaluator in [
                .pinnedCertificates(certificates: pins, validateHost: false),
                .publicKeys(keys: pins.publicKeys, validateHost: false),
            ] as [any ServerTrustEvaluating] {
                #expect(verifies(evaluator, right))
                #expect(verifies(evaluator, wrong) == isOwn)
            }
        }
        // One evaluator that verifies is enough.
        let composite = CompositeTrustEvaluator(evaluators: [
            DisabledTrustEvaluator(), DefaultTrustEvaluator(),
        ])
        #expect(verifies(composite, right) && !verifies(composite, wrong))
    }
}
