import Dispatch
import Glibc
import OutletTestSupport
import OutletThreads
import Synchronization
import Testing

@testable import OutletTransport

@Suite(.timeLimit(.minutes(patience))) struct `Worker threads` {
    @Test func `work that blocks does not delay other work`() async throws {
        let threads = WorkerThreads(maximum: 100)
        let gate = try Gate()
        let begun = Recorder<Int>()
        let ended = Recorder<Int>()
        for number in 0..<100 {
            threads.run {
                begun.record(number)
                _ = gate.isOpen(within: .seconds(60))
                ended.record(number)
            }
        }
        try await begun.values(100)
        #expect(threads.count == 100 && ended.values.isEmpty)
        gate.open()
        try await ended.values(100)
    }

    @Test func `work beyond the maximum number of threads waits for one`() async throws {
        let threads = WorkerThreads(maximum: 2)
        let gate = try Gate()
        let begun = Recorder<Int>()
        for number in 0..<2 {
            threads.run {
                begun.record(number)
                _ = gate.isOpen(within: .seconds(60))
            }
        }
        try await begun.values(2)
        for number in 2..<50 { threads.run { begun.record(number) } }
        #expect(begun.values.count == 2 && threads.count == 2)
        gate.open()
        try await begun.values(50)
        #expect(Set(begun.values) == Set(0..<50))
    }

    @Test func `threads end when they have had no work for a while`() async throws {
        let threads = WorkerThreads(maximum: 4, idleTime: .milliseconds(1))
        let done = Recorder<Int>()
        // Work that comes at the moment in which a thread ends is not lost.
        for number in 0..<500 {
            threads.run { done.record(number) }
            if number % 3 == 0 { try await done.values(number + 1) }
        }
        try await done.values(500)
        while threads.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(threads.count == 0)
    }

    @Test func `work runs on other threads if none of its own can be started`() async throws {
        let threads = WorkerThreads(maximum: 4) { _, _ in EAGAIN }
        let done = Recorder<Int>()
        for number in 0..<50 { threads.run { done.record(number) } }
        try await done.values(50)
        #expect(threads.count == 0)
    }

    @Test func `work for which no thread can be started waits for one of the others`() async throws
    {
        let isRefusing = Atomic(false)
        let refused = Recorder<Bool>()
        let threads = WorkerThreads(maximum: 100) { name, body in
            guard isRefusing.load(ordering: .relaxed) else {
                return SystemThread.start(named: name, body)
            }
            refused.record(true)
            return EAGAIN
        }
        let gate = try Gate()
        let begun = Recorder<Int>()
        for number in 0..<10 {
            threads.run {
                begun.record(number)
                _ = gate.isOpen(within: .seconds(60))
            }
        }
        try await begun.values(10)
        isRefusing.store(true, ordering: .relaxed)
        for number in 10..<50 { threads.run { begun.record(number) } }
        try await refused.values(1)
        #expect(begun.values.count == 10)
        gate.open()
        try await begun.values(50)
        #expect(Set(begun.values) == Set(0..<50) && threads.count == 10)
    }

    @Test func `the process ends if a plugin ends a thread`() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
        ) {
            WorkerThreads(maximum: 1).run { pthread_exit(nil) }
            sleep(60)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("outlet: a thread was ended by pthread_exit()"), "\(text)")
    }

    @Test func `a thread gets no signals of the process`() async throws {
        let seen = Recorder<Bool>()
        WorkerThreads(maximum: 1).run {
            var blocked = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &blocked)
            seen.record(sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGSEGV) == 0)
        }
        try await seen.values(1)
        #expect(seen.values == [true])
    }
}
