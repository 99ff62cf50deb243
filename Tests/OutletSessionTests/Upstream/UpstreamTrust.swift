import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

typealias DisabledEvaluator = DisabledTrustEvaluator
typealias SecTrust = ServerTrust
typealias SecCertificate = Certificate
typealias SecKey = PublicKey

private final class WildcardManager: ServerTrustManager, @unchecked Sendable {
    override func serverTrustEvaluator(
        forHost host: String
    ) throws -> (any ServerTrustEvaluating)? {
        host.hasSuffix(".test") ? DisabledEvaluator() : nil
    }
}

private struct Refusing: ServerTrustEvaluating {
    func evaluate(_ trust: SecTrust, forHost host: String) throws { throw Refused() }
}

/// A verifier that accepts the chain as it was sent, or reports a fault.
private struct Verifier: TrustVerifier {
    var fault: TrustFault?
    var host = "example.test"
    var status = RevocationStatus.good

    func verify(_ chain: [SecCertificate], anchors: [SecCertificate]?) -> ChainVerdict {
        if let anchors, let root = chain.last, anchors.contains(root) {
            return ChainVerdict(path: chain, fault: nil)
        }
        return ChainVerdict(path: chain, fault: anchors == nil ? fault : .unknownAuthority)
    }

    func isCertificate(_ certificate: SecCertificate, for host: String) -> Bool {
        host == self.host
    }

