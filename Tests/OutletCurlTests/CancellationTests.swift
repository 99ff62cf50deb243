import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A cancelled transfer` {
    private func job(_ url: String) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url)))
    }

    /// Checks that the transfer ends once, as cancelled, and that the transport still works.
    private func check(_ probe: Probe, _ transport: CurlTransport) async throws {
        #expect(try await probe.end.value().error?.code == .cancelled)
        let server = try LoopbackServer.start()
        #expect(try await transport.get("\(server.baseURL)/get").error == nil)
        #expect(probe.end.callCount == 1)
    }

    @Test func `a transfer can be cancelled directly after its start`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test()
        let probe = Probe()
        transport.start(job(server.baseURL), handler: probe).cancel()
        try await check(probe, transport)
    }

    @Test func `a transfer can be cancelled during the name lookup`() async throws {
        let transport = CurlTransport.test()
        let probe = Probe()
        transport.start(job("http://slow.look.up.invalid/"), handler: probe).cancel()
        let error = try await probe.end.value().error
        #expect(error?.code == .cancelled || error?.code == .cannotFindHost)
        #expect(probe.end.callCount == 1)
    }

    @Test func `a transfer can be cancelled while it connects`() async throws {
        // 192.0.2.0/24 is reserved for documentation (RFC 5737): no host responds.
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job("http://192.0.2.1/"), handler: probe)
        _ = try await transport.get("http://127.0.0.1:\(try refusingPort())/")
        task.cancel()
        #expect(try await probe.end.value().error != nil)
        #expect(probe.end.callCount == 1)
    }

    @Test func `a transfer can be cancelled while it waits for a connection`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        let first = Probe()
        let running = transport.start(job(server.baseURL), handler: first)
        try await server.requests.values(1)
        let second = Probe()
        transport.start(job(server.baseURL), handler: second).cancel()
        #expect(try await second.end.value().error?.code == .cancelled)
        running.cancel()
        try await check(first, transport)
        #expect(server.requests.count == 1)
    }

    @Test func `a transfer can be cancelled while it sends the body`() async throws {
        let server = try ScriptedServer.start(.requestHead, .wait(try Gate()))
        let transport = CurlTransport.test()
        let probe = Probe()
        var request = HTTPRequest(url: URL(string: server.baseURL), method: .post)
        request.body = .data(Data(count: 64 << 20))
        let task = transport.start(TransferJob(request: request), handler: probe)
        try await server.connections.values(1)
        task.cancel()
        try await check(probe, transport)
    }

    @Test func `a transfer can be cancelled while it waits for the response`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job(server.baseURL), handler: probe)
        try await server.requests.values(1)
        task.cancel()
        #expect(try await probe.end.value().error?.stage == .waiting)
        try await check(probe, transport)
        try await server.endings.values(1)
    }

    @Test func `a transfer can be cancelled while it receives the body`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .stall)
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job(server.baseURL), handler: probe)
        try await probe.events.values(1)
        task.cancel()
        let result = try await probe.end.value()
        #expect(result.response?.statusCode == 200)
        #expect(result.error?.stage == .receiving)
        try await check(probe, transport)
    }

    @Test func `a transfer can be cancelled while it is suspended`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job(server.baseURL), handler: probe)
        task.suspend()
        task.cancel()
        try await check(probe, transport)
    }

    @Test func `cancel, suspend and resume have no effect after the end`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job("\(server.baseURL)/get"), handler: probe)
        #expect(try await probe.end.value().error == nil)
        task.cancel()
        task.suspend()
        task.resume()
        task.cancel()
        #expect(try await transport.get("\(server.baseURL)/get").error == nil)
        #expect(probe.end.callCount == 1)
    }

    @Test func `a handler can cancel its transfer at the head or at a chunk`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        for probe in [Probe(onHead: { _ in .cancel }), Probe(onChunk: { _ in .cancel })] {
            var job = job("\(server.baseURL)/bytes/10")
            job.delivery = .chunks
            _ = transport.start(job, handler: probe)
            try await check(probe, transport)
        }
    }

    @Test func `each of 500 transfers ends once when half of them are cancelled`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 8 }
        let probes = (0..<500).map { _ in Probe() }
        for (index, probe) in probes.enumerated() {
            let task = transport.start(job("\(server.baseURL)/bytes/\(index)"), handler: probe)
            if index % 2 == 0 { task.cancel() }
        }
        for (index, probe) in probes.enumerated() {
            let error = try await probe.end.value().error
            #expect(index % 2 == 0 ? error?.code == .cancelled || error == nil : error == nil)
        }
        #expect(probes.allSatisfy { $0.end.callCount == 1 })
    }
}

@Suite struct `The end of a transport` {
    private func job(_ url: String) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url)))
    }

    @Test func `shutDown ends running, waiting and suspended transfers and refuses new ones`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 2 }
        let probes = (0..<50).map { _ in Probe() }
        let tasks = probes.map { transport.start(job(server.baseURL), handler: $0) }
        tasks[40].suspend()
        try await server.requests.values(2)
        transport.shutDown()
        transport.shutDown()
        let late = Probe()
        _ = transport.start(job(server.baseURL), handler: late)
        for probe in probes + [late] {
            #expect(try await probe.end.value().error?.code == .transportClosed)
            #expect(probe.end.callCount == 1)
        }
    }

    @Test func `a released transport finishes its running transfers`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "late"))
        let probe = Probe()
        do {
            let transport = CurlTransport.test()
            _ = transport.start(job(server.baseURL), handler: probe)
            try await server.requests.values(1)
        }
        gate.open()
        #expect(try await probe.end.value().text == "late")
    }

    @Test func `shutDown closes the connections`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let transport = CurlTransport.test()
        #expect(try await transport.get(server.baseURL).text == "x")
        transport.shutDown()
        try await server.endings.values(1)
    }

    @Test func `a released transport closes its connections`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        #expect(try await CurlTransport.test().get(server.baseURL).text == "x")
        try await server.endings.values(1)
    }
}
