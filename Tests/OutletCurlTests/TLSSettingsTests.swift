import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `Settings of TLS` {
    /// Performs a `GET` request with the given settings, over a new transport.
    private func get(
        _ url: String, trust: ServerTrustManager? = nil,
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) async throws -> TransferResult {
        let authority = try await TestCA.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: authority.certificatePath)
            change(&$0)
        }
        var job = TransferJob(request: HTTPRequest(url: URL(string: url)))
        job.serverTrustManager = trust
        return try await transport.carry(job)
    }

    @Test func `a server that does not support minimumTLSVersion is refused`() async throws {
        let server = try await HandshakePeer.start()
        let usual = try await get(server.baseURL(.tls12))
        #expect(usual.metrics.tls.hasPrefix("TLSv1.2"))
        let refused = try await get(server.baseURL(.tls12)) { $0.minimumTLSVersion = .tls13 }
        #expect(refused.error?.code == .secureConnectionFailed)
        #expect(refused.error?.advice.contains("minimumTLSVersion (1.3)") == true)
        let newer = try await get(server.baseURL(.tls13)) { $0.minimumTLSVersion = .tls13 }
        #expect(newer.text == "served")
        await server.stop()
    }

    @Test func `tlsCipherList sets the ciphers of TLS 1.2`() async throws {
        let server = try await HandshakePeer.start()
        let usual = try await get(server.baseURL(.tls12)).metrics.tls
        #expect(!usual.contains("AES128-GCM"))
        let chosen = try await get(server.baseURL(.tls12)) {
            $0.tlsCipherList = "ECDHE+AESGCM+AES128:!RC4:@STRENGTH"
        }
        #expect(chosen.metrics.tls.contains("AES128-GCM"))
        await server.stop()
    }

    @Test func `tlsCipherList applies to servers with a trust evaluator, too`() async throws {
        let server = try await HandshakePeer.start()
        let trust = ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator()])
        let chosen = try await get(server.baseURL(.tls12), trust: trust) {
            $0.tlsCipherList = "ECDHE+AESGCM+AES128"
        }
        #expect(chosen.error == nil)
        #expect(chosen.metrics.tls.contains("AES128-GCM"))
        await server.stop()
    }

    @Test func `tls13CipherSuites sets the cipher suites of TLS 1.3`() async throws {
        let server = try await HandshakePeer.start()
        let chosen = try await get(server.baseURL(.tls13)) {
            $0.tls13CipherSuites = "TLS_CHACHA20_POLY1305_SHA256"
        }
        #expect(chosen.metrics.tls == "TLSv1.3 TLS_CHACHA20_POLY1305_SHA256")
        await server.stop()
    }

    @Test(arguments: [HandshakePeer.Listener.tls12, .tls13])
    func `a body that ends with the connection is complete only with a closure alert`(
        listener: HandshakePeer.Listener
    ) async throws {
        let server = try await HandshakePeer.start()
        let url = server.baseURL(listener)
        for trust in [nil, ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator()])] {
            let whole = try await get(url + "/closed", trust: trust)
            #expect(whole.error == nil && whole.text == "served")
            let cut = try await get(url + "/cut", trust: trust)
            #expect(cut.error?.code == .networkConnectionLost)
            #expect(cut.error?.stage == .receiving)
            #expect(
                cut.error?.reason.contains("after 6 bytes of the body without TLS's closure")
                    == true,
                "\(cut.error?.reason ?? "")")
            #expect(cut.response?.statusCode == 200)
        }
        // A length says where the body ends, whatever follows.
        #expect(try await get(url).error == nil)
        await server.stop()
    }

    @Test func `endless HTTP 2 frames of no response do not hold up the loop`() async throws {
        let server = try await HandshakePeer.start()
        let authority = try await TestCA.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: authority.certificatePath)
        }
        // Where the server is too slow to hold up the loop, the limit without progress ends it.
        async let flooded = transport.perform(
            HTTPRequest(url: URL(string: server.baseURL(.flood)), timeoutInterval: 5))
        _ = try await server.seen(1)
        #expect(try await transport.get(server.baseURL(.tls13)).text == "served")
        let error = try await flooded.error
        let reason = "the server sends data without end that belongs to no response"
        #expect(error?.code == .timedOut || error?.reason == reason, "\(error?.reason ?? "")")
        await server.stop()
    }

    @Test func `a response without a body needs no closure alert`() async throws {
        let server = try await HandshakePeer.start()
        let authority = try await TestCA.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: authority.certificatePath)
        }
        let result = try await transport.perform(
            HTTPRequest(url: URL(string: server.baseURL(.tls13) + "/cut"), method: .head))
        #expect(result.error == nil && result.response?.statusCode == 200)
        await server.stop()
    }

    @Test(arguments: [
        ("NO-SUCH-CIPHER", #""NO-SUCH-CIPHER" is no cipher that OpenSSL knows"#),
        ("ECDHE+AESGCM:AES999", #""AES999" is no cipher that OpenSSL knows"#),
        ("TLS_AES_128_GCM_SHA256", #""TLS_AES_128_GCM_SHA256" is no cipher that OpenSSL knows"#),
        ("", "it names no cipher"), ("HIGH:!HIGH", "it names no cipher"),
    ])
    func `an invalid tlsCipherList is an error`(list: String, fact: String) async throws {
        let error = try await get("https://localhost:1/") { $0.tlsCipherList = list }.error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "tlsCipherList: \(fact)")
    }

    @Test(arguments: [
        ("TLS_AES_256_GCM_SHA384:TLS_AES_999", #""TLS_AES_999" is no cipher that OpenSSL knows"#),
        (
            "ECDHE-RSA-AES256-GCM-SHA384",
            #""ECDHE-RSA-AES256-GCM-SHA384" is no cipher that OpenSSL knows"#
        ),
        (":", "it names no cipher"),
    ])
    func `an invalid tls13CipherSuites is an error`(suites: String, fact: String) async throws {
        let error = try await get("https://localhost:1/") { $0.tls13CipherSuites = suites }.error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "tls13CipherSuites: \(fact)")
    }

    @Test func `a named pipe as file of authorities is an error`() async throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("0a1b2c3d.0")
        try #require(mkfifo(pipe, 0o600) == 0)
        for authorities in [
            CertificateAuthorities.file(path: pipe), .directory(path: directory.path),
        ] {
            let error = try await get("https://localhost:1/") {
                $0.certificateAuthorities = authorities
            }.error
            #expect(error?.code == .secureConnectionFailed)
            #expect(
                error?.reason
                    == "certificate authorities: \(pipe) is a named pipe, not a plain file")
        }
    }

    // MARK: Keys

    @Test func `tlsKeyLog writes the keys to a file that only its owner can read`() async throws {
        let server = try await HandshakePeer.start()
        let directory = try TemporaryDirectory()
        let path = try directory.write("# before\n", to: "keys")
        chmod(path, 0o644)
        let usual = try await get(server.baseURL(.tls13))
        #expect(usual.error == nil)
        let logged = try await get(server.baseURL(.tls13)) { $0.tlsKeyLog = .file(path: path) }
        #expect(logged.error == nil)
        let lines = String(decoding: try directory.read("keys"), as: UTF8.self)
            .split(separator: "\n")
        #expect(lines.first == "# before")
        // The comment line and the five secrets of one TLS 1.3 handshake.
        #expect(lines.count == 6)
        #expect(lines.dropFirst().allSatisfy { $0.split(separator: " ").count == 3 })
        #expect(lines.contains { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") })
        var facts = stat()
        #expect(stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o600)
        await server.stop()
    }

    @Test func `a tlsKeyLog file that cannot be opened is an error`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("", to: "keys")
        let link = directory.path("link")
        symlink(path, link)
        for (place, fact) in [
            (directory.path("none/keys"), "cannot be opened: No such file or directory"),
            (link, "cannot be opened: Too many levels of symbolic links"),
            ("/dev/null", "is no plain file: Invalid argument"),
        ] {
            let error = try await get("http://127.0.0.1:1/") { $0.tlsKeyLog = .file(path: place) }
                .error
            #expect(error?.code == .badConfiguration)
            #expect(error?.reason == "tlsKeyLog: \(place) \(fact)")
        }
    }
}
