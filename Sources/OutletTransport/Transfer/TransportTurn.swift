public import Dispatch

/// One iteration of a transport's event loop: collects work for dispatch queues and submits it
/// once, at the end of the iteration.
///
/// Dispatching to another thread costs more than most of the processing of a response. A turn in
/// which forty requests finish dispatches once per queue instead of forty times.
///
/// Thread: only that of the call that passes the turn; do not keep it beyond that call.
public final class TransportTurn {
    // Release builds do not check exclusive access, because only the transport's thread uses it.
    // The checks of all such properties cost 3 % of a transfer's instructions
    // (Benchmarks/count transport).
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var batches: [QueueWork] = []
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var resumptions: [() -> Void] = []

    /// Work for one queue.
    fileprivate struct QueueWork {
        fileprivate var queue: DispatchQueue?
        /// Stored here, because most turns have work for one request, which then needs no array.
        private var first: (@Sendable () -> Void)?
        private var others: [@Sendable () -> Void] = []

        init() {}

        fileprivate init(queue: DispatchQueue, work: @escaping @Sendable () -> Void) {
            self.queue = queue
            first = work
        }

        fileprivate mutating func append(_ work: @escaping @Sendable () -> Void) {
            if first == nil { first = work } else { others.append(work) }
        }

        /// Submits the work to the queue; the value is empty afterwards.
        mutating func submit() {
            guard let queue = queue.take(), let first = first.take() else { return }
            guard !others.isEmpty else { return queue.async(execute: first) }
            let others = others
            self.others = []
            queue.async {
                first()
                for item in others { item() }
            }
        }

        /// Runs the work on the calling thread, as the queue; the value is empty afterwards.
        mutating func run() {
            guard let queue = queue.take() else { return }
            queue.sync {
                first.take()?()
                // Each item is released when it has run, so that the next one can use its memory
                // again: 2 % of a request at 64 in flight (`Benchmarks/run --only
                // session-callback-queue`).
                others.reverse()
                while let item = others.popLast() { item() }
            }
        }
    }

    /// Work that the transport's thread may run after the turn.
    package struct OwnWork {
        /// For the first queue of the turn that a session made for itself.
        fileprivate var queued = QueueWork()
        /// Tasks whose executor is the global concurrent one.
        fileprivate var jobs: [UnownedJob] = []

        /// Makes a value without work.
        package init() {}

        fileprivate var isEmpty: Bool { queued.queue == nil && jobs.isEmpty }

        /// Submits the work to its queue and to the global executor; the value is empty afterwards.
        package mutating func submit() {
            queued.submit()
            guard !jobs.isEmpty else { return }
            let executor = globalConcurrentExecutor
            for job in jobs { executor.enqueue(job) }
            jobs.removeAll(keepingCapacity: true)
        }

        /// Runs the work on the calling thread, as its queue and as a thread of the global
        /// executor; the value is empty afterwards.
        ///
        /// - Parameter tasks: Empty; has the tasks until they run, so that another thread can submit
        ///   them while this one is blocked.
        package mutating func run(_ tasks: WaitingTasks) {
            if !jobs.isEmpty { tasks.add(&jobs) }
            queued.run()
            while let job = tasks.next() { job.runSynchronously(on: .global) }
        }
    }

    /// Tasks of a turn that the transport's thread has not run yet.
    ///
    /// Thread: any.
    package final class WaitingTasks: Sendable {
        private struct State {
            var jobs: [UnownedJob] = []
            /// The index of the first that has not run.
            var next = 0
        }
        private let state = Lock(State())

        /// Makes an empty list.
        package init() {}

        /// Swaps the tasks for the empty list of before, whose memory is used again.
        fileprivate func add(_ jobs: inout [UnownedJob]) {
            state.withLock { swap(&$0.jobs, &jobs) }
        }

        fileprivate func next() -> UnownedJob? {
            state.withLock { state in
                guard state.next < state.jobs.count else {
                    if state.next > 0 { state.jobs.removeAll(keepingCapacity: true) }
                    state.next = 0
                    return nil
                }
                defer { state.next += 1 }
                return state.jobs[state.next]
            }
        }

        /// Submits the tasks that are left to the global executor.
        package func submit() {
            let executor = globalConcurrentExecutor
            while let job = next() { executor.enqueue(job) }
        }
    }

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var own = OwnWork()

