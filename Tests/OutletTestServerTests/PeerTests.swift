import OutletTestSupport
import Testing

@Suite struct `Real servers` {
    private func openssl(_ arguments: [String]) async throws -> Program.Result {
        try await Program.run("/usr/bin/openssl", arguments)
    }

    @Test func `nginx serves plain HTTP, a unix socket and a large file`() async throws {
        let nginx = try await Nginx.shared()
        let address = SocketAddress.loopback(port: nginx.port())
        #expect(try await HTTPExchange.perform("/small.txt", at: address).text == "small\n")
        let unix = SocketAddress.unix(path: nginx.socketPath)
        #expect(try await HTTPExchange.perform("/small.txt", at: unix).text == "small\n")
        let large = try await HTTPExchange.perform(
            "/large.bin", headers: ["Range: bytes=2097150-2097161"], at: address)
        #expect(large.body == (2_097_150...2_097_161).map(Nginx.largeFileByte(at:)))
        #expect(large.body == [0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0])
        #expect(large.values(of: "Content-Range") == ["bytes 2097150-2097161/67108864"])
    }

    @Test func `nginx returns the documented responses for its paths`() async throws {
        let address = SocketAddress.loopback(port: try await Nginx.shared().port())
        #expect(try await HTTPExchange.perform("/status/503", at: address).status == 503)
        #expect(try await HTTPExchange.perform("/redirect", at: address).status == 301)
        #expect(try await HTTPExchange.perform("/basic", at: address).status == 401)
        let basic = try await HTTPExchange.perform(
            "/basic", headers: ["Authorization: Basic dXNlcjpwYXNzd29yZA=="], at: address)
        #expect(basic.text == "small\n")
        let gzip = try await HTTPExchange.perform(
            "/compressed/text.txt", headers: ["Accept-Encoding: gzip"], at: address)
        #expect(gzip.values(of: "Content-Encoding") == ["gzip"])
        let upload = try await HTTPExchange.perform(
            "/upload", method: "PUT", body: String(repeating: "x", count: 100_000), at: address)
        #expect(upload.text.contains(#""length":"100000""#))
    }

    @Test func `nginx uses TLS with the test certificate and HTTP/2`() async throws {
        let nginx = try await Nginx.shared()
        let result = try await openssl([
            "s_client", "-connect", "127.0.0.1:\(nginx.port(.tls))", "-CAfile",
            nginx.authority.certificatePath, "-verify_hostname", "localhost", "-alpn", "h2",
        ])
        #expect(result.output.contains("ALPN protocol: h2"))
        #expect(result.output.contains("Verify return code: 0 (ok)"))
    }

    @Test(arguments: [
        (Nginx.Listener.expired, "certificate has expired"),
        (.wrongHost, "hostname mismatch"), (.selfSigned, "self-signed certificate"),
    ])
    func `each invalid certificate fails with its own error`(
        listener: Nginx.Listener, verdict: String
    )
        async throws
    {
        let nginx = try await Nginx.shared()
        let result = try await openssl([
            "s_client", "-connect", "127.0.0.1:\(nginx.port(listener))", "-CAfile",
            nginx.authority.certificatePath, "-verify_hostname", "localhost",
        ])
        #expect(result.output.contains("(\(verdict))"))
    }

    @Test func `nginx requires and accepts a client certificate`() async throws {
        let nginx = try await Nginx.shared()
        let identity = try await nginx.authority.client()
        let connect = [
            "s_client", "-quiet", "-connect", "127.0.0.1:\(nginx.port(.clientCertificate))",
        ]
        let request = Array("GET /info HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
        let without = try await Program.run("/usr/bin/openssl", connect, standardInput: request)
        #expect(without.output.contains("No required SSL certificate was sent"))
        let with = try await Program.run(
            "/usr/bin/openssl",
            connect + ["-cert", identity.certificatePath, "-key", identity.keyPath],
            standardInput: request)
        #expect(with.output.contains(#""client":"CN=outlet-client,O=Outlet""#))
        let archive = try await nginx.authority.pkcs12(of: identity, password: "secret")
        let unpacked = try await openssl([
            "pkcs12", "-in", archive, "-passin", "pass:secret", "-noenc",
        ])
        #expect(unpacked.output.contains("BEGIN PRIVATE KEY"))
    }

    @Test func `httpbin responds to a request`() async throws {
        let address = SocketAddress.loopback(port: try await Httpbin.shared().port)
        let response = try await HTTPExchange.perform("/get?a=b", at: address)
        #expect(response.status == 200)
        #expect(response.text.contains(#""args":{"a":"b"}"#))
    }

    @Test func `a stopped server accepts no connections`() async throws {
        let nginx = try await Nginx.start(largeFileSize: 100)
        let address = SocketAddress.loopback(port: nginx.port())
        #expect(try await HTTPExchange.perform("/large.bin", at: address).body.count == 100)
        await nginx.stop()
        #expect(throws: TestSupportError.self) {
            try StreamSocket(connectingTo: .unix(path: nginx.socketPath), gate: Gate())
        }
    }
}
