import FoundationEssentials
import Testing

@testable import OutletSession
@testable import OutletTransport

@Suite struct ServerTrustManagerTests {
    private struct Named: ServerTrustEvaluating {
        let name: String
        func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
    }

    private func manager(_ keys: String...) -> ServerTrustManager {
        ServerTrustManager(
            allHostsMustBeEvaluated: false,
            evaluators: Dictionary(uniqueKeysWithValues: keys.map { ($0, Named(name: $0)) }))
    }

    private func name(_ manager: ServerTrustManager, _ host: String, _ port: Int = 443) -> String? {
        (try? manager.serverTrustEvaluator(forHost: host, port: port) as? Named)?.name
    }

    @Test func `an exact host matches in any case and with a trailing dot`() {
        let manager = manager("Example.com")
        #expect(name(manager, "example.com") == "Example.com")
        #expect(name(manager, "EXAMPLE.COM.") == "Example.com")
        #expect(name(manager, "www.example.com") == nil)
        #expect(name(manager, "example.com.evil.test") == nil)
    }

    @Test func `one star matches one label, and two stars match any number`() {
        let manager = manager("*.example.com", "**.example.org", "**.deep.example.org")
        #expect(name(manager, "api.example.com") == "*.example.com")
        #expect(name(manager, "a.b.example.com") == nil)
        #expect(name(manager, "example.com") == nil)
        #expect(name(manager, "a.b.example.org") == "**.example.org")
        #expect(name(manager, "a.b.deep.example.org") == "**.deep.example.org")
        #expect(name(manager, "example.org") == nil)
    }

    @Test func `the most specific key is used`() {
        let manager = manager(
            "**.example.com", "*.example.com", "api.example.com", "api.example.com:8443")
        #expect(name(manager, "api.example.com", 8443) == "api.example.com:8443")
        #expect(name(manager, "api.example.com") == "api.example.com")
        #expect(name(manager, "web.example.com", 8443) == "*.example.com")
        #expect(name(manager, "a.web.example.com") == "**.example.com")
    }

    @Test func `IP addresses can be keys`() {
        let manager = manager("127.0.0.1", "::1", "[::2]:8443")
        #expect(name(manager, "127.0.0.1") == "127.0.0.1")
        #expect(name(manager, "::1") == "::1")
        #expect(name(manager, "::2", 8443) == "[::2]:8443")
        #expect(name(manager, "::2") == nil)
    }