    func revocationStatus(
        of chain: [SecCertificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus { status }
}

extension TrustFault {
    fileprivate static let unknownAuthority = TrustFault(code: 19, reason: "unknown authority")
}

/// Uses server trust with upstream's names.
@Suite struct UpstreamTrustTests {
    private func take(_ evaluator: any ServerTrustEvaluating) {}

    private func certificate(_ number: UInt8) -> SecCertificate {
        SecCertificate(
            der: Data([number]),
            publicKey: SecKey(der: Data([number]), sha256: Data(repeating: number, count: 32)),
            subject: "\(number)", issuer: "\(number + 1)", subjectAlternativeNames: [],
            notBefore: 0, notAfter: .max)
    }

    private func trust(_ verifier: Verifier = Verifier()) -> SecTrust {
        SecTrust(
            host: "example.test", port: 443,
            sentCertificates: [certificate(1), certificate(2), certificate(3)],
            verifier: verifier)
    }

    private func reason(
        _ evaluator: any ServerTrustEvaluating, _ trust: SecTrust
    ) -> AFError.ServerTrustFailureReason? {
        let result = Result { try evaluator.evaluate(trust, forHost: "example.test") }
        guard case .serverTrustEvaluationFailed(let reason)? = result.failure?.asAFError else {
            return nil
        }
        return reason
    }

    @Test func `initialisers, defaults and static members of evaluators have upstream names`() {
        take(DefaultTrustEvaluator())
        take(DefaultTrustEvaluator(validateHost: false))
        take(RevocationTrustEvaluator())
        take(
            RevocationTrustEvaluator(
                performDefaultValidation: false, validateHost: false, options: [.crl, .ocsp]))
        take(.revocationChecking)
        take(.revocationChecking())
        take(
            .revocationChecking(
                performDefaultValidation: true, validateHost: true,
                options: [.any, .requirePositiveResponse, .networkAccessDisabled, .preferCRL]))
        take(PinnedCertificatesTrustEvaluator())
        take(
            PinnedCertificatesTrustEvaluator(
                certificates: [certificate(1)], acceptSelfSignedCertificates: true,
                performDefaultValidation: true, validateHost: true))
        take(.pinnedCertificates)
        take(.pinnedCertificates(certificates: [certificate(1)]))
        take(.pinnedCertificates(acceptSelfSignedCertificates: true))
        take(PublicKeysTrustEvaluator())
        take(
            PublicKeysTrustEvaluator(
                keys: [certificate(1)].publicKeys, performDefaultValidation: false,
                validateHost: false))
        take(.publicKeys)
        take(.publicKeys(keys: [certificate(1).publicKey]))
        take(.publicKeys(performDefaultValidation: false))
        take(CompositeTrustEvaluator(evaluators: [DefaultTrustEvaluator(), DisabledEvaluator()]))
        take(.composite(evaluators: [.revocationChecking, .publicKeys]))
        #expect([certificate(1)].data == [Data([1])])
    }

    @Test func `a manager finds evaluators by host and refuses a host without one`() throws {
        let manager = ServerTrustManager(evaluators: [
            "one.test": DefaultTrustEvaluator(), "two.test": DisabledTrustEvaluator(),
        ])
        #expect(manager.allHostsMustBeEvaluated && manager.evaluators.count == 2)
        #expect(try manager.serverTrustEvaluator(forHost: "one.test") is DefaultTrustEvaluator)
        #expect(try manager.serverTrustEvaluator(forHost: "two.test") is DisabledTrustEvaluator)
        let missing = #expect(throws: AFError.self) {
            try manager.serverTrustEvaluator(forHost: "three.test")
        }
        guard case .serverTrustEvaluationFailed(.noRequiredEvaluator("three.test"))? = missing
        else {
            Issue.record("\(String(describing: missing))")
            return
        }
        let lenient = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(try lenient.serverTrustEvaluator(forHost: "one.test") == nil)
        let wild = WildcardManager(evaluators: [:])
        #expect(try wild.serverTrustEvaluator(forHost: "any.test") is DisabledEvaluator)
    }

    @Test func `evaluators without pins fail with the expected reasons`() {
        guard case .noCertificatesFound? = reason(.pinnedCertificates, trust()),
            case .noPublicKeysFound? = reason(.publicKeys, trust())
        else {
            Issue.record("something was found")
            return
        }
    }

    @Test func `each evaluator fails with its own reason`() throws {
        let expired = trust(Verifier(fault: TrustFault(code: 10, reason: "expired")))
        let foreign = trust(Verifier(host: "other.test"))
        let revoked = trust(
            Verifier(status: .refused(TrustFault(code: 23, reason: "taken back"))))
        let other = [certificate(9)]
        guard
            case .defaultEvaluationFailed(let output)? = reason(DefaultTrustEvaluator(), expired),
            case .hostValidationFailed? = reason(DefaultTrustEvaluator(), foreign),
            case .revocationCheckFailed(_, let options)? = reason(.revocationChecking, revoked),
            case .certificatePinningFailed(let host, _, let pinned, let shown)? =
                reason(.pinnedCertificates(certificates: other), trust()),
            case .publicKeyPinningFailed(_, _, let keys, let serverKeys)? =
                reason(.publicKeys(keys: other.publicKeys), trust())
        else {
            Issue.record("other reasons")
            return
        }
        #expect(output.host == "example.test" && options == .any)
        #expect(host == "example.test" && pinned == other && shown.count == 3)
        #expect(keys == other.publicKeys && serverKeys.count == 3)
        for number in UInt8(1)...3 {
            let pin = [certificate(number)]
            #expect(reason(.pinnedCertificates(certificates: pin), trust()) == nil)
            #expect(reason(.publicKeys(keys: pin.publicKeys), trust()) == nil)
            // A matching pin does not make up for an invalid chain, unless validation is disabled.
            #expect(reason(.pinnedCertificates(certificates: pin), expired) != nil)
            #expect(
                reason(
                    .pinnedCertificates(
                        certificates: pin, performDefaultValidation: false, validateHost: false),
                    expired) == nil)
            #expect(
                reason(
                    .publicKeys(
                        keys: pin.publicKeys, performDefaultValidation: false,
                        validateHost: false), expired) == nil)
        }
        #expect(reason(DefaultTrustEvaluator(validateHost: false), foreign) == nil)
        #expect(reason(DisabledEvaluator(), expired) == nil)
        #expect(
            reason(
                .pinnedCertificates(
                    certificates: [certificate(3)], acceptSelfSignedCertificates: true), expired)
                == nil)
        let composite = CompositeTrustEvaluator(evaluators: [
            DisabledEvaluator(), DefaultTrustEvaluator(),
        ])
        #expect(reason(composite, expired) != nil && reason(composite, trust()) == nil)
        try [DisabledEvaluator(), DefaultTrustEvaluator()].evaluate(
            trust(), forHost: "example.test")
    }

    @Test func `a refused server is the request's error and is reported as an early failure`()
        async throws
    {
        let early = Recorder<AFError>()
        let monitor = ClosureEventMonitor()
        monitor.requestDidFailTaskEarlyWithError = { _, _, error in early.record(error) }
        let session = Session(
            transport: StubTransport { _ in
                var answer = StubAnswer.text("x")
                answer.serverTrust = trust()
                return answer
            },
            serverTrustManager: ServerTrustManager(evaluators: ["example.test": Refusing()]),
            eventMonitors: [monitor])
        let response = await session.request("https://example.test/").serializingData().response
        #expect(response.error?.isServerTrustEvaluationError == true)
        #expect(response.error?.underlyingError is Refused)
        #expect(response.response == nil && response.data == nil)
        guard
            case .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: _))? =
                response.error
        else {
            Issue.record("\(response)")
            return
        }
        #expect(try await early.values(1)[0].isServerTrustEvaluationError)
    }
}
