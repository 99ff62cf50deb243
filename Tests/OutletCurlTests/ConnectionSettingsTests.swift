import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `Settings of connections` {
    /// A server that closes each connection after one response.
    private func closingServer() throws -> ScriptedServer {
        try ScriptedServer.start(.request, .respond(headers: ["Connection: close"], body: "here"))
    }

    // MARK: Addresses

    @Test func `a host with static addresses is not resolved, and the Host field keeps its name`()
        async throws
    {
        let server = try closingServer()
        let hostAndPort = "api.example.test:\(server.port)"
        let transport = CurlTransport.test {
            // Nothing listens on the first address.
            $0.staticAddresses = [hostAndPort: ["127.0.0.9", "127.0.0.1"]]
            $0.dnsCacheLifetime = 0
        }
        for _ in 0..<2 {
            let result = try await transport.get("http://API.example.test:\(server.port)/")
            #expect(result.error == nil)
            #expect(result.text == "here")
        }
        #expect(server.requests.values.allSatisfy { $0.head.contains("Host: \(hostAndPort)\r\n") })
        let other = try await CurlTransport.test().get("http://\(hostAndPort)/")
        #expect(other.error?.code == .cannotFindHost)
    }

    @Test func `idle connections to many hosts leave descriptors for others`() async {
        await #expect(processExitsWith: .success) {
            let server = try ScriptedServer.start(.request, .respond(body: "here"), .again)
            let hosts = (0..<80).map { "host\($0).test:\(server.port)" }
            let transport = CurlTransport.test {
                for host in hosts { $0.staticAddresses[host] = ["127.0.0.1"] }
            }
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit()
            getrlimit(files, &limit)
            var hundred = rlimit(rlim_cur: 100, rlim_max: limit.rlim_max)
            setrlimit(files, &hundred)
            // Starts the loop.
            #expect(try await transport.get("http://\(hosts[0])/").text == "here")
            // The server needs descriptors, too.
            setrlimit(files, &limit)
            for host in hosts { #expect(try await transport.get("http://\(host)/").text == "here") }
            let kept = transport.statistics(perOrigin: false).total.idleConnections
            #expect((40...50).contains(kept))
        }
    }

    @Test func `each easy handle of a transport has the static addresses`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "here"), .again)
        let hostAndPort = "api.example.test:\(server.port)"
        let transport = CurlTransport.test { $0.staticAddresses = [hostAndPort: ["127.0.0.1"]] }
        let probes = (0..<8).map { _ in Probe() }
        for (index, probe) in probes.enumerated() {
            // A handle is reset after a transfer with a body, so both kinds of transfer are used.
            let body: HTTPBody = index % 2 == 0 ? .none : .data(Data("body".utf8))
            let request = HTTPRequest(
                url: URL(string: "http://\(hostAndPort)/"), method: index % 2 == 0 ? .get : .post,
                body: body)
            _ = transport.start(TransferJob(request: request), handler: probe)
        }
        for probe in probes { #expect(try await probe.end.value().error == nil) }
    }

    @Test func `all requests by prior knowledge without TLS succeed, within the connection limit`()
        async throws
    {
        let url = "\(try await Nginx.shared().baseURL(.plainHTTP2))/info"
        let transport = CurlTransport.test {
            $0.httpVersion = .http2PriorKnowledge
            $0.httpMaximumConnectionsPerHost = 3
        }
        for _ in 0..<2 {
            let probes = (0..<10).map { _ in Probe() }
            for probe in probes {
                _ = transport.start(
                    TransferJob(request: HTTPRequest(url: URL(string: url))), handler: probe)
            }
            #expect(transport.statistics.total.openConnections <= 3)
            for probe in probes {
                let result = try await probe.end.value()
                #expect(result.error == nil, "\(result.error?.reason ?? "")")
                #expect(result.response?.httpVersion == "HTTP/2")
            }
        }
    }

    @Test func `the address policy applies to static addresses`() async throws {
        let transport = CurlTransport.test {
            $0.staticAddresses = ["api.example.test:80": ["127.0.0.1"]]
            $0.addressPolicy = .publicOnly
        }
        let error = try await transport.get("http://api.example.test/").error
        #expect(error?.code == .addressNotAllowed)
        #expect(error?.reason.contains("127.0.0.1") == true)
    }

    @Test(arguments: [
        ("api.example.test", ["127.0.0.1"], #""api.example.test" is not of the form host:port"#),
        (
            "api.example.test:0", ["127.0.0.1"],
            #""api.example.test:0" is not of the form host:port"#
        ),
        ("api.example.test:+80", ["::1"], #""api.example.test:+80" is not of the form host:port"#),
        ("a:80", [], #""a:80" has no address"#),
        ("a:80", ["b.test"], #""b.test", for "a:80", is no IPv4 or IPv6 address"#),
        (
            "a:80", ["127.0.0.1,10.0.0.1"],
            #""127.0.0.1,10.0.0.1", for "a:80", is no IPv4 or IPv6 address"#
        ),
        ("a:80", ["fe80::1%lo"], #""fe80::1%lo", for "a:80", is no IPv4 or IPv6 address"#),
        ("127.1:80", ["127.0.0.1"], #""127.1:80" is an address, for which nothing is looked up"#),
        ("-a:80\n:b", ["127.0.0.1"], #""-a:80\n:b" is not of the form host:port"#),
    ])
    func `an invalid static address is an error`(
        hostAndPort: String, addresses: [String], fact: String
    ) async throws {
        let error = try await CurlTransport.test { $0.staticAddresses = [hostAndPort: addresses] }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "staticAddresses: \(fact)")
    }

    @Test func `the same host and port in two spellings is an error`() async throws {
        let table = ["a.test:80": ["127.0.0.1"], "A.TEST:80": ["127.0.0.2"]]
        let error = try await CurlTransport.test { $0.staticAddresses = table }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "staticAddresses: a.test:80 is there twice")
    }

    // MARK: Name lookup

    @Test func `resolved addresses are cached for dnsCacheLifetime`() async throws {
        let server = try closingServer()
        let url = "http://name.slow-200.loopback.test:\(server.port)/"
        let standard = CurlTransport.test()
        let uncached = CurlTransport.test { $0.dnsCacheLifetime = 0 }
        for (transport, isCached) in [(standard, true), (uncached, false)] {
            #expect(try await transport.get(url).metrics.nameLookup >= 200_000)
            let second = try await transport.get(url)
            #expect(second.error == nil)
            #expect((second.metrics.nameLookup < 200_000) == isCached)
        }
    }

    @Test(arguments: [-1, .nan])
    func `an invalid dnsCacheLifetime is an error`(lifetime: TimeInterval) async throws {
        let error = try await CurlTransport.test { $0.dnsCacheLifetime = lifetime }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "dnsCacheLifetime: \(lifetime) s is not 0 or more")
    }

    // MARK: Source address

    @Test func `connections use the configured source address or interface`() async throws {
        let server = try closingServer()
        for (source, local) in [
            (nil, "127.0.0.1:"), (.address("127.0.0.7"), "127.0.0.7:"),
            (.interface("lo"), "127.0.0.1:"),
        ] as [(SourceAddress?, String)] {
            let result = try await CurlTransport.test { $0.sourceAddress = source }
                .get(server.baseURL)
            #expect(result.error == nil)
            #expect(result.metrics.localAddress.hasPrefix(local))
        }
    }

    @Test(arguments: [SourceAddress.address("192.0.2.77"), .interface("no-such-one0")])
    func `a source address that this machine does not have is an error`(
        source: SourceAddress
    ) async throws {
        let server = try closingServer()
        let error = try await CurlTransport.test { $0.sourceAddress = source }
            .get(server.baseURL).error
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.reason.contains("sourceAddress") == true)
    }

    @Test(arguments: [
        (SourceAddress.address("localhost"), #""localhost" is no IPv4 or IPv6 address"#),
        (.interface(""), #""" is no name of an interface"#),
        (.interface("if!lo eth0"), #""if!lo eth0" is no name of an interface"#),
        (.interface("interface-too-long"), #""interface-too-long" is no name of an interface"#),
    ])
    func `an invalid source address is an error`(source: SourceAddress, fact: String) async throws {
        let error = try await CurlTransport.test { $0.sourceAddress = source }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "sourceAddress: \(fact)")
    }

    // MARK: Unix socket

    @Test(arguments: ["", String(repeating: "x", count: 108), "/run/x\u{0}y"])
    func `a path that no Unix socket can have is an error`(path: String) async throws {
        let error = try await CurlTransport.test { $0.unixSocketPath = path }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason.hasPrefix("unixSocketPath: a path of ") == true)
    }

    // MARK: TCP keep-alive

    @Test func `tcpKeepAlive sets the keep-alive options of the socket`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "here"), .stall)
        let standard = CurlTransport.test()
        let probing = CurlTransport.test { $0.tcpKeepAlive = TCPKeepAlive(idle: 33, interval: 7) }
        let plain = try await standard.get(server.baseURL).metrics.localAddress
        #expect(SocketOptions(ofSocketAt: plain)?.isProbed == false)
        let probed = try await probing.get(server.baseURL).metrics.localAddress
        #expect(
            SocketOptions(ofSocketAt: probed)
                == SocketOptions(isProbed: true, idle: 33, interval: 7))
        withExtendedLifetime((standard, probing)) {}
    }

    @Test(arguments: [
        (TCPKeepAlive(idle: 0, interval: 1), "tcpKeepAlive.idle: 0.0 s"),
        (TCPKeepAlive(idle: 1, interval: 40_000), "tcpKeepAlive.interval: 40000.0 s"),
    ])
    func `a keep-alive time outside the range is an error`(probes: TCPKeepAlive, fact: String)
        async throws
    {
        let error = try await CurlTransport.test { $0.tcpKeepAlive = probes }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "\(fact) is not between 1 s and 32,767 s")
    }

    // MARK: Throughput

    @Test func `a transfer below the minimum throughput times out`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
            .trickle(Array(repeating: 0x2E, count: 100_000), size: 10, interval: .milliseconds(50)))
        let transport = CurlTransport.test {
            $0.minimumThroughput = MinimumThroughput(bytesPerSecond: 5000, period: 1)
        }
        let error = try await transport.get(server.baseURL).error
        #expect(error?.code == .timedOut)
        #expect(
            error?.reason
                == "too slow while receiving the response: less than 5000 bytes/s for 1 s, as "
                + "minimumThroughput demands")
        #expect(error?.advice == "lower minimumThroughput")
    }

    @Test(arguments: [
        (MinimumThroughput(bytesPerSecond: 0, period: 1), "bytesPerSecond: 0 is less than 1"),
        (MinimumThroughput(bytesPerSecond: 1, period: 0.5), "period: 0.5 s is not 1 s or more"),
        (
            MinimumThroughput(bytesPerSecond: 1, period: .infinity),
            "period: inf s is not 1 s or more"
        ),
    ])
    func `an invalid minimum throughput is an error`(minimum: MinimumThroughput, fact: String)
        async throws
    {
        let error = try await CurlTransport.test { $0.minimumThroughput = minimum }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason == "minimumThroughput.\(fact)")
    }

    // MARK: Limits for some origins

    @Test func `an origin may have its own connection limit`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(), .again)
        let other = try ScriptedServer.start(.request, .wait(gate), .respond(), .again)
        let origin = try Origin(#require(URL(string: server.baseURL)))
        let transport = CurlTransport.test {
            $0.httpMaximumConnectionsPerHost = 1
            $0.maximumConnectionsPerOrigin = [origin: 3]
        }
        let probes = (0..<8).map { _ in Probe() }
        for (index, probe) in probes.enumerated() {
            let base = index % 2 == 0 ? server.baseURL : other.baseURL
            let request = HTTPRequest(url: URL(string: base))
            _ = transport.start(TransferJob(request: request), handler: probe)
        }
        try await server.requests.values(3)
        try await other.requests.values(1)
        gate.open()
        for probe in probes { #expect(try await probe.end.value().error == nil) }
        #expect(server.connections.count == 3)
        #expect(other.connections.count == 1)
    }

    @Test func `a connection limit below 1 is an error`() async throws {
        let origin = try Origin(#require(URL(string: "https://example.test")))
        let error = try await CurlTransport.test { $0.maximumConnectionsPerOrigin = [origin: 0] }
            .get("http://127.0.0.1:1/").error
        #expect(error?.code == .badConfiguration)
        #expect(
            error?.reason
                == "maximumConnectionsPerOrigin: 0 for https://example.test is less than 1")
    }

    private static let invalid:
        [(name: String, change: @Sendable (inout TransportConfiguration) -> Void)] = [
            ("proxy", { $0.proxy = .url("", except: []) }),
            ("proxy", { $0.proxy = .url("http://h:1", except: ["10.0.0.0/99"]) }),
            ("proxy", { $0.proxy = .url("http://h:1", except: ["127.*"]) }),
            ("proxy", { $0.proxy = .url("http://h:1", except: ["127.0.0.0/8:80"]) }),
            ("proxy", { $0.proxy = .url("http://h:1", except: ["http://a.test"]) }),
            ("proxy", { $0.proxy = .url("http://h:1", except: [""]) }),
            ("proxyCredential", { $0.proxyCredential = Credential(bearerToken: "t") }),
            ("connectTimeout", { $0.connectTimeout = -1 }),
            ("connectTimeout", { $0.connectTimeout = .nan }),
            ("timeoutIntervalForRequest", { $0.timeoutIntervalForRequest = .nan }),
            ("timeoutIntervalForResource", { $0.timeoutIntervalForResource = -1 }),
            ("httpMaximumConnectionsPerHost", { $0.httpMaximumConnectionsPerHost = 0 }),
            ("maximumConnections", { $0.maximumConnections = -1 }),
        ]

    @Test(arguments: invalid.indices)
    func `an invalid setting is an error that names it`(index: Int) async throws {
        let (name, change) = Self.invalid[index]
        let server = try ScriptedServer.start(.request, .respond())
        let error = try await CurlTransport.test { change(&$0) }.get(server.baseURL).error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason.hasPrefix("\(name): ") == true, "\(error?.reason ?? "")")
        #expect(server.requests.values.isEmpty)
    }

    @Test func `every kind of exception from the proxy is valid`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "direct"))
        let transport = CurlTransport.test {
            $0.proxy = .url(
                "http://127.0.0.1:1",
                except: [
                    "*.a.test", ".b.test", "c.test:80", "[::1]:8080", "::1", "fd00::/8",
                    "10.0.0.0/0",
                    "127.0.0.1",
                ])
        }
        #expect(try await transport.get(server.baseURL).text == "direct")
    }
}

/// The keep-alive options of a TCP socket.
private struct SocketOptions: Equatable {
    var isProbed: Bool
    var idle: Int32
    var interval: Int32

    init(isProbed: Bool, idle: Int32, interval: Int32) {
        self.isProbed = isProbed
        self.idle = idle
        self.interval = interval
    }

    /// Reads the options of this process's socket with the local port in `address`; `nil` if there
    /// is none.
    init?(ofSocketAt address: String) {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            return nil
        }
        let found = (0..<4096).first { Self.localPort(of: $0) == port }
        guard let found else { return nil }
        isProbed = Self.option(found, SOL_SOCKET, SO_KEEPALIVE) != 0
        idle = Self.option(found, Int32(IPPROTO_TCP), TCP_KEEPIDLE)
        interval = Self.option(found, Int32(IPPROTO_TCP), TCP_KEEPINTVL)
    }

    /// Returns the local port of a socket.
    private static func localPort(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size)
            }
        }
        return code == 0 && address.sin_family == AF_INET
            ? UInt16(bigEndian: address.sin_port) : nil
    }

    private static func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, level, name, &value, &size)
        return value
    }
}