    /// Makes an empty turn.
    public init() {}

    /// The turn of the last ``run(_:)``, which the next one uses again.
    private struct Idle: @unchecked Sendable {
        // because no thread uses the turn while it is here.
        var turn: TransportTurn?
    }
    private static let idle = Lock(Idle())

    /// Runs `body` as a turn of its own, outside of an event loop.
    ///
    /// - Parameter body: Called once, with an empty turn; do not keep it.
    package static func run(_ body: (TransportTurn) -> Void) {
        let turn = idle.withLock { Idle(turn: $0.turn.take()) }.turn ?? TransportTurn()
        body(turn)
        turn.end()
        let ended = Idle(turn: turn)
        idle.withLock { $0 = ended }
    }

    /// Runs `work` on `queue` after this turn.
    ///
    /// - Parameters:
    ///   - queue: The queue; a serial one keeps the order in which the work was added.
    ///   - work: Called once, on the queue.
    public func perform(on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        perform(on: queue, isOwn: false, work)
    }

    /// Runs `work` on `queue` after this turn.
    ///
    /// - Parameters:
    ///   - queue: The queue; a serial one keeps the order in which the work was added.
    ///   - isOwn: Whether it is a serial queue that a session made for itself, so that a thread of
    ///     the transport may run the work.
    ///   - work: Called once, on the queue.
    package func perform(
        on queue: DispatchQueue, isOwn: Bool, _ work: @escaping @Sendable () -> Void
    ) {
        if isOwn, own.queued.queue == nil { own.queued.queue = queue }
        if own.queued.queue === queue { return own.queued.append(work) }
        for index in batches.indices where batches[index].queue === queue {
            return batches[index].append(work)
        }
        batches.append(QueueWork(queue: queue, work: work))
    }

    /// Lets a task continue after this turn, on the transport's thread or the global executor.
    ///
    /// - Parameter job: Of a task that prefers no task executor, and whose code may run on any thread
    ///   of the global executor until it switches to another one.
    package func continueTask(_ job: UnownedJob) { own.jobs.append(job) }

    /// Swaps the work that the transport's thread may run for `work`, which must be empty and whose
    /// memory is used again.
    ///
    /// - Returns: Whether there was any.
    package func takeOwnWork(into work: inout OwnWork) -> Bool {
        guard !own.isEmpty else { return false }
        swap(&own, &work)
        return true
    }

    /// Resumes tasks when all transfers that have finished now are processed.
    ///
    /// A task that is resumed while others still wait is over before the next one is resumed, and
    /// each of them costs a wake of the thread that runs them.
    ///
    /// - Parameter body: Called once, on this thread; calls user code only if the session delivers
    ///   inline.
    package func resumeLater(_ body: @escaping () -> Void) { resumptions.append(body) }

    /// Resumes the tasks of ``resumeLater(_:)``.
    package func resumeTasks() {
        guard !resumptions.isEmpty else { return }
        var due: [() -> Void] = []
        swap(&due, &resumptions)
        for resume in due { resume() }
        // Reuses the memory of the array.
        due.removeAll(keepingCapacity: true)
        if resumptions.isEmpty { swap(&due, &resumptions) }
    }

    /// Resumes tasks, and submits all collected work to its queues; the turn is empty afterwards.
    public func end() {
        resumeTasks()
        own.submit()
        guard !batches.isEmpty else { return }
        for index in batches.indices { batches[index].submit() }
        batches.removeAll(keepingCapacity: true)
    }
}

extension UnownedSerialExecutor {
    /// The executor of code without an actor, as on the threads of the global concurrent executor.
    ///
    /// The runtime defines it as zero (`_getGenericSerialExecutor` of the standard library), and has
    /// no public name for it.
    fileprivate static var global: UnownedSerialExecutor {
        unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }
}
