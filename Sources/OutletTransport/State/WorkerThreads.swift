package import Dispatch
internal import Glibc
internal import OutletThreads

/// Runs work on threads, of which there are as many as the work blocks.
///
/// Short work shares a few threads, so that not each piece wakes one. Work that these have not taken
/// for ``patience`` gets threads of its own. A global dispatch queue has about as many threads as the
/// machine has processors: a few hooks that block would delay all others, and the time limits that
/// end them, by seconds.
///
/// Thread: any.
package final class WorkerThreads: Sendable {
    package typealias Work = @Sendable () -> Void
    /// Starts a thread with this name; returns 0, or the error of `pthread_create`.
    typealias Start = @Sendable (_ name: String, _ body: @escaping Work) -> Int32

    /// The threads of the program's work that may block for any time, such as serializers.
    package static let blocking = WorkerThreads(maximum: 1024)
    /// The threads of work that does not block, and must not wait for work that does: time limits,
    /// and what follows the answer of a hook.
    package static let prompt = WorkerThreads(maximum: 64)

    private struct State {
        /// Work that no thread has taken yet.
        var waiting = Fifo<Work>()
        /// The threads without work, that which was used last at the end.
        var idle: [Worker] = []
        var count = 0
        /// Whether ``relieve()`` will be called.
        var isWatched = false
        /// Whether a thread has taken waiting work since the last call of ``relieve()``.
        var hasTaken = false

        var busyCount: Int { count - idle.count }

        /// The step that gives work a thread.
        ///
        /// - Parameters:
        ///   - work: The work.
        ///   - maximum: The maximum number of threads.
        /// - Returns: `nil` if there are as many threads as there may be, and all are busy.
        mutating func give(_ work: @escaping Work, within maximum: Int) -> Step? {
            if let worker = idle.popLast() {
                worker.work = work
                return .wake(worker)
            }
            guard count < maximum else { return nil }
            count += 1
            return .start(Worker(work), work)
        }
    }

    private final class Worker: @unchecked Sendable {
        // @unchecked because `work` is used under the lock of the threads only.
        var work: Work?
        let wake = DispatchSemaphore(value: 0)

        init(_ work: @escaping Work) { self.work = work }
    }

    /// What makes new work run.
    private enum Step {
        case wake(Worker)
        case start(Worker, Work)
        /// It waits; ``relieve()`` must be called after ``patience``.
        case watch
        /// A thread takes it when it has ended its work, or ``relieve()`` gives it one.
        case nothing
        /// There are no threads that could take this work, and none can be started.
        case fail([Work])
    }

    /// How long work waits for the threads that short work shares, in ms.
    private static let patience = 4
    /// The number of threads that short work shares.
    private static let sharedCount = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// Calls ``relieve()``; serial queues have threads that blocked work does not occupy.
    private static let watch = DispatchQueue(label: "outlet.workers")

    private let state = Lock(State())
    private let maximum: Int
    private let idleTime: DispatchTimeInterval
    private let start: Start

    /// Makes threads, which start when they are needed.
    ///
    /// - Parameters:
    ///   - maximum: The maximum number of threads; further work waits.
    ///   - idleTime: How long a thread waits for further work before it ends.
    package convenience init(maximum: Int, idleTime: DispatchTimeInterval = .seconds(60)) {
        self.init(maximum: maximum, idleTime: idleTime) { SystemThread.start(named: $0, $1) }
    }

    init(
        maximum: Int, idleTime: DispatchTimeInterval = .seconds(60), start: @escaping Start
    ) {
        self.maximum = maximum
        self.idleTime = idleTime
        self.start = start
    }

    /// The number of threads.
    package var count: Int { state.withLock { $0.count } }

    /// Runs work on one of the threads.
    package func run(_ work: @escaping Work) {
        let step = state.withLock { state -> Step in
            if state.busyCount < Self.sharedCount, let step = state.give(work, within: maximum) {
                return step
            }
            state.waiting.append(work)
            guard state.busyCount < maximum, !state.isWatched else { return .nothing }
            state.isWatched = true
            state.hasTaken = false
            return .watch
        }
        act(step)
    }

    private func act(_ step: Step) {
        switch step {
        case .wake(let worker): worker.wake.signal()
        case .start(let worker, let work):
            let code = start("outlet-worker") { self.serve(worker) }
            if code != 0 { act(withoutThread(for: work)) }
        case .watch:
            Self.watch.asyncAfter(deadline: .now() + .milliseconds(Self.patience)) {
                self.relieve()
            }
        case .nothing: break
        case .fail(let waiting):
            for work in waiting { DispatchQueue.global().async(execute: work) }
        }
    }

    /// Gives threads to work that waits: to one piece if the busy threads have taken others meanwhile,
    /// otherwise to all.
    private func relieve() {
        let steps = state.withLock { state -> [Step] in
            var steps: [Step] = []
            let most = state.hasTaken ? 1 : state.waiting.count
            while steps.count < most, state.busyCount < maximum,
                let work = state.waiting.popFirst(),
                let step = state.give(work, within: maximum)
            {
                steps.append(step)
            }
            state.hasTaken = false
            // When all threads are busy, each takes work as it ends.
            state.isWatched = !state.waiting.isEmpty && state.busyCount < maximum
            if state.isWatched { steps.append(.watch) }
            return steps
        }
        for step in steps { act(step) }
    }

    /// Returns the step for work for which no thread could be started.
    private func withoutThread(for work: @escaping Work) -> Step {
        state.withLock { state in
            state.count -= 1
            if let worker = state.idle.popLast() {
                worker.work = work
                return .wake(worker)
            }
            state.waiting.append(work)
            // Those that are about to start may fail, too: the last one takes the work of all.
            if state.count == 0 {
                defer { state.waiting = Fifo() }
                return .fail(state.waiting.all)
            }
            guard !state.isWatched else { return .nothing }
            state.isWatched = true
            return .watch
        }
    }

    /// Runs the work of one thread, until there has been none for a while.
    private func serve(_ worker: Worker) {
        repeat {
            while let work = next(for: worker) { work() }
        } while worker.wake.wait(timeout: .now() + idleTime) == .success || !end(worker)
    }

    /// Returns the next work of a thread; `nil` if it has to wait for some.
    private func next(for worker: Worker) -> Work? {
        state.withLock { state in
            if let work = worker.work.take() { return work }
            // Further threads leave short work to those that share it: many that run at once would
            // wait for the same locks.
            if state.busyCount <= Self.sharedCount || !state.isWatched,
                let work = state.waiting.popFirst()
            {
                state.hasTaken = true
                return work
            }
            state.idle.append(worker)
            return nil
        }
    }

    /// Ends a thread; returns false if it has got work meanwhile.
    private func end(_ worker: Worker) -> Bool {
        let isIdle = state.withLock { state in
            guard let index = state.idle.firstIndex(where: { $0 === worker }) else { return false }
            state.idle.remove(at: index)
            state.count -= 1
            return true
        }
        // The signal that came with the work.
        if !isIdle { worker.wake.wait() }
        return isIdle
    }
}
