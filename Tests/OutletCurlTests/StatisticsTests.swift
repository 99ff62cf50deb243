import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct `The statistics of a transport` {
    private typealias Figures = TransportStatistics.Figures

    private func figures(
        open: Int, idle: Int, active: Int = 0, waiting: Int = 0
    ) -> Figures {
        var figures = Figures()
        figures.openConnections = open
        figures.idleConnections = idle
        figures.activeRequests = active
        figures.requestsWaiting = waiting
        return figures
    }

    private func start(_ transport: CurlTransport, _ url: String) -> Probe {
        let probe = Probe()
        let request = HTTPRequest(url: URL(string: url))
        _ = transport.start(TransferJob(request: request), handler: probe)
        return probe
    }

    @Test func `statistics count connections, active and waiting requests, also by origin`()
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(), .again)
        let other = try ScriptedServer.start(.request, .respond(), .again)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 2 }
        #expect(transport.statistics == TransportStatistics())
        #expect(try await transport.get(other.baseURL).error == nil)
        let probes = (0..<5).map { _ in start(transport, server.baseURL) }
        try await server.requests.values(2)
        while transport.statistics.total.requestsWaiting < 3, !Task.isCancelled {
            await Task.yield()
        }
        let busy = transport.statistics(perOrigin: true)
        #expect(busy.total == figures(open: 3, idle: 1, active: 2, waiting: 3))
        let origins = try [server, other].map { try Origin(#require(URL(string: $0.baseURL))) }
        #expect(
            busy.origins == [
                origins[0]: figures(open: 2, idle: 0, active: 2, waiting: 3),
                origins[1]: figures(open: 1, idle: 1),
            ])
        #expect(transport.statistics.origins.isEmpty)
        gate.open()
        for probe in probes { #expect(try await probe.end.value().error == nil) }
        #expect(transport.statistics.total == figures(open: 3, idle: 3))
        let ended = await transport.shutDown(deadline: .seconds(60))
        #expect(ended == ShutdownReport())
        #expect(transport.statistics == TransportStatistics())
    }

    @Test func `an open WebSocket counts as an active request`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let transport = CurlTransport.test()
        let opened = Once<Void>()
        let ended = Once<Void>()
        let socket = transport.connect(
            WebSocketJob(
                request: HTTPRequest(url: URL(string: server.baseURL)), maximumMessageSize: 1 << 20),
            handler: SocketProbe(opened: opened, ended: ended))
        try await opened.value()
        while transport.statistics.total != figures(open: 1, idle: 0, active: 1), !Task.isCancelled
        {
            await Task.yield()
        }
        let origin = try Origin(#require(URL(string: server.baseURL)))
        #expect(
            transport.statistics(perOrigin: true).origins[origin]
                == figures(open: 1, idle: 0, active: 1))
        socket.cancel()
        try await ended.value()
        while transport.statistics.total != figures(open: 0, idle: 0), !Task.isCancelled {
            await Task.yield()
        }
    }

    @Test func `any thread can read the statistics during transfers`() async throws {
        let server = try ScriptedServer.start(.request, .respond(), .again)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 4 }
        let asking = (0..<4).map { _ in
            Task.detached {
                while !Task.isCancelled {
                    let seen = transport.statistics(perOrigin: true).total
                    #expect(
                        seen.openConnections >= 0 && seen.idleConnections <= seen.openConnections)
                    await Task.yield()
                }
            }
        }
        for round in 0..<20 {
            let probes = (0..<20).map { _ in start(transport, server.baseURL) }
            for probe in probes { #expect(try await probe.end.value().error == nil) }
            if round % 5 == 4 { transport.reloadCertificates() }
        }
        for task in asking { task.cancel() }
        for task in asking { await task.value }
        transport.shutDown()
    }
}

/// Sets `opened` when a WebSocket is open, and `ended` when it has ended.
private final class SocketProbe: WebSocketHandler {
    private let opened: Once<Void>
    private let ended: Once<Void>

    init(opened: Once<Void>, ended: Once<Void>) {
        self.opened = opened
        self.ended = ended
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        opened.set(())
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        ended.set(())
    }

    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision { .proceed }

    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {}
}
