import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletCurl

@Suite struct `Waiting for a connection` {
    private func job(_ url: String, timeout: Double = 60) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url), timeoutInterval: timeout))
    }

    /// Makes a transport with one connection per host, and a server that never responds, so that
    /// the connection stays busy.
    private func busy(
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) async throws -> (CurlTransport, ScriptedServer, any TransferTask) {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test {
            $0.httpMaximumConnectionsPerHost = 1
            change(&$0)
        }
        let running = transport.start(job(server.baseURL), handler: Probe())
        try await server.requests.values(1)
        return (transport, server, running)
    }

    /// Returns 1 MiB of data that records `number` when it is freed.
    private func body(_ number: Int, _ freed: Recorder<Int>) -> Data {
        let size = 1 << 20
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: 120, count: size)
        return Data(
            bytesNoCopy: bytes, count: size,
            deallocator: .custom { bytes, _ in
                bytes.deallocate()
                freed.record(number)
            })
    }

    @Test(arguments: [true, false])
    func `the bodies of 200 requests that end while they wait are freed`(
        isCancelled: Bool
    ) async throws {
        let (transport, server, running) = try await busy()
        let freed = Recorder<Int>()
        for number in 0..<200 {
            var request = HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                timeoutInterval: isCancelled ? 60 : 0.1)
            request.body = .data(body(number, freed))
            let task = transport.start(TransferJob(request: request), handler: Probe())
            if isCancelled { task.cancel() }
        }
        #expect(Set(try await freed.values(200)) == Set(0..<200))
        #expect(running.state == .running && server.requests.count == 1)
        running.cancel()
    }

    @Test func `the time in the queue counts towards the request's timeout`() async throws {
        let (transport, server, running) = try await busy()
        let error = try await transport.carry(job(server.baseURL, timeout: 0.1)).error
        #expect(error?.code == .timedOut && error?.stage == .queued)
        #expect(error?.advice.contains("httpMaximumConnectionsPerHost") == true)
        #expect(server.requests.count == 1)
        running.cancel()
    }

    @Test func `the time in the queue and the time to connect share one timeout`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"),
            .trickle(Array(repeating: 120, count: 7), size: 1, interval: .milliseconds(300)))
        let transport = CurlTransport.test { $0.maximumConnections = 1 }
        _ = transport.start(job(server.baseURL), handler: Probe())
        let fullPort = try FullPort()
        let order = Recorder<String>()
        let first = Ending { _ in order.record("2.5 s") }
        _ = transport.start(job("http://127.0.0.1:\(fullPort.port)/", timeout: 2.5), handler: first)
        let silent = try ScriptedServer.start(.request, .stall)
        let second = Ending { _ in order.record("3.5 s") }
        _ = CurlTransport.test().start(job(silent.baseURL, timeout: 3.5), handler: second)
        #expect(try await order.values(2) == ["2.5 s", "3.5 s"])
    }

    @Test func `the timeout in the queue does not run while the request is suspended`()
        async throws
    {
        let (transport, server, running) = try await busy()
        let probe = Probe()
        let task = transport.start(job(server.baseURL, timeout: 0.3), handler: probe)
        task.suspend()
        for _ in 0..<2 {
            let other = try await transport.carry(job(server.baseURL, timeout: 0.3))
            #expect(other.error?.code == .timedOut)
        }
        #expect(probe.end.callCount == 0)
        task.resume()
        let error = try await probe.end.value().error
        #expect(error?.code == .timedOut && error?.stage == .queued)
        running.cancel()
    }

    @Test func `maximumQueuedRequests limits the waiting requests of all loops together`()
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "x"), .again)
        let transport = CurlTransport.test {
            $0.httpMaximumConnectionsPerHost = 1
            $0.maximumQueuedRequests = 1
        }
        let directory = try TemporaryDirectory()
        func start(isFile: Bool = false) -> (Probe, any TransferTask) {
            let probe = Probe()
            var job = job(server.baseURL)
            if isFile { job.delivery = .file(path: directory.path("x"), offset: 0) }
            return (probe, transport.start(job, handler: probe))
        }
        let (running, _) = start()
        let (runningFile, _) = start(isFile: true)
        let (waitingFile, task) = start(isFile: true)
        // The refusal of a file transfer shows that the one before it waits. File transfers and
        // others count towards the same limit, so the other transfer is refused as well.
        for isFile in [true, false] {
            let error = try await start(isFile: isFile).0.end.value().error
            #expect(error?.code == .requestQueueFull && error?.stage == .queued)
            #expect(error?.reason.hasPrefix("1 requests wait") == true)
            #expect(error?.reason.contains("maximumQueuedRequests") == true)
        }
        task.cancel()
        #expect(try await waitingFile.end.value().error?.code == .cancelled)
        let (waiting, _) = start()
        gate.open()
        for probe in [running, runningFile, waiting] {
            #expect(try await probe.end.value().error == nil)
        }
        // Requests that waited and have started no longer count towards the limit.
        let (last, _) = start()
        #expect(try await last.end.value().error == nil)
    }

    @Test func `a maximumQueuedRequests of 0 refuses each request that would wait`() async throws {
        let (transport, server, running) = try await busy { $0.maximumQueuedRequests = 0 }
        let error = try await transport.get(server.baseURL).error
        #expect(error?.code == .requestQueueFull)
        running.cancel()
        let free = try ScriptedServer.start(.request, .respond(body: "x"))
        #expect(try await transport.get(free.baseURL).text == "x")
    }
}

