import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Proxies with TLS.
@Suite struct SecureProxyTests {
    private func session(
        _ proxy: HandshakePeer, _ evaluators: [String: any ServerTrustEvaluating]? = nil,
        allHosts: Bool = false, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .url(proxy.baseURL(.tls13), except: [])
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        change(&configuration)
        return Session(
            configuration: configuration,
            serverTrustManager: evaluators.map {
                ServerTrustManager(allHostsMustBeEvaluated: allHosts, evaluators: $0)
            })
    }

    private func get(_ session: Session, _ url: String) async -> DataResponse<String, SessionError>
    {
        await session.request(url).serializingString().response
    }

    @Test func `the session's authorities apply to the proxy as well`() async throws {
        let proxy = try await HandshakePeer.start()
        let nginx = try await Nginx.shared()
        let session = try await session(proxy)
        #expect(await get(session, "http://far.test/x").value == "served")
        #expect(await get(session, "\(nginx.baseURL(.tls))/small.txt").value == "small\n")
        let other = try await self.session(proxy) {
            $0.certificateAuthorities = .directory(path: "/nonexistent")
        }
        for url in ["http://far.test/x", "\(nginx.baseURL(.tls))/small.txt"] {
            let error = await get(other, url).error?.transferError
            #expect(error?.stage == .securing)
        }
        let seen = try await proxy.seen(6)
        #expect(seen.filter { $0 == "client none" }.count == 2)
        await proxy.stop()
    }