    @Test func `a host without an evaluator is an error if all hosts must be evaluated`() throws {
        let strict = ServerTrustManager(evaluators: ["a.test": DisabledTrustEvaluator()])
        #expect(strict.allHostsMustBeEvaluated)
        #expect(try strict.serverTrustEvaluator(forHost: "a.test") is DisabledTrustEvaluator)
        let error = #expect(throws: SessionError.self) {
            try strict.serverTrustEvaluator(forHost: "b.test")
        }
        guard case .serverTrustEvaluationFailed(.noRequiredEvaluator(host: "b.test")) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.isServerTrustEvaluationError == true)
        let lenient = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(try lenient.serverTrustEvaluator(forHost: "b.test") == nil)
    }

    @Test func `a subclass can choose the evaluator`() throws {
        final class Everywhere: ServerTrustManager, @unchecked Sendable {
            override func serverTrustEvaluator(
                forHost host: String
            ) throws -> (any ServerTrustEvaluating)? { Named(name: "mine for \(host)") }
        }
        #expect(name(Everywhere(evaluators: [:]), "a.test", 8443) == "mine for a.test")
    }

    // MARK: Policies

    private func number(
        _ manager: ServerTrustManager, _ host: String = "a.test", _ port: Int = 443
    ) -> UInt64? { manager.policy(forHost: host, port: port)?.number }

    private static func pin(_ byte: UInt8) throws -> PublicKey {
        PublicKey(der: Data(), sha256: Data(repeating: byte, count: 32))
    }

    /// Creates new evaluators at each call, all different from each other.
    private static func evaluators() throws -> [any ServerTrustEvaluating] {
        let list = RevocationList(bytes: Data("list".utf8))
        return try [
            DefaultTrustEvaluator(), DefaultTrustEvaluator(validateHost: false),
            DisabledTrustEvaluator(), .publicKeys(keys: [pin(1)]), .publicKeys(keys: [pin(2)]),
            .publicKeys(keys: [pin(1)], validateHost: false), .pinnedCertificates,
            .revocationChecking, .revocationChecking(options: .ocsp),
            .revocationChecking(revocationLists: [list]),
            .composite(evaluators: [DefaultTrustEvaluator(), .publicKeys(keys: [pin(1)])]),
            .composite(evaluators: [DefaultTrustEvaluator(), .publicKeys(keys: [pin(2)])]),
        ]
    }

    @Test func `equal evaluators have the same policy, and different ones do not`() throws {
        let managers = try (0..<2).map { _ in
            try Self.evaluators().map { ServerTrustManager(evaluators: ["a.test": $0]) }
        }
        let numbers = managers[0].map { number($0) }
        #expect(numbers == managers[1].map { number($0) })
        #expect(Set(numbers).count == numbers.count)
        #expect(!numbers.contains(nil) && !numbers.contains(0))
    }

    @Test func `evaluators that are not Equatable have a policy for each manager`() {
        let (a, b) = (manager("a.test"), manager("a.test"))
        #expect(number(a) != nil && number(a) == number(a))
        #expect(number(a) != number(b))
    }

    @Test func `evaluators that are objects are compared by identity`() {
        final class Strict: ServerTrustEvaluating, Equatable {
            func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
            static func == (a: Strict, b: Strict) -> Bool { true }
        }
        let (first, second) = (Strict(), Strict())
        let managers = [first, first, second].map {
            ServerTrustManager(evaluators: ["a.test": $0])
        }
        #expect(number(managers[0]) == number(managers[1]))
        #expect(number(managers[0]) != number(managers[2]))
    }

    @Test func `a subclass's evaluator is requested each time`() {
        final class Choosing: ServerTrustManager, @unchecked Sendable {
            // because a test uses it from one task.
            var choice: (any ServerTrustEvaluating)?
            override func serverTrustEvaluator(
                forHost host: String
            ) throws -> (any ServerTrustEvaluating)? { choice }
        }
        let manager = Choosing(evaluators: [:])
        #expect(number(manager) == nil)
        manager.choice = DefaultTrustEvaluator()
        let first = number(manager)
        manager.choice = DisabledTrustEvaluator()
        #expect(number(manager) != first)
        manager.choice = DefaultTrustEvaluator()
        #expect(number(manager) == first)
    }

    @Test func `the policy depends on the port and on allHostsMustBeEvaluated`() throws {
        let strict = ServerTrustManager(evaluators: [
            "a.test": DefaultTrustEvaluator(), "a.test:8443": DisabledTrustEvaluator(),
        ])
        #expect(number(strict) != number(strict, "a.test", 8443))
        #expect(number(strict, "b.test") == 0)
        let trust = ServerTrust(
            host: "b.test", port: 443, sentCertificates: [], verifier: AgreeingVerifier())
        #expect(throws: SessionError.self) {
            try strict.policy(forHost: "b.test", port: 443)?.evaluate(trust)
        }
        let lenient = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(lenient.policy(forHost: "b.test", port: 443) == nil)
    }

    @Test(arguments: ["", "sha256/", "sha256//"], [UInt8(0), 0xFF])
    func `a pin whose hash begins with a slash is parsed with and without a prefix`(
        prefix: String, byte: UInt8
    ) throws {
        let hash = Data(repeating: byte, count: 32)
        let key = try PublicKey(pin: prefix + hash.base64EncodedString())
        #expect(key.sha256 == hash)
        #expect(try PublicKey(pin: "\(key)") == key)
    }

    @Test(arguments: ["", "sha256/", "abc", "sha256/AAAA", "md5/AAAA"])
    func `the error for an invalid pin contains the pin`(pin: String) {
        #expect(throws: PublicKey.InvalidPin(pin: pin)) { try PublicKey(pin: pin) }
    }

    @Test func `evaluators without pins fail`() throws {
        let trust = ServerTrust(
            host: "a.test", port: 443, sentCertificates: [], verifier: AgreeingVerifier())
        #expect(throws: SessionError.self) {
            try PinnedCertificatesTrustEvaluator(certificates: []).evaluate(
                trust, forHost: "a.test")
        }
        #expect(throws: SessionError.self) {
            try PublicKeysTrustEvaluator(keys: []).evaluate(trust, forHost: "a.test")
        }
        #expect(throws: SessionError.self) {
            try CompositeTrustEvaluator(evaluators: []).evaluate(trust, forHost: "a.test")
        }
    }
}

private struct AgreeingVerifier: TrustVerifier {
    func verify(_ chain: [Certificate], anchors: [Certificate]?) -> ChainVerdict {
        ChainVerdict(path: chain, fault: nil)
    }

    func isCertificate(_ certificate: Certificate, for host: String) -> Bool { true }

    func revocationStatus(
        of chain: [Certificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus { .unknown }
}
