import Dispatch
import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A blocking transfer` {
    /// Performs a job on a thread outside Swift's pool, whose threads must not block.
    private func perform(
        _ transport: CurlTransport, _ job: TransferJob
    ) async throws -> TransferResult {
        try await offPool { transport.perform(job) }
    }

    private func job(_ url: String, _ method: HTTPMethod = .get) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url), method: method))
    }

    @Test func `perform returns the result`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        for _ in 0..<3 {
            let result = try await perform(transport, job("\(server.baseURL)/bytes/100"))
            #expect(result.error == nil)
            #expect(result.body.map { Array($0) } == LoopbackServer.bytes(100))
        }
    }

    @Test func `perform reuses connections`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let address = "\(server.baseURL)/get"
        #expect(try await !perform(transport, job(address)).metrics.isReusedConnection)
        #expect(try await perform(transport, job(address)).metrics.isReusedConnection)
    }

    @Test func `perform returns the same errors as asynchronous transfers`() async throws {
        let transport = CurlTransport.test()
        let error = try await perform(transport, job("http://127.0.0.1:\(refusingPort())/")).error
        #expect(error?.code == .cannotConnectToHost)
        transport.shutDown()
        let late = try await perform(transport, job("http://127.0.0.1/"))
        #expect(late.error?.code == .transportClosed)
    }

    @Test func `blocking and asynchronous transfers run at the same time`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "held"))
        let quick = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let probe = Probe()
        _ = transport.start(job(server.baseURL), handler: probe)
        #expect(try await perform(transport, job("\(quick.baseURL)/get")).error == nil)
        gate.open()
        #expect(try await probe.end.value().text == "held")
        #expect(try await perform(transport, job("\(quick.baseURL)/get")).error == nil)
        // A transfer that starts while another thread blocks in `perform` must also run.
        let results = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let url = "\(quick.baseURL)/bytes/\(index)"
                    if index % 2 == 0 {
                        return (try? await perform(transport, job(url)))?.error == nil
                    }
                    return (try? await transport.get(url))?.error == nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == 40)
    }

    @Test func `connections are closed when the transport is released`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        #expect(try await perform(CurlTransport.test(), job(server.baseURL)).text == "x")
        try await server.endings.values(1)
    }
}

@Suite(.timeLimit(.minutes(patience))) struct `The transport's thread as a task executor` {
    @Test func `tasks and their transfers run on one thread`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let threads = Lock<Set<UInt>>([])
        let note: @Sendable () -> Void = {
            threads.withLock { _ = $0.insert(UInt(pthread_self())) }
        }
        let executor = try #require(transport.taskExecutor)
        try await withTaskExecutorPreference(executor) {
            for _ in 0..<3 {
                note()
                let probe = Probe(onHead: { _ in
                    note()
                    return .proceed
                })
                let url = URL(string: "\(server.baseURL)/get")
                let result = try await transport.carry(
                    TransferJob(request: HTTPRequest(url: url)), probe: probe)
                #expect(result.error == nil)
            }
        }
        #expect(threads.withLock { $0.count } == 1)
    }

    @Test func `transfers make progress while a task on the executor yields continuously`()
        async throws
    {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let executor = try #require(transport.taskExecutor)
        let isOver = Lock(false)
        let yieldingTask = Task(executorPreference: executor) {
            while !isOver.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
        }
        for _ in 0..<3 {
            #expect(try await transport.get("\(server.baseURL)/get").error == nil)
        }
        transport.shutDown()
        isOver.withLock { $0 = true }
        await yieldingTask.value
    }

    @Test func `tasks still run after the transport is released`() async throws {
        var transport: CurlTransport? = CurlTransport.test()
        let executor = try #require(transport?.taskExecutor)
        transport = nil
        let value = await withTaskExecutorPreference(executor) {
            await Task.yield()
            return 42
        }
        #expect(value == 42)
    }
}

@Suite struct `The transport's thread` {
    private static let process = __priority_which_t(PRIO_PROCESS.rawValue)

    @Test(.enabled(if: geteuid() == 0, "raising a priority takes the right to"))
    func `the thread has the program's priority even if a low-priority thread starts it`()
        async throws
    {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let seen = Once<Int32>()
        let probe = Probe(onHead: { _ in
            seen.set(getpriority(Self.process, 0))
            return .proceed
        })
        let job = TransferJob(request: HTTPRequest(url: URL(string: "\(server.baseURL)/get")))
        DispatchQueue(label: "a thread of low priority").async {
            let own = getpriority(Self.process, 0)
            setpriority(Self.process, 0, 15)
            _ = transport.start(job, handler: probe)
            setpriority(Self.process, 0, own)
        }
        #expect(try await seen.value() == getpriority(Self.process, id_t(getpid())))
    }
}
