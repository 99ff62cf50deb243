import Dispatch
import Glibc
import OutletTestSupport
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests a value that is set once and awaited by any number of tasks.
@Suite(.timeLimit(.minutes(patience))) struct PromiseTests {
    /// A value whose release a weak reference can detect.
    private final class Counted: Sendable {}

    @Test func `a read after the value was set returns at once`() async {
        let promise = Promise<String>()
        promise.fulfil("a")
        #expect(await promise.value == "a")
        #expect(await promise.value == "a")
    }

    @Test func `only the first value is used`() async {
        let promise = Promise<String>()
        promise.fulfil("a")
        promise.fulfil("b")
        #expect(await promise.value == "a")
    }

    @Test(arguments: [1, 2, 100]) func `all waiting tasks get the value`(count: Int) async {
        let promise = Promise<Int>()
        let values = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { await promise.value } }
            // Some tasks wait already; others start to wait after the value is set.
            await Task.yield()
            promise.fulfil(7)
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 7, count: count))
    }

    @Test func `a task that found no value, but arrives after it was set, continues`() async {
        let promise = Promise<Int>()
        #expect(promise.place.mustWait())
        promise.fulfil(7)
        await promise.place.arrive()
        #expect(!promise.place.mustWait())
        #expect(await promise.value == 7)
    }

    @Test(arguments: [1, 3])
    func `waiting tasks may continue on the thread that runs a turn's work`(
        count: Int
    ) async throws {
        let promise = Promise<Int>()
        let threads = Recorder<pthread_t>()
        let tasks = (0..<count).map { _ in
            Task.detached {
                await promise.wait()
                threads.record(pthread_self())
            }
        }
        await promise.hasWaiting(count)
        let own = try await offPool {
            let turn = TransportTurn()
            promise.set(7)
            promise.place.continueTasks(after: turn)
            var work = TransportTurn.OwnWork()
            #expect(turn.takeOwnWork(into: &work))
            work.run(TransportTurn.WaitingTasks())
            return pthread_self()
        }
        for task in tasks { await task.value }
        #expect(
            threads.values.map { pthread_equal($0, own) != 0 }
                == Array(repeating: true, count: count))
    }

    @Test func `a task that prefers an executor continues there`() async throws {
        let promise = Promise<Int>()
        let executor = QueueExecutor()
        let isThere = Once<Bool>()
        Task(executorPreference: executor) {
            await promise.wait()
            isThere.set(executor.isCurrent)
        }
        await promise.hasWaiting(1)
        let turn = TransportTurn()
        promise.set(7)
        promise.place.continueTasks(after: turn)
        var work = TransportTurn.OwnWork()
        #expect(!turn.takeOwnWork(into: &work))
        #expect(try await isThere.value())
    }

    @Test func `a task of an actor continues on it`() async throws {
        let promise = Promise<Int>()
        let task = Task { @MainActor in
            await promise.wait()
            MainActor.preconditionIsolated()
            return true
        }
        await promise.hasWaiting(1)
        let turn = TransportTurn()
        promise.set(7)
        promise.place.continueTasks(after: turn)
        turn.end()
        #expect(await task.value)
    }

    @Test func `a task that awaits many values that are there needs no more stack`() async {
        let promise = Promise<Int>()
        promise.fulfil(1)
        var sum = 0
        for _ in 0..<100_000 { sum += await promise.value }
        #expect(sum == 100_000)
    }

    @Test func `a promise releases its value, and can be released without one`() {
        weak var kept: Counted?
        do {
            let promise = Promise<Counted>()
            let value = Counted()
            kept = value
            promise.fulfil(value)
        }
        #expect(kept == nil)
        // Releasing an unfulfilled promise does not treat uninitialised memory as a value.
        _ = Promise<Counted>()
        _ = Promise<String>()
    }

    @Test func `a second value is released`() {
        weak var late: Counted?
        let promise = Promise<Counted>()
        promise.fulfil(Counted())
        do {
            let value = Counted()
            late = value
            promise.fulfil(value)
        }
        #expect(late == nil)
        withExtendedLifetime(promise) {}
    }
}

extension Promise {
    /// Returns when so many tasks wait.
    fileprivate func hasWaiting(_ count: Int) async {
        func waiting() -> Int {
            place.waiting.withLock { ($0.first == nil ? 0 : 1) + $0.others.count }
        }
        while waiting() < count, !Task.isCancelled { await Task.yield() }
    }
}

/// Runs tasks on a queue.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "executor")
    private let key = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: key, value: true) }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
