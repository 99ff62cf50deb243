import FoundationEssentials
import OutletObservation
import Outlet
import OutletTestSupport
import Testing

/// Evaluators with real servers.
@Suite struct ServerTrustTests {
    /// A session with an evaluator for `localhost`.
    private func session(
        _ evaluator: any ServerTrustEvaluating, monitors: [any EventMonitor] = [],
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> Session {
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        change(&configuration)
        return Session(
            configuration: configuration,
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]),
            eventMonitors: monitors)
    }

    private func refusal(
        _ session: Session, _ url: String
    ) async -> SessionError.ServerTrustFailureReason? {
        let response = await session.request(url).serializingData().response
        #expect(response.response == nil)
        guard case .serverTrustEvaluationFailed(let reason) = response.error else { return nil }
        return reason
    }

    private func status(_ session: Session, _ url: String) async -> Int? {
        await session.request(url).serializingData().response.response?.statusCode
    }

    // MARK: Default

    @Test func `a server with a valid certificate is trusted over HTTP/2 and HTTP/1`() async throws
    {
        let nginx = try await Nginx.shared()
        for version in [HTTPVersionPolicy.automatic, .http1] {
            let session = try await session(DefaultTrustEvaluator()) { $0.httpVersion = version }
            let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
                .serializingString().response
            #expect(response.value == "small\n")
            #expect(
                response.response?.httpVersion == (version == .http1 ? "HTTP/1.1" : "HTTP/2"))
        }
    }

    @Test func `an expired certificate fails the default evaluation`() async throws {
        let nginx = try await Nginx.shared()
        let reason = await refusal(
            try await session(DefaultTrustEvaluator()), "\(nginx.baseURL(.expired))/")
        guard case .defaultEvaluationFailed(let output) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(output.host == "localhost")
        #expect(output.fault.reason.contains("expired"))
    }

    @Test func `a certificate for another host fails the validation of the host`() async throws {
        let nginx = try await Nginx.shared()
        let url = "\(nginx.baseURL(.wrongHost))/small.txt"
        let reason = await refusal(try await session(DefaultTrustEvaluator()), url)
        guard case .hostValidationFailed(let output) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(
            output.fault.reason
                == "the server's certificate is for wrong.host.test, not for localhost")
        let careless = try await session(DefaultTrustEvaluator(validateHost: false))
        #expect(await status(careless, url) == 200)
    }

    @Test func `a server of an unknown authority fails the default evaluation`() async throws {
        let nginx = try await Nginx.shared()
        let session = try await session(DefaultTrustEvaluator()) {
            $0.certificateAuthorities = .file(path: "/nonexistent/ca.pem")
        }
        let reason = await refusal(session, "\(nginx.baseURL(.tls))/")
        guard case .defaultEvaluationFailed = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
    }

    @Test func `an intermediate certificate is used if the server sends it`() async throws {
        let server = try await TrustServer.shared()
        #expect(await status(try await session(DefaultTrustEvaluator()), server.url(.chain)) == 200)
        let reason = await refusal(
            try await session(DefaultTrustEvaluator()), server.url(.incomplete))
        guard case .defaultEvaluationFailed = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
    }

    // MARK: Managers

    @Test func `a host without an evaluator is refused, or verified by default if allowed`()
        async throws
    {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let strict = Session(
            configuration: configuration,
            serverTrustManager: ServerTrustManager(evaluators: [:]))
        let reason = await refusal(strict, "\(nginx.baseURL(.tls))/small.txt")
        guard case .noRequiredEvaluator(host: "localhost") = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(await status(strict, "\(nginx.baseURL())/small.txt") == 200)
        let lenient = Session(
            configuration: configuration,
            serverTrustManager: ServerTrustManager(
                allHostsMustBeEvaluated: false, evaluators: [:]))
        #expect(await status(lenient, "\(nginx.baseURL(.tls))/small.txt") == 200)
        let response = await lenient.request("\(nginx.baseURL(.selfSigned))/").serializingData()
            .response
        #expect(response.error?.transferError?.code == .serverCertificateUntrusted)
    }

    @Test func `an evaluator may be for one port only`() async throws {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let session = Session(
            configuration: configuration,
            serverTrustManager: ServerTrustManager(evaluators: [
                "localhost": DefaultTrustEvaluator(),
                "localhost:\(nginx.port(.selfSigned))": DisabledTrustEvaluator(),
            ]))
        #expect(await status(session, "\(nginx.baseURL(.selfSigned))/small.txt") == 200)
        #expect(await refusal(session, "\(nginx.baseURL(.expired))/small.txt") != nil)
    }

    @Test func `a server is evaluated once per connection`() async throws {
        let nginx = try await Nginx.shared()
        for version in [HTTPVersionPolicy.automatic, .http1] {
            let counter = CountingEvaluator()
            let session = try await session(counter) { $0.httpVersion = version }
            for _ in 0..<5 {
                #expect(await status(session, "\(nginx.baseURL(.tls))/small.txt") == 200)
            }
            #expect(counter.hosts.values == ["localhost"])
            let fresh = await session.request(
                "\(nginx.baseURL(.clientCertificate))/small.txt"
            ).serializingData().response
            #expect(fresh.response?.statusCode == 400)
            #expect(counter.hosts.values.count == 2)
        }
    }

    @Test func `a resumed TLS session is evaluated as well`() async throws {
        let server = try await TrustServer.shared()
        let counter = CountingEvaluator()
        let session = try await session(counter) { $0.httpVersion = .http1 }
        var texts: [String] = []
        for _ in 0..<2 {
            let text = try await session.request(server.closingURL(.chain)).serializingString()
                .value
            texts.append(text)
        }
        #expect(try texts.at(1).contains(#""resumed":"r""#))
        #expect(counter.hosts.values.count == 2)
        #expect(counter.chains.values == [3, 3])
    }

    @Test func `no request is sent to a refused server`() async throws {
        let nginx = try await Nginx.shared()
        for version in [HTTPVersionPolicy.automatic, .http1] {
            let session = try await session(RefusingEvaluator()) { $0.httpVersion = version }
            for _ in 0..<3 {
                let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
                    .serializingData().response
                guard
                    case .serverTrustEvaluationFailed(.customEvaluationFailed(let error)) =
                        response.error
                else {
                    Issue.record("\(String(describing: response.error))")
                    return
                }
                #expect(error is Refused)
                #expect(response.metrics?.requestHeaderBytes == 0)
            }
        }
    }

    @Test func `a refusal is reported before the completion as the request's error`() async throws {
        let nginx = try await Nginx.shared()
        let names = Recorder<String>()
        let monitor = ClosureEventMonitor()
        monitor.requestDidFailTaskEarlyWithError = { _, _, error in
            names.record("early \(error.isServerTrustEvaluationError)")
        }
        monitor.requestDidCompleteTaskWithError = { _, _, error in
            names.record("complete \(error?.isServerTrustEvaluationError == true)")
        }
        monitor.requestDidFinish = { _ in names.record("finish") }
        let session = try await session(RefusingEvaluator(), monitors: [monitor])
        let response = await session.request("\(nginx.baseURL(.tls))/").serializingData().response
        #expect(response.error?.isServerTrustEvaluationError == true)
        #expect(response.error?.underlyingError is Refused)
        #expect(try await names.values(3) == ["early true", "complete true", "finish"])
    }

    // MARK: Pins

    @Test func `a pin may be the server's, an intermediate or the authority's certificate`()
        async throws
    {
        let server = try await TrustServer.shared()
        let paths = [
            server.chain.server.certificatePath, server.chain.intermediate.certificatePath,
            server.authority.certificatePath,
        ]
        for path in paths {
            let pins = try Certificate.load(path).prefix(1)
            let session = try await session(.pinnedCertificates(certificates: Array(pins)))
            #expect(await status(session, server.url(.chain)) == 200)
        }
    }

    @Test func `a server without a pinned certificate is refused`() async throws {
        let server = try await TrustServer.shared()
        let pins = try Certificate.load(server.chain.intermediate.certificatePath)
        let reason = await refusal(
            try await session(.pinnedCertificates(certificates: pins)), server.url(.stapled))
        guard case .certificatePinningFailed(let host, _, let pinned, let shown) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(host == "localhost")
        #expect(pinned == pins)
        #expect(shown.first?.subject == "CN=good,O=Outlet")
    }

    @Test func `a pinned self-signed certificate is trusted if these are accepted`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let pins = try Certificate.load(
            try await nginx.authority.server(.selfSigned).certificatePath)
        let url = "\(nginx.baseURL(.selfSigned))/small.txt"
        let accepting = try await session(
            .pinnedCertificates(certificates: pins, acceptSelfSignedCertificates: true))
        #expect(await status(accepting, url) == 200)
        let reason = await refusal(
            try await session(.pinnedCertificates(certificates: pins)), url)
        guard case .defaultEvaluationFailed = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        // The pins are the only authorities then: the test authority is not trusted.
        let other = await refusal(accepting, "\(nginx.baseURL(.tls))/small.txt")
        guard case .defaultEvaluationFailed = other else {
            Issue.record("\(String(describing: other))")
            return
        }
    }

    @Test func `a certificate that is sent but not in the chain does not match a pin`() async throws
    {
        let nginx = try await Nginx.shared()
        let server = try await TrustServer.shared()
        // The server's own certificate, and one after it that has not signed it.
        let unrelated = try Certificate.load(server.chain.intermediate.certificatePath)
        let evaluator = BesideEvaluator(
            unrelated: unrelated, inner: .pinnedCertificates(certificates: unrelated))
        let reason = await refusal(
            try await session(evaluator), "\(nginx.baseURL(.tls))/small.txt")
        guard case .certificatePinningFailed = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
    }

    @Test func `a key pin matches any certificate of the chain`() async throws {
        let server = try await TrustServer.shared()
        let intermediate = try Certificate.load(server.chain.intermediate.certificatePath)
        let keys = try await session(.publicKeys(keys: intermediate.publicKeys))
        #expect(await status(keys, server.url(.chain)) == 200)
        let backup = "sha256/" + Data(repeating: 7, count: 32).base64EncodedString()
        let pins = try await session(
            .publicKeys(pins: [backup, "\(intermediate[0].publicKey)"]))
        #expect(await status(pins, server.url(.chain)) == 200)
        let reason = await refusal(
            try await session(.publicKeys(pins: [backup])), server.url(.chain))
        guard case .publicKeyPinningFailed(_, _, _, let shown) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(shown.count == 3)
    }

    @Test(arguments: [true, false])
    func `pinning validates the host if validateHost is set`(validatesHost: Bool) async throws {
        let nginx = try await Nginx.shared()
        let pins = try Certificate.load(
            try await nginx.authority.server(.wrongHost).certificatePath)
        let evaluators: [any ServerTrustEvaluating] = [
            .pinnedCertificates(certificates: pins, validateHost: validatesHost),
            .publicKeys(keys: pins.publicKeys, validateHost: validatesHost),
        ]
        for evaluator in evaluators {
            let session = try await session(evaluator)
            let url = "\(nginx.baseURL(.wrongHost))/small.txt"
            guard validatesHost else {
                #expect(await status(session, url) == 200)
                continue
            }
            guard case .hostValidationFailed = await refusal(session, url) else {
                Issue.record("\(evaluator)")
                return
            }
        }
    }

    // MARK: The rules of OpenSSL

    @Test(arguments: [JudgedServer.Listener.weakSignature, .weakKey])
    func `OpenSSL's security level applies with a trust manager, too`(
        listener: JudgedServer.Listener
    ) async throws {
        let server = try await JudgedServer.shared()
        let url = server.url(listener)
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        let plain = Session(configuration: configuration)
        let usual = await plain.request(url).serializingData().response
        let words = listener == .weakSignature ? "digest algorithm too weak" : "key too weak"
        #expect(usual.error?.transferError?.reason.contains(words) == true)
        let sent = try Certificate.load(server.weakIdentity(listener).certificatePath)
        let middle = try #require(sent.last)
        let evaluators: [any ServerTrustEvaluating] = [
            DefaultTrustEvaluator(), .revocationChecking,
            .pinnedCertificates(
                certificates: [middle], acceptSelfSignedCertificates: listener == .weakSignature),
        ]
        for evaluator in evaluators {
            guard
                case .defaultEvaluationFailed(let output) = await refusal(
                    try await session(evaluator), url)
            else {
                Issue.record("\(evaluator)")
                return
            }
            #expect(output.fault.reason.contains(words))
        }
        // A weak signature or key does not prove a pin.
        let unproved = await refusal(
            try await session(
                .publicKeys(keys: [middle.publicKey], performDefaultValidation: false)), url)
        guard case .publicKeyPinningFailed = unproved else {
            Issue.record("\(String(describing: unproved))")
            return
        }
        #expect(await status(try await session(DisabledTrustEvaluator()), url) == 200)
    }

    // MARK: Others

    @Test func `a server in a tunnel is evaluated, and the proxy receives its credential`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let proxy = try ScriptedServer.start(
            .request, .respond("407 No", headers: ["Proxy-Authenticate: Basic realm=p"]),
            .request, .send("HTTP/1.1 200 Connection established\r\n\r\n"),
            .relay(.loopback(port: nginx.port(.tls))))
        defer { proxy.stop() }
        let counter = CountingEvaluator()
        for evaluator in [counter, RefusingEvaluator()] as [any ServerTrustEvaluating] {
            let session = try await session(evaluator) {
                $0.proxy = .url(proxy.baseURL, except: [])
                $0.proxyCredential = Credential(user: "ada", password: "secret")
            }
            let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
                .serializingString().response
            if evaluator is CountingEvaluator {
                #expect(response.value == "small\n")
            } else {
                #expect(response.error?.isServerTrustEvaluationError == true)
            }
            let heads = proxy.requests.values.suffix(2).map(\.head)
            #expect(try heads.at(0).hasPrefix("CONNECT localhost:"))
            #expect(try !heads.at(0).contains("Proxy-Authorization"))
            #expect(try heads.at(1).contains("Proxy-Authorization: Basic YWRhOnNlY3JldA=="))
        }
        #expect(counter.hosts.values == ["localhost"])
        #expect(counter.chains.values == [2])
    }

    @Test func `all evaluators of a composite must agree`() async throws {
        let nginx = try await Nginx.shared()
        let counter = CountingEvaluator()
        let composite = try await session(
            .composite(evaluators: [counter, RefusingEvaluator(), counter]))
        #expect(await refusal(composite, "\(nginx.baseURL(.tls))/") != nil)
        #expect(counter.hosts.values.count == 1)
    }

    @Test func `a disabled evaluator trusts every server`() async throws {
        let nginx = try await Nginx.shared()
        let session = try await session(DisabledTrustEvaluator())
        for listener in [Nginx.Listener.expired, .wrongHost, .selfSigned] {
            #expect(await status(session, "\(nginx.baseURL(listener))/small.txt") == 200)
        }
    }

    @Test func `certificates can be loaded from files and directories`() async throws {
        let authority = try await TestCA.shared()
        let directory = try TemporaryDirectory()
        let pem = try Certificate.load(authority.certificatePath)
        try directory.write(Array(pem.at(0).der), to: "a.CER")
        try directory.write("no certificate", to: "notes.txt")
        #expect(try Certificate.load(directory.path) == pem)
        #expect(try Certificate(pem.at(0).der) == pem.at(0))
        #expect(throws: Certificate.LoadingError.self) {
            try Certificate.load(directory.path("notes.txt"))
        }
        #expect(throws: Certificate.LoadingError.self) { try Certificate.load("/nonexistent") }
    }
}

/// Trusts every server, and records host and chain length.
private struct CountingEvaluator: ServerTrustEvaluating {
    let hosts = Recorder<String>()
    let chains = Recorder<Int>()

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        hosts.record(host)
        chains.record(trust.certificates.count)
    }
}

private struct RefusingEvaluator: ServerTrustEvaluating {
    func evaluate(_ trust: ServerTrust, forHost host: String) throws { throw Refused() }
}

/// Adds another certificate after those of the server.
private struct BesideEvaluator: ServerTrustEvaluating {
    let unrelated: [Certificate]
    let inner: PinnedCertificatesTrustEvaluator

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try inner.evaluate(trust.adding(unrelated), forHost: host)
    }
}
