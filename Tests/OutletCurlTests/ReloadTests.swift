import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct `Reloaded certificates` {
    /// Replaces a file with a copy of another by renaming, as certificate renewal programs do.
    private func replace(_ path: String, by other: String) throws {
        let beside = path + ".new"
        try Data(contentsOf: URL(filePath: other)).write(to: URL(filePath: beside))
        #expect(rename(beside, path) == 0)
    }

    @Test func `new requests use the reloaded authorities on new connections`() async throws {
        let nginx = try await Nginx.shared()
        let otherAuthority = try await TestCA()
        let directory = try TemporaryDirectory()
        let path = directory.path("authorities.pem")
        try replace(path, by: nginx.authority.certificatePath)
        let transport = CurlTransport.test { $0.certificateAuthorities = .file(path: path) }
        let url = "\(nginx.baseURL(.tls))/info"
        #expect(try await transport.get(url).error == nil)
        try replace(path, by: otherAuthority.certificatePath)
        // Without `reloadCertificates`, the transport does not notice that the file has changed.
        let kept = try await transport.get(url)
        #expect(kept.error == nil && kept.metrics.isReusedConnection)
        transport.reloadCertificates()
        let refused = try await transport.get(url)
        #expect(refused.error?.code == .serverCertificateUntrusted)
        try replace(path, by: nginx.authority.certificatePath)
        transport.reloadCertificates()
        let again = try await transport.get(url)
        #expect(again.error == nil && !again.metrics.isReusedConnection)
        // The TLS sessions of the old connections are not resumed.
        #expect(again.text.contains(#""session_reused":".""#))
    }

    @Test func `an evaluator uses the reloaded authorities`() async throws {
        let nginx = try await Nginx.shared()
        let otherAuthority = try await TestCA()
        let directory = try TemporaryDirectory()
        let path = directory.path("authorities.pem")
        try replace(path, by: nginx.authority.certificatePath)
        let transport = CurlTransport.test { $0.certificateAuthorities = .file(path: path) }
        var job = TransferJob(request: HTTPRequest(url: URL(string: "\(nginx.baseURL(.tls))/info")))
        job.serverTrustManager = ServerTrustManager(evaluators: [
            "localhost": DefaultTrustEvaluator()
        ])
        #expect(try await transport.carry(job).error == nil)
        try replace(path, by: otherAuthority.certificatePath)
        transport.reloadCertificates()
        #expect(try await transport.carry(job).error?.code == .serverCertificateUntrusted)
    }

    @Test(arguments: ["info", "closing"])
    func `a replaced client certificate is used without a reload, on connections of its own`(
        path: String
    ) async throws {
        let nginx = try await Nginx.shared()
        let first = try await nginx.authority.client(commonName: "first")
        let second = try await nginx.authority.client(commonName: "second")
        let directory = try TemporaryDirectory()
        let (certificate, key) = (directory.path("client.pem"), directory.path("client.key"))
        try replace(certificate, by: first.certificatePath)
        try replace(key, by: first.keyPath)
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.clientCertificate = ClientCertificate(certificatePath: certificate, keyPath: key)
            $0.httpVersion = .http1
        }
        let url = "\(nginx.baseURL(.clientCertificate))/\(path)"
        let isKept = path == "info"
        for isFirst in [true, false] {
            let result = try await transport.get(url)
            #expect(result.text.contains("CN=first"))
            #expect(result.metrics.isReusedConnection == (isKept && !isFirst))
            // Connections after the first one resume its TLS session.
            #expect(result.text.contains(#""session_reused":"r""#) == (!isKept && !isFirst))
        }
        try replace(certificate, by: second.certificatePath)
        // The pair cannot be used, so that kept connections are used as before.
        if isKept {
            let halfway = try await transport.get(url)
            #expect(halfway.text.contains("CN=first") && halfway.metrics.isReusedConnection)
        }
        try replace(key, by: second.keyPath)
        let result = try await transport.get(url)
        #expect(result.text.contains("CN=second"), "\(result.text) \(result.error?.reason ?? "")")
        #expect(!result.metrics.isReusedConnection)
        #expect(result.text.contains(#""session_reused":".""#))
        let next = try await transport.get(url)
        #expect(next.metrics.isReusedConnection == isKept)
        #expect(next.text.contains("CN=second"))
        #expect(next.text.contains(#""session_reused":"r""#) != isKept)
    }

    @Test func `a running transfer continues during a reload, then its connection is closed`()
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .wait(gate), .respond(body: "old"), .stall]
                : [.request, .respond(body: "new"), .stall]
        }
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        let probe = Probe()
        let job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        _ = transport.start(job, handler: probe)
        try await server.requests.values(1)
        transport.reloadCertificates()
        #expect(try await transport.get(server.baseURL).text == "new")
        #expect(transport.statistics.total.activeRequests == 1)
        gate.open()
        #expect(try await probe.end.value().text == "old")
        #expect(try await server.endings.values(1) == [0])
        transport.shutDown()
    }

    @Test func `requests succeed while certificates are reloaded`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "here"), .again)
        let transport = CurlTransport.test()
        let reloading = Task {
            while !Task.isCancelled {
                transport.reloadCertificates()
                await Task.yield()
            }
        }
        for _ in 0..<200 { #expect(try await transport.get(server.baseURL).error == nil) }
        reloading.cancel()
        await reloading.value
        transport.shutDown()
    }
}