/// Requests that are suspended and resumed, to a server that does not respond.
@Suite struct `A stalled upload` {
    @Test func `is looked at within its time limit, however short`() async throws {
        let server = try ScriptedServer.start(.requestHead, .wait(try Gate()))
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 0.9 }
        let request = HTTPRequest(
            url: URL(string: server.baseURL), method: .post, body: .data(Data(count: 16 << 20)))
        let probe = Probe()
        let task = transport.start(TransferJob(request: request), handler: probe)
        let transfer = try #require(task as? CurlTransfer)
        let loop = try #require(transfer.loop)
        let executor = try #require(transport.taskExecutor)
        let rest = await Task(executorPreference: executor) { transfer.deadline - loop.now }.value
        // A quarter of the limit; at its end the loop would take for progress what was sent before.
        #expect(rest <= 225_000)
        #expect(try await probe.end.value().error?.code == .timedOut)
    }
}

@Suite struct `A resumed transfer` {
    private func job(_ url: String) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url), timeoutInterval: 0.5))
    }

    @Test func `a resumed transfer still times out`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let probe = Probe()
        let task = CurlTransport.test().start(job(server.baseURL), handler: probe)
        try await server.requests.values(1)
        task.suspend()
        task.resume()
        #expect(try await probe.end.value().error?.code == .timedOut)
    }

    @Test func `a transfer resumed in the middle of a body still times out`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .stall)
        let probe = Probe(onHead: { _ in .pause })
        let task = CurlTransport.test().start(job(server.baseURL), handler: probe)
        try await probe.events.values(1)
        task.resume()
        let result = try await probe.end.value()
        #expect(result.error?.code == .timedOut && result.error?.stage == .receiving)
    }

    @Test func `a transfer suspended before it had a connection still times out after resume`()
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start { connection in
            connection == 0 ? [.request, .wait(gate), .respond(), .request, .stall] : [.stall]
        }
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        let first = Probe()
        _ = transport.start(
            TransferJob(request: HTTPRequest(url: URL(string: server.baseURL))), handler: first)
        let probe = Probe()
        let task = transport.start(job(server.baseURL), handler: probe)
        task.suspend()
        gate.open()
        #expect(try await first.end.value().error == nil)
        task.resume()
        #expect(try await probe.end.value().error?.code == .timedOut)
    }
}
