import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct `The shutdown of a transport with a deadline` {
    private func start(_ transport: CurlTransport, _ url: String) -> Probe {
        let probe = Probe()
        let request = HTTPRequest(url: URL(string: url))
        _ = transport.start(TransferJob(request: request), handler: probe)
        return probe
    }

    @Test func `running and waiting requests finish, and new ones are refused`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "late"), .again)
        let other = try ScriptedServer.start(.request, .respond(), .again)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        // Two of the three requests wait for a connection.
        let probes = (0..<3).map { _ in start(transport, server.baseURL) }
        try await server.requests.values(1)
        async let report = transport.shutDown(deadline: .seconds(60))
        var refusal: TransferError?
        while refusal == nil { refusal = try await transport.get(other.baseURL).error }
        #expect(refusal?.code == .transportClosed)
        gate.open()
        for probe in probes { #expect(try await probe.end.value().text == "late") }
        // At least the three; also counts a request to the other server that was still running.
        let ended = await report
        #expect(ended.finished >= 3 && ended.cut == 0)
        #expect(transport.statistics.total == TransportStatistics.Figures())
        // All connections are closed, including idle ones.
        try await server.endings.values(server.connections.count)
        try await other.endings.values(other.connections.count)
        #expect(await transport.shutDown(deadline: .seconds(60)) == ShutdownReport())
    }

    @Test func `requests that have not ended at the deadline fail with an error that names it`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        let probes = (0..<2).map { _ in start(transport, server.baseURL) }
        try await server.requests.values(1)
        let report = await transport.shutDown(deadline: .milliseconds(50))
        #expect(report == ShutdownReport(finished: 0, cut: 2))
        for probe in probes {
            let error = try await probe.end.value().error
            #expect(error?.code == .transportClosed)
            #expect(
                error?.reason
                    == "the transport was shut down, and the request had not ended within 0.05 seconds"
            )
            #expect(probe.end.callCount == 1)
        }
    }

    @Test func `a shutdown without a deadline ends the running requests at once`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test()
        let probe = start(transport, server.baseURL)
        try await server.requests.values(1)
        async let report = transport.shutDown(deadline: .seconds(3600))
        transport.shutDown()
        #expect(try await probe.end.value().error?.code == .transportClosed)
        _ = await report
    }

    @Test func `an unused transport shuts down at once`() async throws {
        let transport = CurlTransport.test()
        #expect(await transport.shutDown(deadline: .seconds(60)) == ShutdownReport())
        #expect(try await transport.get("http://127.0.0.1:1/").error?.code == .transportClosed)
    }
}
