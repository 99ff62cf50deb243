import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

/// Many simultaneous requests to a server that may support HTTP/2.
///
/// All but the first wait until the TLS handshake of the first has negotiated the protocol.
@Suite(.timeLimit(.minutes(patience))) struct MultiplexingTests {
    private func transport(
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) async throws -> CurlTransport {
        let nginx = try await Nginx.shared()
        return CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            change(&$0)
        }
    }

    /// Starts `count` transfers without waiting for any of them.
    private func burst(
        of count: Int, to url: String, by transport: CurlTransport
    ) -> (tasks: [any TransferTask], probes: [Probe]) {
        let probes = (0..<count).map { _ in Probe() }
        let tasks = probes.map {
            transport.start(TransferJob(request: HTTPRequest(url: URL(string: url))), handler: $0)
        }
        return (tasks, probes)
    }

    /// Waits for the results, and returns them with nginx's numbers of their connections.
    private func ends(_ probes: [Probe]) async throws -> (
        results: [TransferResult], connections: Set<Int64>
    ) {
        var results: [TransferResult] = []
        for probe in probes { results.append(try await probe.end.value()) }
        let connections = results.compactMap { result -> Int64? in
            guard let body = result.body, let info = try? JSONValue(parsing: Array(body)) else {
                return nil
            }
            return info["connection"]?.stringValue.flatMap { Int64($0) }
        }
        return (results, Set(connections))
    }

    @Test func `the first burst to an HTTP/2 server uses one connection`() async throws {
        let transport = try await transport()
        let url = "\(try await Nginx.shared().baseURL(.tls))/info"
        for _ in 0..<2 {
            let (results, connections) = try await ends(
                burst(of: 64, to: url, by: transport).probes)
            #expect(results.allSatisfy { $0.error == nil })
            #expect(connections.count == 1)
        }
    }

    @Test func `the first burst to an HTTP/1 server uses several connections up to the limit`()
        async throws
    {
        let transport = try await transport { $0.httpMaximumConnectionsPerHost = 8 }
        let url = "\(try await Nginx.shared().baseURL(.tlsHTTP1))/info"
        let (results, connections) = try await ends(burst(of: 32, to: url, by: transport).probes)
        #expect(results.allSatisfy { $0.error == nil })
        #expect((2...8).contains(connections.count))
    }

    /// Starts four requests that take all streams of a connection until they are cancelled, and waits
    /// for the start of their responses.
    private func occupyConnection(
        of server: String, by transport: CurlTransport
    ) async throws -> (tasks: [any TransferTask], probes: [Probe]) {
        let slow = burst(of: 4, to: "\(server)/limited/large.bin", by: transport)
        for probe in slow.probes { _ = try await probe.events.values(1) }
        return slow
    }

    @Test func `streams above the server's limit use other connections`() async throws {
        let transport = try await transport()
        let server = try await Nginx.shared().baseURL(.fewStreams)
        let (_, connection) = try await ends(
            burst(of: 1, to: "\(server)/info", by: transport).probes)
        let slow = try await occupyConnection(of: server, by: transport)
        let (results, others) = try await ends(
            burst(of: 40, to: "\(server)/info", by: transport).probes)
        #expect(results.allSatisfy { $0.error == nil })
        #expect(!others.isEmpty && others.isDisjoint(with: connection))
        for task in slow.tasks { task.cancel() }
        _ = try await ends(slow.probes)
    }

    @Test func `requests without a free stream wait when the connection limit is reached`()
        async throws
    {
        let transport = try await transport { $0.httpMaximumConnectionsPerHost = 3 }
        let server = try await Nginx.shared().baseURL(.fewStreams)
        _ = try await ends(burst(of: 1, to: "\(server)/info", by: transport).probes)
        var slow: [(tasks: [any TransferTask], probes: [Probe])] = []
        for connections in 1...3 {
            slow.append(try await occupyConnection(of: server, by: transport))
            #expect(transport.statistics.total.openConnections == connections)
        }
        let waiting = burst(of: 60, to: "\(server)/info", by: transport)
        while transport.statistics.total.requestsWaiting != 60, !Task.isCancelled {
            await Task.yield()
        }
        #expect(transport.statistics.total.openConnections == 3)
        for task in slow.flatMap(\.tasks) { task.cancel() }
        let (results, connections) = try await ends(waiting.probes)
        #expect(results.allSatisfy { $0.error == nil })
        #expect(connections.count <= 3)
        _ = try await ends(slow.flatMap(\.probes))
    }

    @Test func `requests that wait for a stream can be cancelled, and later ones succeed`()
        async throws
    {
        let server = try await Nginx.shared().baseURL(.fewStreams)
        let transport = try await transport { $0.httpMaximumConnectionsPerHost = 1 }
        // Learns that the server speaks HTTP/2.
        _ = try await ends(burst(of: 1, to: "\(server)/info", by: transport).probes)
        let slow = burst(of: 8, to: "\(server)/limited/large.bin", by: transport)
        while transport.statistics.total.requestsWaiting != 4, !Task.isCancelled {
            await Task.yield()
        }
        #expect(transport.statistics.total.openConnections == 1)
        for task in slow.tasks { task.cancel() }
        let (results, _) = try await ends(slow.probes)
        #expect(results.allSatisfy { $0.error?.code == .cancelled })
        let (others, _) = try await ends(burst(of: 8, to: "\(server)/info", by: transport).probes)
        #expect(others.allSatisfy { $0.error == nil })
    }

    @Test func `a stalled TLS handshake does not block the other requests`() async throws {
        let server = try ScriptedServer.start { _ in [.stall] }
        let transport = try await transport()
        let (tasks, probes) = burst(
            of: 20, to: "https://localhost:\(server.port)/", by: transport)
        _ = try await server.connections.values(20)
        for task in tasks { task.cancel() }
        #expect(try await ends(probes).results.allSatisfy { $0.error?.code == .cancelled })
    }

    @Test func `all requests to a server that stalls the TLS handshake time out`()
        async throws
    {
        let server = try ScriptedServer.start { _ in [.stall] }
        let transport = try await transport { $0.connectTimeout = 0.3 }
        let url = "https://localhost:\(server.port)/"
        let (results, _) = try await ends(burst(of: 20, to: url, by: transport).probes)
        #expect(results.allSatisfy { $0.error?.code == .timedOut })
        #expect(server.connections.values.count == 20)
    }

    @Test func `requests above maximumQueuedRequests do not wait for the first handshake`()
        async throws
    {
        let transport = try await transport { $0.maximumQueuedRequests = 3 }
        let url = "\(try await Nginx.shared().baseURL(.tlsHTTP1))/info"
        let (results, _) = try await ends(burst(of: 6, to: url, by: transport).probes)
        #expect(results.allSatisfy { $0.error == nil })
    }

    @Test func `waiting requests continue when the first is suspended in its handshake`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let gate = try Gate()
        let relay = try ScriptedServer.start { number in
            let peer = SocketAddress.loopback(port: nginx.port(.tls))
            return number == 0 ? [.open(gate), .stall] : [.relay(peer)]
        }
        let transport = try await transport()
        let (tasks, probes) = burst(
            of: 20, to: "https://localhost:\(relay.port)/info", by: transport)
        try await gate.opened()
        tasks.first?.suspend()
        let (results, _) = try await ends(Array(probes.dropFirst()))
        #expect(results.allSatisfy { $0.error == nil })
        tasks.first?.cancel()
        #expect(try await probes.first?.end.value().error?.code == .cancelled)
    }

    @Test func `waiting requests continue when the first is cancelled in its handshake`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let gate = try Gate()
        let relay = try ScriptedServer.start { number in
            let peer = SocketAddress.loopback(port: nginx.port(.tls))
            return number == 0 ? [.open(gate), .stall] : [.relay(peer)]
        }
        let transport = try await transport()
        let (tasks, probes) = burst(
            of: 20, to: "https://localhost:\(relay.port)/info", by: transport)
        try await gate.opened()
        tasks.first?.cancel()
        let (results, connections) = try await ends(probes)
        #expect(results.first?.error?.code == .cancelled)
        #expect(results.dropFirst().allSatisfy { $0.error == nil })
        #expect(connections.count == 1)
    }

    @Test(arguments: [0, 100])
    func `waiting requests continue when the first loses its connection`(cut: Int) async throws {
        let nginx = try await Nginx.shared()
        let relay = try ScriptedServer.start { number in
            let peer = SocketAddress.loopback(port: nginx.port(.tls))
            return number == 0 ? [.relayed(peer, limit: cut), .reset] : [.relay(peer)]
        }
        let transport = try await transport()
        let (results, connections) = try await ends(
            burst(of: 20, to: "https://localhost:\(relay.port)/info", by: transport).probes)
        #expect(results.filter { $0.error != nil }.count == 1)
        #expect(connections.count <= 19)
    }

    @Test func `a burst with more requests than a connection has streams uses few connections`()
        async throws
    {
        let transport = try await transport()
        let url = "\(try await Nginx.shared().baseURL(.tls))/info"
        for _ in 0..<2 {
            let (results, connections) = try await ends(
                burst(of: 200, to: url, by: transport).probes)
            #expect(results.allSatisfy { $0.error == nil })
            #expect(connections.count <= 3)
        }
    }

    @Test(arguments: [false, true])
    func `a request that waits for a connection continues when another one cannot make it`(
        isCancelled: Bool
    ) async throws {
        let nginx = try await Nginx.shared()
        let gate = try Gate()
        let relay = try ScriptedServer.start { number in
            let peer = SocketAddress.loopback(port: nginx.port(.fewStreams))
            return number == 1 ? [.open(gate), .stall] : [.relay(peer)]
        }
        let transport = try await transport()
        let server = "https://localhost:\(relay.port)"
        _ = try await ends(burst(of: 1, to: "\(server)/info", by: transport).probes)
        let slow = try await occupyConnection(of: server, by: transport)
        let opener = burst(of: 1, to: "\(server)/info", by: transport)
        try await gate.opened()
        let waiting = burst(of: 2, to: "\(server)/info", by: transport)
        if isCancelled { opener.tasks.first?.cancel() }
        let (results, connections) = try await ends(waiting.probes)
        #expect(results.allSatisfy { $0.error == nil })
        #expect(connections.count == 1)
        for task in slow.tasks + opener.tasks { task.cancel() }
        _ = try await ends(slow.probes + opener.probes)
    }

    @Test func `no request is sent on a connection whose tunnel through a proxy is not made yet`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let gate = try Gate()
        let proxy = try ScriptedServer.start { number in
            let peer = SocketAddress.loopback(port: nginx.port(.fewStreams))
            let tunnel: [Step] = [
                .send("HTTP/1.1 200 Connection established\r\n\r\n"), .relay(peer),
            ]
            return number == 1 ? [.requestHead, .wait(gate)] + tunnel : [.requestHead] + tunnel
        }
        let transport = try await transport { $0.proxy = .url(proxy.baseURL, except: []) }
        let server = try await Nginx.shared().baseURL(.fewStreams)
        let (first, _) = try await ends(burst(of: 1, to: "\(server)/info", by: transport).probes)
        #expect(first.first?.error == nil, "\(first.first?.error?.reason ?? "")")
        let slow = try await occupyConnection(of: server, by: transport)
        let others = burst(of: 6, to: "\(server)/info", by: transport)
        _ = try await proxy.requests.values(2)
        gate.open()
        let (results, _) = try await ends(others.probes)
        #expect(results.allSatisfy { $0.error == nil }, "\(results.compactMap(\.error?.reason))")
        for task in slow.tasks { task.cancel() }
        _ = try await ends(slow.probes)
    }

    @Test func `the error of a request that waits for another one's handshake says so`()
        async throws
    {
        let server = try ScriptedServer.start { _ in [.stall] }
        let transport = try await transport()
        let url = "https://localhost:\(server.port)/"
        let first = burst(of: 1, to: url, by: transport)
        var request = HTTPRequest(url: URL(string: url))
        request.timeoutInterval = 0.3
        let error = try await transport.perform(request).error
        #expect(error?.code == .timedOut)
        #expect(error?.reason.contains("the connection that another request") == true)
        for task in first.tasks { task.cancel() }
        _ = try await ends(first.probes)
    }
}
