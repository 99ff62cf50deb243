package import Dispatch
internal import OutletThreads

/// Runs work at once, on threads that other work does not occupy.
///
/// A global dispatch queue has about as many threads as the machine has processors: a few hooks that
/// block would delay all others, and the time limits that end them, by seconds.
///
/// Thread: any.
package final class WorkerThreads: Sendable {
    package typealias Work = @Sendable () -> Void

    /// The threads of the program's work that may block for any time, such as serializers.
    package static let blocking = WorkerThreads(maximum: 1024)
    /// The threads of work that does not block, and must not wait for work that does: time limits,
    /// and what follows the answer of a hook.
    package static let prompt = WorkerThreads(maximum: 64)

    private struct State {
        /// Work that waits because there are as many threads as there may be.
        var waiting = Fifo<Work>()
        /// The threads without work, that which was used last at the end.
        var idle: [Worker] = []
        var count = 0
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
        case start(Worker)
        /// A thread takes it when it has ended its work.
        case nothing
        /// There are no threads that could take this work, and none can be started.
        case fail([Work])
    }

    private let state = Lock(State())
    private let maximum: Int
    private let idleTime: DispatchTimeInterval

    /// Makes threads, which start when they are needed.
    ///
    /// - Parameters:
    ///   - maximum: The maximum number of threads; further work waits.
    ///   - idleTime: How long a thread waits for further work before it ends.
    package init(maximum: Int, idleTime: DispatchTimeInterval = .seconds(60)) {
        self.maximum = maximum
        self.idleTime = idleTime
    }

    /// The number of threads.
    package var count: Int { state.withLock { $0.count } }

    /// Runs work on one of the threads.
    package func run(_ work: @escaping Work) {
        let step = state.withLock { state -> Step in
            if let worker = state.idle.popLast() {
                worker.work = work
                return .wake(worker)
            }
            guard state.count < maximum else {
                state.waiting.append(work)
                return .nothing
            }
            state.count += 1
            return .start(Worker(work))
        }
        act(step, for: work)
    }

    private func act(_ step: Step, for work: @escaping Work) {
        switch step {
        case .wake(let worker): worker.wake.signal()
        case .start(let worker):
            let code = SystemThread.start(named: "outlet-worker") { self.serve(worker) }
            if code != 0 { act(withoutThread(for: work), for: work) }
        case .nothing: break
        case .fail(let waiting):
            for work in waiting { DispatchQueue.global().async(execute: work) }
        }
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
            guard state.count == 0 else { return .nothing }
            defer { state.waiting = Fifo() }
            return .fail(state.waiting.all)
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
            if let work = worker.work.take() ?? state.waiting.popFirst() { return work }
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
