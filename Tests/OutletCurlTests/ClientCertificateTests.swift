import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Synchronization
import Testing

@Suite struct ClientCertificateTests {
    private func response(
        _ change: (inout TransportConfiguration) -> Void
    ) async throws -> TransferResult {
        let nginx = try await Nginx.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            change(&$0)
        }
        return try await transport.get("\(nginx.baseURL(.clientCertificate))/info")
    }

    private func reason(_ certificate: ClientCertificate) async throws -> String {
        let error = try await response { $0.clientCertificate = certificate }.error
        #expect(error?.code == .clientCertificateRejected)
        return error?.reason ?? ""
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    @Test func `the client certificate and its key may be in memory`() async throws {
        let client = try await TestCA.shared().client()
        let certificate = ClientCertificate(
            certificate: .bytes(try bytes(client.certificatePath)),
            key: .bytes(try bytes(client.keyPath)))
        let result = try await response { $0.clientCertificate = certificate }
        #expect(result.text.contains("CN=outlet-client"))
        let both = ClientCertificate(
            certificate: .bytes(try bytes(client.certificatePath) + bytes(client.keyPath)))
        #expect(
            try await response { $0.clientCertificate = both }.text.contains("CN=outlet-client"))
    }

    @Test func `a named pipe as certificate file is refused without waiting for its writer`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let client = try await TestCA.shared().client()
        for certificate in [
            ClientCertificate(certificatePath: pipe, keyPath: client.keyPath),
            ClientCertificate(certificatePath: client.certificatePath, keyPath: pipe),
        ] {
            #expect(
                try await reason(certificate)
                    == "the client's certificate cannot be used: \(pipe) is a named pipe, not a "
                    + "plain file")
            let provided = try await response {
                $0.clientCertificateProvider = ClientCertificateProvider { _, _ in certificate }
            }
            #expect(provided.error?.code == .clientCertificateRejected)
        }
        let unchecked = try await response { $0.certificateAuthorities = .file(path: pipe) }
        #expect(
            unchecked.error?.reason
                == "certificate authorities: \(pipe) is a named pipe, not a plain file")
    }

    @Test func `a PKCS 12 certificate may be a file or in memory`() async throws {
        let authority = try await TestCA.shared()
        let path = try await authority.pkcs12(
            of: authority.client(commonName: "twelve"), password: "secret")
        let certificates = [
            ClientCertificate(pkcs12Path: path, password: "secret"),
            ClientCertificate(
                certificate: .bytes(try bytes(path)), format: .pkcs12, keyPassword: "secret"),
        ]
        for certificate in certificates {
            let result = try await response { $0.clientCertificate = certificate }
            #expect(result.error == nil)
            #expect(result.text.contains("CN=twelve"))
        }
        #expect(
            try await reason(ClientCertificate(pkcs12Path: path, password: "wrong"))
                == "the client's certificate: \(path): the password does not open it")
        #expect(
            try await reason(ClientCertificate(pkcs12Path: path))
                == "the client's certificate: \(path): wants a password, and none is given")
    }

    @Test func `each host may have its own client certificate`() async throws {
        let nginx = try await Nginx.shared()
        let authority = nginx.authority
        let general = try await authority.client(commonName: "general")
        let special = try await authority.client(commonName: "special")
        let identities = [general, special].map {
            ClientCertificate(certificatePath: $0.certificatePath, keyPath: $0.keyPath)
        }
        let port = nginx.port(.clientCertificate)
        let hosts = ["localhost:\(port)", "localhost", "**.test"]
        for (index, host) in hosts.enumerated() {
            let result = try await response {
                $0.clientCertificate = identities[0]
                $0.clientCertificateProvider = ClientCertificateProvider([host: identities[1]])
            }
            #expect(result.text.contains(index < 2 ? "CN=special" : "CN=general"))
        }
        let result = try await response {
            $0.clientCertificateProvider = ClientCertificateProvider { host, asked in
                host == "localhost" && asked == Int(port) ? identities[1] : nil
            }
        }
        #expect(result.text.contains("CN=special"))
    }

    @Test func `a provider is not called inside the call that starts the request`() async throws {
        let nginx = try await Nginx.shared()
        // Stands for a lock that the starting thread holds and that the provider also takes.
        let isHeld = Recorder<Bool>()
        let holder = Holder()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.clientCertificateProvider = ClientCertificateProvider { _, _ in
                isHeld.record(holder.isHeldHere)
                return nil
            }
        }
        let url = URL(string: "\(nginx.baseURL(.tls))/small.txt")
        @Sendable func start() -> Probe {
            let probe = Probe()
            var job = TransferJob(request: HTTPRequest(url: url))
            job.mayRunOnCaller = true
            holder.hold { _ = transport.start(job, handler: probe) }
            return probe
        }
        // On a thread of the test, which may drive the loop itself.
        for _ in 0..<3 { #expect(try await start().end.value().text == "small\n") }
        // On the transport's thread, where a request usually starts inside the call.
        let executor = try #require(transport.taskExecutor)
        let probes = await Task(executorPreference: executor) { (0..<3).map { _ in start() } }.value
        for probe in probes { #expect(try await probe.end.value().text == "small\n") }
        #expect(isHeld.values == Array(repeating: false, count: 6))
    }

    @Test func `the client certificate of one host is not sent to another host`() async throws {
        let nginx = try await Nginx.shared()
        let client = try await nginx.authority.client()
        let certificate = ClientCertificate(
            certificatePath: client.certificatePath, keyPath: client.keyPath)
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.clientCertificateProvider = ClientCertificateProvider(["localhost": certificate])
        }
        let url = "\(nginx.baseURL(.clientCertificate))/info"
        #expect(try await transport.get(url).response?.statusCode == 200)
        let other = url.replacing("localhost", with: "127.0.0.1")
        #expect(other != url)
        #expect(try await transport.get(other).response?.statusCode == 400)
    }

    @Test(arguments: [HTTPVersionPolicy.automatic, .http1], ["info", "closing"])
    func `a connection is not used with another key or password than it was made with`(
        version: HTTPVersionPolicy, path: String
    ) async throws {
        let nginx = try await Nginx.shared()
        let client = try await nginx.authority.client()
        let other = try await nginx.authority.client(commonName: "other")
        let directory = try TemporaryDirectory()
        let encrypted = directory.path("encrypted.key")
        let made = try await Program.run(
            "/usr/bin/openssl",
            [
                "pkey", "-in", client.keyPath, "-aes256", "-passout", "pass:secret", "-out",
                encrypted,
            ])
        #expect(made.exitCode == 0)
        let certificate = ClientCertificate.Source.bytes(try bytes(client.certificatePath))
        let identities: [(ClientCertificate, isUsable: Bool)] = [
            (.init(certificate: certificate, key: .bytes(try bytes(client.keyPath))), true),
            (.init(certificate: certificate, key: .bytes(try bytes(other.keyPath))), false),
            (
                .init(certificate: certificate, key: .file(path: encrypted), keyPassword: "secret"),
                true
            ),
            (
                .init(certificate: certificate, key: .file(path: encrypted), keyPassword: "wrong"),
                false
            ),
            (.init(certificate: certificate, key: .bytes(try bytes(client.keyPath))), true),
        ]
        let chosen = identities.map(\.0)
        let next = Lock(0)
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.httpVersion = version
            $0.clientCertificateProvider = ClientCertificateProvider { _, _ in
                chosen[next.withLock { $0 }]
            }
        }
        for (index, identity) in identities.enumerated() {
            next.withLock { $0 = index }
            let result = try await transport.get("\(nginx.baseURL(.clientCertificate))/\(path)")
            #expect(result.text.contains("CN=outlet-client") == identity.isUsable, "\(index)")
            #expect((result.error?.code == .clientCertificateRejected) == !identity.isUsable)
        }
    }

    @Test func `a server that requires a client certificate responds 400 without one`() async throws
    {
        let result = try await response { _ in }
        #expect(result.response?.statusCode == 400)
    }

    @Test func `the error for an unusable client certificate names the file`() async throws {
        let authority = try await TestCA.shared()
        let client = try await authority.client()
        let other = try await authority.client(commonName: "other")
        let directory = try TemporaryDirectory()
        let nonsense = try directory.write("nonsense", to: "nonsense.pem")
        #expect(
            try await reason(ClientCertificate(certificatePath: "/nonexistent/client.pem"))
                == "the client's certificate: /nonexistent/client.pem: No such file or directory")
        #expect(
            try await reason(ClientCertificate(certificatePath: nonsense))
                == "the client's certificate: \(nonsense): holds no certificate in PEM")
        #expect(
            try await reason(ClientCertificate(certificatePath: client.certificatePath))
                == "the client's certificate: \(client.certificatePath): holds no private key in PEM"
        )
        #expect(
            try await reason(
                ClientCertificate(
                    certificatePath: client.certificatePath, keyPath: other.keyPath)
            ).contains("\(other.keyPath): the key is not that of the certificate"))
        #expect(
            try await reason(ClientCertificate(pkcs12Path: nonsense, password: "x"))
                == "the client's certificate: \(nonsense): is no PKCS #12 file")
    }

    @Test func `an encrypted key without its password is an error and not a prompt`() async throws {
        let authority = try await TestCA.shared()
        let client = try await authority.client()
        let directory = try TemporaryDirectory()
        let path = directory.path("encrypted.key")
        let result = try await Program.run(
            "/usr/bin/openssl",
            ["pkey", "-in", client.keyPath, "-aes256", "-passout", "pass:secret", "-out", path])
        #expect(result.exitCode == 0)
        func certificate(_ password: String?) -> ClientCertificate {
            ClientCertificate(
                certificatePath: client.certificatePath, keyPath: path, keyPassword: password)
        }
        #expect(
            try await reason(certificate(nil))
                == "the client's certificate: \(path): the private key is encrypted, "
                + "and no password is given")
        #expect(
            try await reason(certificate("wrong"))
                == "the client's certificate: \(path): the password does not open the private key")
        #expect(
            try await response { $0.clientCertificate = certificate("secret") }.text
                .contains("CN=outlet-client"))
    }

    @Test func `the description of a certificate does not contain its password`() {
        let certificate = ClientCertificate(pkcs12Path: "/a.p12", password: "secret")
        #expect("\(certificate)" == "/a.p12")
        #expect(!String(reflecting: certificate).contains("secret"))
    }
}

/// Records which thread is inside ``hold(_:)``.
private final class Holder: Sendable {
    private let thread = Atomic<UInt>(0)

    var isHeldHere: Bool { thread.load(ordering: .sequentiallyConsistent) == UInt(pthread_self()) }

    func hold(_ body: () -> Void) {
        thread.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        body()
        thread.store(0, ordering: .sequentiallyConsistent)
    }
}
