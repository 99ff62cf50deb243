import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestServer
import OutletTestSupport
import Synchronization
import Testing

@testable import OutletCurl
@testable import OutletSession
@testable import OutletTransport

/// Runs work on a queue of its own when a transfer ends, as the handlers of a session do.
private final class OwnQueue: TransferHandler {
    let end = Once<TransferResult>()
    private let queue = DispatchQueue(label: "own")
    private let atEnd: @Sendable () -> Void
    private let body: @Sendable (_ loopThread: pthread_t) -> Void

    init(
        atEnd: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (_ loopThread: pthread_t) -> Void
    ) {
        self.atEnd = atEnd
        self.body = body
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        let thread = pthread_self()
        atEnd()
        turn.perform(on: queue, isOwn: true) { [self] in
            dispatchPrecondition(condition: .onQueue(queue))
            body(thread)
            end.set(result)
        }
    }
}

/// Lets tasks continue when a transfer has ended, as the requests of a session do.
private final class OwnTask: TransferHandler {
    /// The loop's thread.
    let end = Promise<pthread_t>()

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        end.set(pthread_self())
        end.place.continueTasks(after: turn)
    }
}

@Suite(.timeLimit(.minutes(patience))) struct `Handlers on a loop's thread` {
    private static func job(_ url: String) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url)))
    }

    @Test func `the handlers of a session's own queue run on the loop's thread`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let isSame = Once<Bool>()
        let handler = OwnQueue { thread in isSame.set(pthread_equal(thread, pthread_self()) != 0) }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await isSame.value())
        #expect(try await handler.end.value().error == nil)
    }

    @Test func `the loop's thread blocks the signals of others, not its own faults`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let blocked = Once<[Int32]>()
        let signals = [SIGTERM, SIGINT, SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP]
        let handler = OwnQueue { _ in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            blocked.set(signals.filter { sigismember(&mask, $0) == 1 })
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await blocked.value() == [SIGTERM, SIGINT, SIGCHLD])
    }

    @Test func `other transfers end while a handler blocks the loop's thread`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let ended = try Gate()
        let isOpen = Once<Bool>()
        let handler = OwnQueue { _ in
            let other = Ending { _ in ended.open() }
            _ = transport.start(Self.job("\(server.baseURL)/get"), handler: other)
            isOpen.set(ended.isOpen(within: .seconds(30)))
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await isOpen.value())
        // The thread that was relieved, and the one that relieved it, both continue.
        for _ in 0..<3 { #expect(try await transport.get("\(server.baseURL)/get").error == nil) }
    }

    @Test func `handlers of another queue run while one blocks the loop's thread`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let ended = try Gate()
        let isOpen = Once<Bool>()
        let isSame = Once<Bool>()
        let handler = OwnQueue { _ in
            let other = OwnQueue { thread in
                isSame.set(pthread_equal(thread, pthread_self()) != 0)
                ended.open()
            }
            _ = transport.start(Self.job("\(server.baseURL)/get"), handler: other)
            isOpen.set(ended.isOpen(within: .seconds(30)))
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await isOpen.value())
        // No thread stands by, so the loop's second thread must not run handlers.
        #expect(try await !isSame.value())
    }

    @Test func `a handler is relieved also if many others ran just before`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let url = "\(server.baseURL)/get"
        let ended = try Gate()
        let isOpen = Once<Bool>()
        for _ in 0..<100 {
            let quick = OwnQueue { _ in }
            _ = transport.start(Self.job(url), handler: quick)
            _ = try await quick.end.value()
        }
        let handler = OwnQueue { _ in
            let other = Ending { _ in ended.open() }
            _ = transport.start(Self.job(url), handler: other)
            isOpen.set(ended.isOpen(within: .seconds(30)))
        }
        _ = transport.start(Self.job(url), handler: handler)
        #expect(try await isOpen.value())
    }

    @Test func `sockets are polled while each handler starts another transfer`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let isOver = Atomic(false)
        let spins = Once<Int>()
        // An address without a host fails as soon as the loop has read the message. The response
        // takes far fewer turns of the loop than the limit.
        let limit = 1_000_000
        @Sendable func spin(_ count: Int) {
            guard !isOver.load(ordering: .relaxed), count < limit else { return spins.set(count) }
            let handler = OwnQueue { _ in spin(count + 1) }
            _ = transport.start(Self.job("http:"), handler: handler)
        }
        spin(0)
        let other = OwnQueue { _ in isOver.store(true, ordering: .relaxed) }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: other)
        #expect(1..<limit ~= (try await spins.value()))
        #expect(try await other.end.value().response?.statusCode == 200)
    }

    @Test func `a task that awaited a transfer continues on the loop's thread`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let handler = OwnTask()
        let task = Task.detached {
            await handler.end.wait()
            return pthread_equal(handler.end.read { $0.pointee }, pthread_self()) != 0
        }
        while handler.end.place.waiting.withLock({ $0.first == nil }), !Task.isCancelled {
            await Task.yield()
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(await task.value)
    }

    @Test func `other transfers end while a task blocks the loop's thread`() async throws {
        let server = try LoopbackServer.start()
        let session = Session(transport: CurlTransport.test())
        let url = "\(server.baseURL)/get"
        let ended = try Gate()
        let isOpen = await Task.detached {
            _ = await session.request(url).serializingData().response
            Task.detached {
                _ = await session.request(url).serializingData().response
                ended.open()
            }
            return ended.isOpen(within: .seconds(30))
        }.value
        #expect(isOpen)
    }

    @Test func `tasks of the same turn continue while one blocks the loop's thread`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let ended = try Gate()
        let handler = OwnTask()
        let blocking = Task.detached {
            await handler.end.wait()
            return ended.isOpen(within: .seconds(30))
        }
        while handler.end.place.waiting.withLock({ $0.first == nil }), !Task.isCancelled {
            await Task.yield()
        }
        let other = Task.detached {
            await handler.end.wait()
            ended.open()
        }
        while handler.end.place.waiting.withLock({ $0.others.isEmpty }), !Task.isCancelled {
            await Task.yield()
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(await blocking.value)
        await other.value
    }

    @Test func `a blocking transfer may be performed in a handler`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let inner = Once<TransferResult>()
        let handler = OwnQueue { _ in
            inner.set(transport.perform(Self.job("\(server.baseURL)/bytes/100")))
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await inner.value().body.map { Array($0) } == LoopbackServer.bytes(100))
    }

    @Test func `a transport that is shut down in a handler ends its loop`() async throws {
        let server = try LoopbackServer.start()
        let gate = try Gate()
        let slow = try ScriptedServer.start(.request, .wait(gate), .respond(body: "late"))
        let transport = CurlTransport.test()
        let cut = try Gate()
        let isOpen = Once<Bool>()
        let code = Once<TransferError.Code?>()
        let other = Ending { result in
            code.set(result.error?.code)
            cut.open()
        }
        _ = transport.start(Self.job(slow.baseURL), handler: other)
        let handler = OwnQueue { _ in
            transport.shutDown()
            isOpen.set(cut.isOpen(within: .seconds(30)))
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await isOpen.value())
        #expect(try await code.value() == .transportClosed)
        #expect(try await handler.end.value().error == nil)
        gate.open()
    }

    @Test func `a loop that is shut down before it is relieved ends`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        _ = transport.taskExecutor
        let loop = try #require(transport.livingLoops.first)
        let ended = try Gate()
        let isOpen = Once<Bool>()
        Task {
            _ = await loop.ending.wait()
            ended.open()
        }
        let handler = OwnQueue(atEnd: { transport.shutDown() }) { _ in
            isOpen.set(ended.isOpen(within: .seconds(30)))
        }
        _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
        #expect(try await isOpen.value())
    }

    @Test func `the threads of a loop end with it`() async throws {
        let server = try LoopbackServer.start()
        weak var executor: LoopExecutor?
        do {
            let transport = CurlTransport.test()
            executor = transport.taskExecutor as? LoopExecutor
            #expect(executor != nil)
            let ended = try Gate()
            // Both threads have driven the loop afterwards.
            let handler = OwnQueue { _ in
                let other = Ending { _ in ended.open() }
                _ = transport.start(Self.job("\(server.baseURL)/get"), handler: other)
                _ = ended.isOpen(within: .seconds(30))
            }
            _ = transport.start(Self.job("\(server.baseURL)/get"), handler: handler)
            _ = try await handler.end.value()
        }
        while executor != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a loop ends when a handler releases its transport`() async throws {
        let server = try LoopbackServer.start()
        let kept = Lock<CurlTransport?>(CurlTransport.test())
        weak let executor = kept.withLock { $0?.taskExecutor as? LoopExecutor }
        #expect(executor != nil)
        let handler = OwnQueue { _ in
            let last = kept.withLock { $0.take() }
            withExtendedLifetime(last) {}
        }
        let url = "\(server.baseURL)/get"
        _ = kept.withLock { $0 }?.start(Self.job(url), handler: handler)
        #expect(try await handler.end.value().error == nil)
        while executor != nil, !Task.isCancelled { await Task.yield() }
    }

    @Suite(.serialized) struct `The end of a turn` {
        /// A loop that the calling thread drives, as one of its own threads would.
        private func loop() throws -> EventLoop {
            let settings = TransportSettings(TransportConfiguration(), environment: [:])
            let loop = try EventLoop(
                settings, shared: SharedState(settings.checked), share: 1, isBulk: false)
            #expect(loop.mailbox.post(.drain) == .drive)
            _ = loop.mailbox.take(into: &loop.messages)
            loop.messages = []
            return loop
        }

        /// Returns whether the work of a session's own queue runs on the calling thread.
        ///
        /// - Parameter opensFiles: Whether the process may open files meanwhile. Only meanwhile,
        ///   because Dispatch ends a process in which it cannot open its own.
        private func runsHere(_ loop: EventLoop, opensFiles: Bool = true) async throws -> Bool {
            let thread = Once<pthread_t>()
            let isDriver = Once<Bool>()
            let own = try await offPool {
                let before = loop.executor.enter()
                loop.turn.perform(on: DispatchQueue(label: "own"), isOwn: true) {
                    isDriver.set(loop.executor.isCurrent)
                    thread.set(pthread_self())
                }
                let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                var limit = rlimit()
                getrlimit(files, &limit)
                var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
                if !opensFiles { setrlimit(files, &none) }
                _ = loop.endTurn()
                if !opensFiles { setrlimit(files, &limit) }
                loop.executor.leave(for: before)
                return pthread_self()
            }
            // In a handler the thread does not drive the loop, so what it submits is posted.
            #expect(try await !isDriver.value())
            return try await pthread_equal(own, thread.value()) != 0
        }

        private func end(_ loop: EventLoop) async throws {
            try await offPool {
                let before = loop.executor.enter()
                #expect(loop.mailbox.close())
                loop.announceEnd()
                loop.executor.leave(for: before)
            }
        }

        @Test func `handlers rest for a while after they took too long`() async throws {
            let loop = try loop()
            #expect(try await runsHere(loop))
            loop.handlers.restsUntil = .max
            #expect(try await !runsHere(loop))
            try await end(loop)
        }

        @Test func `handlers rest longer each time in a row that they took too long`() {
            var handlers = HandlerTime()
            var now: Int64 = 1_000_000_000
            var rests: [Int64] = []
            for _ in 0..<6 {
                handlers.rest(from: now)
                rests.append((handlers.restsUntil - now) / 1000)
                now = handlers.restsUntil + 5000
            }
            #expect(rests == [10, 20, 40, 80, 160, 160])
            now = handlers.restsUntil + 160_000
            handlers.rest(from: now)
            #expect(handlers.restsUntil - now == 10_000)
        }

        @Test func `work for other queues is submitted to them`() async throws {
            let loop = try loop()
            let own = pthread_self()
            let isSame = Once<Bool>()
            let before = loop.executor.enter()
            loop.turn.perform(on: DispatchQueue(label: "other")) {
                isSame.set(pthread_equal(own, pthread_self()) != 0)
            }
            #expect(loop.endTurn())
            loop.executor.leave(for: before)
            #expect(try await !isSame.value())
            #expect(!loop.handlers.hasStandby)
            try await end(loop)
        }

        @Test func `handlers go to their queue if no thread can stand by`() async throws {
            try await #require(processExitsWith: .success) {
                let suite = Self()
                let loop = try suite.loop()
                let runsHere = try await suite.runsHere(loop, opensFiles: false)
                guard !runsHere, !loop.handlers.hasStandby else { exit(1) }
            }
        }
    }
}
