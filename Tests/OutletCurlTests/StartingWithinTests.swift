import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

/// Handlers that start a transfer when another one ends, on the transport's own thread.
@Suite struct `A transfer that is started when another ends` {
    private func job(_ url: String) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url)))
    }

    /// A URL that the transport rejects at once.
    private let unsupported = "gopher://127.0.0.1/"

    @Test func `the new transfer reuses the connection`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let next = Probe()
        let url = "\(server.baseURL)/bytes/10"
        _ = transport.start(
            job(url), handler: Ending { _ in _ = transport.start(self.job(url), handler: next) })
        let result = try await next.end.value()
        #expect(result.body?.count == 10)
        #expect(result.metrics.isReusedConnection)
    }

    @Test func `the new transfer does not overtake waiting ones`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .request, .wait(gate), .respond(body: "x"), .again)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        let third = Probe()
        _ = transport.start(
            job("\(server.baseURL)/first"),
            handler: Ending { _ in
                _ = transport.start(self.job("\(server.baseURL)/third"), handler: third)
            })
        try await server.requests.values(1)
        _ = transport.start(job("\(server.baseURL)/second"), handler: Probe())
        gate.open()
        #expect(try await third.end.value().text == "x")
        #expect(
            server.requests.values.map { $0.head.split(separator: " ")[1] }
                == ["/first", "/second", "/third"])
    }

    @Test func `the handler is not called inside the call that starts the transfer`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        // Stands for a lock that the caller holds: a callback inside `start` would deadlock on it.
        let isStarting = Lock(false)
        let wasStarting = Once<Bool>()
        let second = Ending { _ in wasStarting.set(isStarting.withLock { $0 }) }
        let first = Ending { _ in
            isStarting.withLock { $0 = true }
            _ = transport.start(self.job(unsupported), handler: second)
            isStarting.withLock { $0 = false }
        }
        _ = transport.start(job("\(server.baseURL)/get"), handler: first)
        #expect(try await wasStarting.value() == false)
    }

    @Test func `100,000 transfers that fail at once can each start the next one`()
        async throws
    {
        let server = try LoopbackServer.start()
        let chain = Chain(CurlTransport.test(), job(unsupported), length: 100_000)
        _ = chain.transport.start(job("\(server.baseURL)/get"), handler: chain)
        #expect(try await chain.end.value() == .unsupportedURL)
    }
}

/// Starts the same transfer again each time it ends.
private final class Chain: TransferHandler {
    let transport: CurlTransport
    let end = Once<TransferError.Code?>()
    private let job: TransferJob
    private let left: Lock<Int>

    init(_ transport: CurlTransport, _ job: TransferJob, length: Int) {
        self.transport = transport
        self.job = job
        left = Lock(length)
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        let isOver = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isOver { end.set(result.error?.code) } else { _ = transport.start(job, handler: self) }
    }
}
