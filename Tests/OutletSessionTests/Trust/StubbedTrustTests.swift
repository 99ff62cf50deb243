import FoundationEssentials
import OutletHTTP
import OutletTesting
import OutletTestSupport
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests server trust managers with a stub transport.
@Suite struct StubbedTrustTests {
    private struct Evaluator: ServerTrustEvaluating {
        let trusts: Bool

        func evaluate(_ trust: ServerTrust, forHost host: String) throws {
            if !trusts { throw Refused() }
        }
    }

    private func session(_ evaluators: [String: any ServerTrustEvaluating]) -> Session {
        let verifier = DisagreeingVerifier()
        return Session(
            transport: StubTransport { job in
                var answer = StubAnswer.text("x")
                answer.serverTrust = ServerTrust(
                    host: job.request.url?.host() ?? "", port: 443, sentCertificates: [],
                    verifier: verifier)
                return answer
            }, serverTrustManager: ServerTrustManager(evaluators: evaluators))
    }

    @Test func `an evaluator decides independently of the verifier`() async {
        let session = session([
            "good.test": Evaluator(trusts: true), "bad.test": Evaluator(trusts: false),
        ])
        let good = await session.request("https://good.test/").serializingData().response
        #expect(good.error == nil)
        let bad = await session.request("https://bad.test/").serializingData().response
        #expect(bad.error?.isServerTrustEvaluationError == true)
        #expect(bad.error?.underlyingError is Refused)
        let other = await session.request("https://other.test/").serializingData().response
        guard
            case .serverTrustEvaluationFailed(.noRequiredEvaluator(host: "other.test")) =
                other.error
        else {
            Issue.record("\(String(describing: other.error))")
            return
        }
        let plain = await session.request("http://other.test/").serializingData().response
        #expect(plain.error == nil)
    }

    @Test func `a retrier is called for a server that is not trusted`() async {
        let session = session(["bad.test": Evaluator(trusts: false)])
        let errors = Lock<[String]>([])
        let retrier = Retrier { _, _, error, completion in
            errors.withLock { $0.append("\(error)") }
            completion(.doNotRetry)
        }
        _ = await session.request("https://bad.test/", interceptor: retrier).serializingData()
            .response
        #expect(errors.withLock { $0 }.first?.hasPrefix("Server trust evaluation failed") == true)
    }
}

private struct DisagreeingVerifier: TrustVerifier {
    func verify(_ chain: [Certificate], anchors: [Certificate]?) -> ChainVerdict {
        ChainVerdict(path: [], fault: TrustFault(code: 1, reason: "no"))
    }

    func isCertificate(_ certificate: Certificate, for host: String) -> Bool { false }

    func revocationStatus(
        of chain: [Certificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus { .unknown }
}
