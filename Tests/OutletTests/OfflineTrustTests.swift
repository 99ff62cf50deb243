import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Evaluators before certificates at hand, without a server.
@Suite struct OfflineTrustTests {
    private func certificates(_ path: String) throws -> [Certificate] { try Certificate.load(path) }

    private func isTrusted(_ evaluator: any ServerTrustEvaluating, _ trust: ServerTrust) -> Bool {
        (try? evaluator.evaluate(trust, forHost: "localhost")) != nil
    }

    @Test func `certificates are judged by the authorities that are given`() async throws {
        let authority = try await TestCA.shared()
        let anchors = try certificates(authority.certificatePath)
        let sent = try certificates(try await authority.server().certificatePath)
        let good = ServerTrust(host: "localhost", sentCertificates: sent, anchors: anchors)
        #expect(good.chainFault == nil && good.certificates.last == anchors.last)
        #expect(isTrusted(.pinnedCertificates(certificates: anchors), good))
        #expect(isTrusted(.publicKeys(keys: sent.publicKeys), good))
        #expect(isTrusted(DefaultTrustEvaluator(), good))
        // The system does not know the authority of tests.
        let unknown = ServerTrust(host: "localhost", sentCertificates: sent)
        #expect(!isTrusted(DefaultTrustEvaluator(), unknown))
        #expect(
            isTrusted(
                .pinnedCertificates(certificates: sent, acceptSelfSignedCertificates: true),
                unknown))
        let nobody = ServerTrust(host: "localhost", sentCertificates: sent, anchors: [])
        #expect(nobody.chainFault != nil)
    }

    @Test(arguments: [TestCA.Fault.expired, .wrongHost])
    func `what is wrong with certificates is found`(fault: TestCA.Fault) async throws {
        let authority = try await TestCA.shared()
        let trust = ServerTrust(
            host: "localhost",
            sentCertificates: try certificates(try await authority.server(fault).certificatePath),
            anchors: try certificates(authority.certificatePath))
        #expect(!isTrusted(DefaultTrustEvaluator(), trust))
        #expect(
            isTrusted(DefaultTrustEvaluator(validateHost: false), trust) == (fault == .wrongHost))
    }
}
