import Dispatch
import Glibc
import OutletTestSupport
import Testing

@testable import OutletTransport

/// Keeps the jobs of the tasks that call ``pass()``.
private actor Kept: SerialExecutor {
    nonisolated let jobs = Once<UnownedJob>()

    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    nonisolated func enqueue(_ job: consuming ExecutorJob) { jobs.set(UnownedJob(job)) }

    @inline(never) func pass() {}

    /// Returns the job of a task that goes on with `body` when the job is run.
    static func job(_ body: @escaping @Sendable () async -> Void) async throws -> UnownedJob {
        let kept = Kept()
        Task.detached {
            await kept.pass()
            await body()
        }
        return try await kept.jobs.value()
    }
}

@Suite struct `A turn of a transport` {
    @Test func `resumptions run once, in order, and not before they are asked for`() {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        turn.resumeLater { calls.record(1) }
        turn.resumeLater { calls.record(2) }
        #expect(calls.values.isEmpty)
        turn.resumeTasks()
        #expect(calls.values == [1, 2])
        turn.resumeTasks()
        turn.end()
        #expect(calls.values == [1, 2])
    }

    @Test func `the end of a turn runs the resumptions that are left`() {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        turn.resumeLater { calls.record(1) }
        turn.end()
        #expect(calls.values == [1])
    }

    @Test func `a resumption that is added by another one runs at the next call`() {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        turn.resumeLater {
            calls.record(1)
            turn.resumeLater { calls.record(2) }
        }
        turn.resumeTasks()
        #expect(calls.values == [1])
        turn.resumeTasks()
        #expect(calls.values == [1, 2])
    }

    @Test func `work for a queue is submitted at the end of the turn, in order`() async {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "turn")
        turn.perform(on: queue) { calls.record(1) }
        turn.perform(on: queue) { calls.record(2) }
        turn.resumeTasks()
        await queue.drained()
        #expect(calls.values.isEmpty)
        turn.end()
        await queue.drained()
        #expect(calls.values == [1, 2])
    }

    @Test func `work for a session's own queue is submitted unless the transport takes it`() async {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "own")
        turn.perform(on: queue, isOwn: true) { calls.record(1) }
        turn.end()
        await queue.drained()
        #expect(calls.values == [1])
        var work = TransportTurn.OwnWork()
        #expect(!turn.takeOwnWork(into: &work))
    }

    @Test func `all work for a session's own queue is submitted once, in order`() async {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "own")
        for start in [0, 3] {
            for number in start..<(start + 3) {
                turn.perform(on: queue, isOwn: true) { calls.record(number) }
            }
            turn.end()
            turn.end()
        }
        await queue.drained()
        #expect(calls.values == Array(0..<6))
    }

    @Test func `a turn outside of an event loop ends after its body, also inside of another one`()
        async
    {
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "turn")
        for _ in 0..<2 {
            TransportTurn.run { turn in
                turn.resumeLater { calls.record(3) }
                TransportTurn.run { inner in
                    #expect(inner !== turn)
                    inner.resumeLater { calls.record(2) }
                    calls.record(1)
                }
                turn.perform(on: queue) { calls.record(4) }
            }
            await queue.drained()
        }
        #expect(calls.values == [1, 2, 3, 4, 1, 2, 3, 4])
    }

    @Test func `work that the transport takes runs as its queue, and is not submitted again`() async
    {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let (own, other) = (DispatchQueue(label: "own"), DispatchQueue(label: "other"))
        turn.perform(on: other) { calls.record(1) }
        turn.perform(on: own, isOwn: true) {
            dispatchPrecondition(condition: .onQueue(own))
            calls.record(2)
        }
        turn.perform(on: own, isOwn: true) { calls.record(3) }
        var work = TransportTurn.OwnWork()
        #expect(turn.takeOwnWork(into: &work))
        work.run(TransportTurn.WaitingTasks())
        #expect(calls.values == [2, 3])
        work.run(TransportTurn.WaitingTasks())
        turn.end()
        await own.drained()
        await other.drained()
        #expect(calls.values == [2, 3, 1])
    }

    @Test func `tasks continue on the thread that takes them, in order, until others submit them`()
        async throws
    {
        let threads = Recorder<pthread_t>()
        let last = Once<pthread_t>()
        let tasks = TransportTurn.WaitingTasks()
        let first = try await Kept.job { threads.record(pthread_self()) }
        let second = try await Kept.job {
            threads.record(pthread_self())
            tasks.submit()
        }
        let third = try await Kept.job { last.set(pthread_self()) }
        // Not on a thread of the global executor, which may run the third one.
        let own = try await offPool {
            let turn = TransportTurn()
            for job in [first, second, third] { turn.continueTask(job) }
            var work = TransportTurn.OwnWork()
            #expect(turn.takeOwnWork(into: &work))
            work.run(tasks)
            #expect(!turn.takeOwnWork(into: &work))
            // Nothing is left for the next turn.
            work.run(tasks)
            return pthread_self()
        }
        #expect(threads.values.map { pthread_equal($0, own) != 0 } == [true, true])
        #expect(try await pthread_equal(last.value(), own) == 0)
    }

    @Test func `a task that the transport does not take continues elsewhere`() async throws {
        let thread = Once<pthread_t>()
        let job = try await Kept.job { thread.set(pthread_self()) }
        let own = try await offPool {
            let turn = TransportTurn()
            turn.continueTask(job)
            turn.end()
            return pthread_self()
        }
        #expect(try await pthread_equal(thread.value(), own) == 0)
    }

    @Test func `a task that continues on the transport's thread keeps to its actors`() async throws
    {
        let turn = TransportTurn()
        let isOver = Once<Bool>()
        let actor = Counter()
        let job = try await Kept.job {
            await actor.count()
            await MainActor.run { MainActor.preconditionIsolated() }
            await actor.count()
            isOver.set(true)
        }
        turn.continueTask(job)
        var work = TransportTurn.OwnWork()
        #expect(turn.takeOwnWork(into: &work))
        work.run(TransportTurn.WaitingTasks())
        #expect(try await isOver.value())
        #expect(await actor.calls == 2)
    }

    private actor Counter {
        private(set) var calls = 0

        func count() {
            preconditionIsolated()
            calls += 1
        }
    }
}
