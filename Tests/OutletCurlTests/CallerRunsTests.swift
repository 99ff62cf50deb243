import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A transfer that may run on the calling thread` {
    private func job(_ url: String, mayRunOnCaller: Bool = true) -> TransferJob {
        var job = TransferJob(request: HTTPRequest(url: URL(string: url)))
        job.mayRunOnCaller = mayRunOnCaller
        return job
    }

    /// A URL that the transport rejects at once.
    private let unsupported = "gopher://127.0.0.1/"

    @Test(arguments: [true, false])
    func `a transfer that need not wait ends on the calling thread if mayRunOnCaller is set`(
        mayRunOnCaller: Bool
    ) async throws {
        let transport = CurlTransport.test()
        for _ in 0..<20 {
            let thread = Once<UInt>()
            let probe = Ending { _ in thread.set(UInt(pthread_self())) }
            // A synchronous closure, because a task may change its thread after an `await`.
            let own = {
                let job = job(unsupported, mayRunOnCaller: mayRunOnCaller)
                _ = transport.start(job, handler: probe)
                return UInt(pthread_self())
            }()
            #expect((try await thread.value() == own) == mayRunOnCaller)
        }
    }

    @Test func `a transfer that has to wait ends on the transport's thread`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .request, .respond(body: "at once"), .request, .wait(gate), .respond(body: "late"))
        let transport = CurlTransport.test()
        #expect(try await transport.carry(job(server.baseURL)).text == "at once")
        let name = Once<String>()
        let probe = Ending { result in name.set("\(threadName()) \(result.text)") }
        _ = transport.start(job(server.baseURL), handler: probe)
        gate.open()
        #expect(try await name.value() == "outlet-loop late")
    }

    @Test func `a handler may start another transfer when its transfer ends`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let next = Probe()
        let url = "\(server.baseURL)/bytes/10"
        let probe = Ending { _ in _ = transport.start(self.job(url), handler: next) }
        _ = transport.start(job(unsupported), handler: probe)
        #expect(try await next.end.value().body?.count == 10)
    }

    @Test func `a handler may shut down the transport when its transfer ends`() async throws {
        let transport = CurlTransport.test()
        let probe = Ending { _ in transport.shutDown() }
        _ = transport.start(job(unsupported), handler: probe)
        let result = try await transport.carry(job("http://127.0.0.1/"))
        #expect(result.error?.code == .transportClosed)
    }

    @Test func `each transfer ends once while several threads start and cancel transfers`()
        async throws
    {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let ends = Recorder<Int>()
        let threads = 8
        let each = 60
        for thread in 0..<threads {
            try onOwnThread {
                for number in 0..<each {
                    let url =
                        number % 3 == 0 ? self.unsupported : "\(server.baseURL)/bytes/\(number)"
                    let probe = Ending { _ in ends.record(thread * each + number) }
                    let task = transport.start(self.job(url), handler: probe)
                    switch number % 4 {
                    case 1: task.cancel()
                    // Blocks until this transfer ends, so that the loop is probably idle then.
                    case 2: _ = transport.perform(TransferJob(request: self.job(url).request))
                    default: break
                    }
                }
            }
        }
        let all = try await ends.values(threads * each)
        #expect(all.sorted() == Array(0..<threads * each))
    }

    @Test func `a connection that was reset while idle is not reused`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond(body: "first"), .reset]
                : [.request, .respond(body: "second")]
        }
        let transport = CurlTransport.test()
        #expect(try await transport.carry(job(server.baseURL)).text == "first")
        try await server.endings.values(1)
        let second = try await transport.carry(job(server.baseURL))
        #expect(second.text == "second" && !second.metrics.isReusedConnection)
    }
}

private func threadName() -> String {
    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return name.map { String($0.dropLast()) } ?? ""
}