    @Test func `the error of a refused certificate says whether it is the proxy's`() async throws {
        let proxy = try await HandshakePeer.start()
        let nginx = try await Nginx.shared()
        let wrong = nginx.baseURL(.wrongHost)
        func reason(_ session: Session, _ url: String) async -> String? {
            await get(session, url).error?.transferError?.reason
        }
        let direct = try await session(proxy)
        #expect(
            await reason(direct, "\(wrong)/small.txt")
                == "the server's certificate is for wrong.host.test, not for localhost")
        let refused = try await session(proxy) { $0.proxy = .url(wrong, except: []) }
        for url in ["http://far.test/x", "https://far.test/x"] {
            #expect(
                await reason(refused, url)
                    == "the proxy's certificate is for wrong.host.test, not for localhost")
        }
        await proxy.stop()
    }

    @Test func `a refused certificate of a server has the same error through an https proxy`()
        async throws
    {
        let proxy = try await HandshakePeer.start()
        let nginx = try await Nginx.shared()
        for (listener, code) in [
            (.expired, .serverCertificateHasBadDate), (.selfSigned, .serverCertificateUntrusted),
            (.wrongHost, .serverCertificateUntrusted),
        ] as [(Nginx.Listener, TransferError.Code)] {
            let url = "\(nginx.baseURL(listener))/small.txt"
            let direct = try await session(proxy) { $0.proxy = .none }
            let expected = await get(direct, url).error?.transferError
            #expect(expected?.code == code)
            let error = await get(try await session(proxy), url).error?.transferError
            #expect(error?.code == code)
            #expect(error?.reason == expected?.reason)
        }
        await proxy.stop()
    }

    @Test func `proxy and server are each evaluated once under their own name`() async throws {
        let proxy = try await HandshakePeer.start()
        let nginx = try await Nginx.shared()
        let (ofProxy, ofServer) = (PortRecorder(), PortRecorder())
        let session = try await session(
            proxy,
            [
                "localhost:\(proxy.port(.tls13))": ofProxy,
                "localhost:\(nginx.port(.tls))": ofServer,
            ])
        for _ in 0..<2 {
            #expect(await get(session, "\(nginx.baseURL(.tls))/small.txt").value == "small\n")
        }
        #expect(ofProxy.ports.values == [Int(proxy.port(.tls13))])
        #expect(ofServer.ports.values == [Int(nginx.port(.tls))])
        // Without TLS to the server only the proxy is evaluated.
        #expect(await get(session, "http://far.test/x").value == "served")
        #expect(ofProxy.ports.values.count == 2)
        #expect(ofServer.ports.values.count == 1)
        await proxy.stop()
    }

    @Test(arguments: [false, true])
    func `TLS version and cipher settings apply to the proxy as well`(hasEvaluator: Bool)
        async throws
    {
        let proxy = try await HandshakePeer.start()
        let evaluators: [String: any ServerTrustEvaluating]? =
            hasEvaluator ? ["localhost": DisabledTrustEvaluator()] : nil
        let settings: [(HandshakePeer.Listener, (inout SessionConfiguration) -> Void, Bool)] = [
            (.tls12, { _ in }, true), (.tls12, { $0.minimumTLSVersion = .tls13 }, false),
            // A cipher for another kind of key, and one that servers do not offer by default.
            (.tls12, { $0.tlsCipherList = "ECDHE-RSA-AES128-GCM-SHA256" }, false),
            (.tls13, { $0.tls13CipherSuites = "TLS_AES_128_CCM_8_SHA256" }, false),
        ]
        for (listener, change, isServed) in settings {
            let session = try await session(proxy, evaluators) {
                $0.proxy = .url(proxy.baseURL(listener), except: [])
                change(&$0)
            }
            let response = await get(session, "http://far.test/x")
            #expect((response.value == "served") == isServed)
            #expect(isServed || response.error?.transferError?.stage == .securing)
        }
        await proxy.stop()
    }

    @Test func `a refused proxy receives nothing of the request`() async throws {
        let proxy = try await HandshakePeer.start()
        let nginx = try await Nginx.shared()
        let pin = PublicKey(der: Data(), sha256: Data(repeating: 7, count: 32))
        let session = try await session(
            proxy,
            [
                "localhost:\(proxy.port(.tls13))": PublicKeysTrustEvaluator(keys: [pin]),
                "localhost": DisabledTrustEvaluator(),
            ])
        for url in ["http://far.test/x", "\(nginx.baseURL(.tls))/small.txt"] {
            #expect(await get(session, url).error?.isServerTrustEvaluationError == true)
        }
        #expect(try await proxy.seen(2) == ["failed", "failed"])
        await proxy.stop()
    }

    @Test func `an idle tunnel is reused only by sessions that trust its proxy`() async throws {
        let proxy = try await HandshakePeer.start()
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.proxy = .url(proxy.baseURL(.tls13), except: [])
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        let transport = CurlTransport(configuration: configuration)
        let pin = PublicKey(der: Data(), sha256: Data(repeating: 7, count: 32))
        let ofProxy: [any ServerTrustEvaluating] = [
            DisabledTrustEvaluator(), DisabledTrustEvaluator(),
            PublicKeysTrustEvaluator(keys: [pin]),
        ]
        let sessions = ofProxy.map { evaluator in
            Session(
                transport: transport,
                serverTrustManager: ServerTrustManager(evaluators: [
                    "localhost:\(proxy.port(.tls13))": evaluator,
                    "localhost:\(nginx.port(.tls))": DefaultTrustEvaluator(),
                ]))
        }
        let url = "\(nginx.baseURL(.tls))/small.txt"
        #expect(await get(sessions[0], url).value == "small\n")
        #expect(await get(sessions[1], url).metrics?.isReusedConnection == true)
        #expect(await get(sessions[2], url).error?.isServerTrustEvaluationError == true)
        await proxy.stop()
    }

    @Test func `a connection to a proxy belongs to the policy that accepted it`() async throws {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        // It answers requests to servers without TLS itself.
        configuration.proxy = .url(nginx.baseURL(.selfSigned), except: ["localhost"])
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        let transport = CurlTransport(configuration: configuration)
        func session(_ evaluator: (any ServerTrustEvaluating)?) -> Session {
            Session(
                transport: transport,
                serverTrustManager: evaluator.map {
                    ServerTrustManager(
                        allHostsMustBeEvaluated: false, evaluators: ["localhost": $0])
                })
        }
        let pin = PublicKey(der: Data(), sha256: Data(repeating: 7, count: 32))
        let strict = [
            session(nil), session(DefaultTrustEvaluator()),
            session(PublicKeysTrustEvaluator(keys: [pin])),
        ]
        let lax = [session(DisabledTrustEvaluator()), session(DisabledTrustEvaluator())]
        let url = "http://far.test/small.txt"
        for (index, isReused) in [false, true].enumerated() {
            let response = await get(lax[index], url)
            #expect(response.value == "small\n")
            #expect(response.metrics?.isReusedConnection == isReused)
            for other in strict + strict {
                let refused = await get(other, url)
                #expect(refused.response == nil)
                #expect(
                    refused.error?.transferError?.stage == .securing
                        || refused.error?.isServerTrustEvaluationError == true)
                // Leaves options of its policy in the handle that is used next.
                let direct = await get(lax[index], "\(nginx.baseURL(.tls))/small.txt")
                #expect(direct.value == "small\n")
            }
        }
    }

    @Test func `allHostsMustBeEvaluated applies to the proxy, too`() async throws {
        let proxy = try await HandshakePeer.start()
        let session = try await session(proxy, [:], allHosts: true)
        guard
            case .serverTrustEvaluationFailed(.noRequiredEvaluator(host: "localhost")) =
                await get(session, "http://far.test/x").error
        else {
            Issue.record("not refused")
            return
        }
        await proxy.stop()
    }
}

/// Trusts every server, and records its port.
private struct PortRecorder: ServerTrustEvaluating {
    let ports = Recorder<Int>()

    func evaluate(_ trust: ServerTrust, forHost host: String) throws { ports.record(trust.port) }
}
