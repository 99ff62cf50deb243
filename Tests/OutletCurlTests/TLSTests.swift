import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `TLS` {
    /// A transport that trusts the test authority.
    private func transport(
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) async throws -> (CurlTransport, Nginx) {
        let nginx = try await Nginx.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            change(&$0)
        }
        return (transport, nginx)
    }

    @Test func `a request to a server of a trusted authority uses HTTP/2`() async throws {
        let (transport, nginx) = try await transport()
        let result = try await transport.get("\(nginx.baseURL(.tls))/small.txt")
        #expect(result.error == nil)
        #expect(result.text == "small\n")
        #expect(result.response?.httpVersion == "HTTP/2")
        #expect(result.metrics.httpVersion == "HTTP/2")
        #expect(result.metrics.tls.hasPrefix("TLSv1."))
        #expect(result.metrics.secureConnect >= result.metrics.connect)
        #expect(result.metrics.connect > 0)
    }

    @Test func `the httpVersion setting can select HTTP/1`() async throws {
        let (transport, nginx) = try await transport { $0.httpVersion = .http1 }
        let result = try await transport.get("\(nginx.baseURL(.tls))/info")
        #expect(result.response?.httpVersion == "HTTP/1.1")
    }

    @Test func `the httpVersion setting can select HTTP/2 without TLS`() async throws {
        let nginx = try await Nginx.shared()
        let transport = CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
        let result = try await transport.get("\(nginx.baseURL(.plainHTTP2))/info")
        #expect(result.error == nil)
        #expect(result.response?.httpVersion == "HTTP/2")
    }

    @Test func `requests to an HTTP/2 origin share a connection`() async throws {
        let (transport, nginx) = try await transport()
        _ = try await transport.get("\(nginx.baseURL(.tls))/info")
        let probes = (0..<50).map { _ in Probe() }
        for probe in probes {
            let request = HTTPRequest(url: URL(string: "\(nginx.baseURL(.tls))/info"))
            _ = transport.start(TransferJob(request: request), handler: probe)
        }
        for probe in probes {
            let result = try await probe.end.value()
            #expect(result.error == nil)
            #expect(result.metrics.isReusedConnection)
        }
    }

    @Test func `a second connection resumes the TLS session of the first`() async throws {
        let (transport, nginx) = try await transport { $0.httpVersion = .http1 }
        _ = try await transport.get("\(nginx.baseURL(.tls))/closing")
        let second = try await transport.get("\(nginx.baseURL(.tls))/info")
        #expect(!second.metrics.isReusedConnection)
        #expect(second.text.contains(#""session_reused":"r""#))
    }

    @Test func `the error of an expired certificate contains its dates`() async throws {
        let (transport, nginx) = try await transport()
        let error = try await transport.get("\(nginx.baseURL(.expired))/").error
        #expect(error?.code == .serverCertificateHasBadDate)
        #expect(error?.stage == .securing)
        #expect(error?.reason.contains("to 2020-01-31 00:00 UTC") == true)
    }

    @Test func `the error of a certificate for another host contains both names`() async throws {
        let (transport, nginx) = try await transport()
        let error = try await transport.get("\(nginx.baseURL(.wrongHost))/").error
        #expect(error?.code == .serverCertificateUntrusted)
        #expect(
            error?.reason
                == "the server's certificate is for wrong.host.test, not for localhost")
    }

    @Test func `a self-signed certificate is refused`() async throws {
        let (transport, nginx) = try await transport()
        let error = try await transport.get("\(nginx.baseURL(.selfSigned))/").error
        #expect(error?.code == .serverCertificateUntrusted)
        #expect(error?.reason.contains("CN=localhost,O=Outlet") == true)
        #expect(error?.reason.hasSuffix("by the program's settings") == true)
        #expect(error?.advice.contains(nginx.authority.certificatePath) == true)
    }

    @Test func `an unknown authority is refused`() async throws {
        let nginx = try await Nginx.shared()
        let error = try await CurlTransport.test().get("\(nginx.baseURL(.tls))/").error
        #expect(error?.code == .serverCertificateUntrusted)
        #expect(error?.reason.contains("no authority that is trusted here") == true)
        #expect(error?.advice.contains("SSL_CERT_FILE") == true)
    }

    @Test func `verification can be switched off`() async throws {
        let nginx = try await Nginx.shared()
        let transport = CurlTransport.test { $0.verifiesCertificates = false }
        for listener in [Nginx.Listener.expired, .wrongHost, .selfSigned] {
            let result = try await transport.get("\(nginx.baseURL(listener))/info")
            #expect(result.error == nil)
        }
    }

    @Test func `a missing file of authorities is an error for https only`() async throws {
        let nginx = try await Nginx.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: "/nonexistent/ca.pem")
        }
        let error = try await transport.get("\(nginx.baseURL(.tls))/").error
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.reason.contains("/nonexistent/ca.pem") == true)
        #expect(try await transport.get("\(nginx.baseURL())/info").error == nil)
    }

    @Test func `a configured client certificate is sent`() async throws {
        let nginx = try await Nginx.shared()
        let client = try await nginx.authority.client()
        let (transport, _) = try await transport {
            $0.clientCertificate = ClientCertificate(
                certificatePath: client.certificatePath, keyPath: client.keyPath)
        }
        let result = try await transport.get("\(nginx.baseURL(.clientCertificate))/info")
        #expect(result.text.contains("CN=outlet-client"))
    }

    @Test func `a missing file of the client certificate is an error`() async throws {
        let (transport, nginx) = try await transport {
            $0.clientCertificate = ClientCertificate(certificatePath: "/nonexistent/client.pem")
        }
        let error = try await transport.get("\(nginx.baseURL(.clientCertificate))/info").error
        #expect(error?.code == .clientCertificateRejected)
    }

    @Test func `the error of a port without TLS advises the http scheme`() async throws {
        let (transport, nginx) = try await transport()
        let error = try await transport.get("https://localhost:\(nginx.port(.plain))/").error
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.advice.contains("http://") == true)
    }
}
