public import Dispatch

/// Work that runs later, as an object, so that no closure has to be allocated for it.
public protocol TurnWork: AnyObject, Sendable {
    /// Does the work.
    func perform()
}

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
    /// The results that other threads use.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var recentResults = RecentResults()

    /// Work for one queue.
    package struct QueueWork {
        fileprivate var queue: DispatchQueue?
        /// Stored here, because most turns have work for one request, which then needs no array.
        private var first: (any TurnWork)?
        private var others: [any TurnWork] = []

        /// Makes a value without work.
        package init() {}

        fileprivate init(queue: DispatchQueue, work: any TurnWork) {
            self.queue = queue
            first = work
        }

        fileprivate mutating func append(_ work: any TurnWork) {
            if first == nil { first = work } else { others.append(work) }
        }

        /// Submits the work to the queue; the value is empty afterwards.
        package mutating func submit() {
            guard let queue = queue.take(), let first = first.take() else { return }
            guard !others.isEmpty else { return queue.async { first.perform() } }
            let others = others
            self.others = []
            queue.async {
                first.perform()
                for item in others { item.perform() }
            }
        }

        /// Runs the work on the calling thread, as the queue.
        package mutating func run() {
            queue?.sync {
                first?.perform()
                for item in others { item.perform() }
            }
            queue = nil
            first = nil
            others.removeAll(keepingCapacity: true)
        }
    }

    /// The work for the first queue of the turn that a session made for itself.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var own = QueueWork()

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
        turn.releaseResults()
        let ended = Idle(turn: turn)
        idle.withLock { $0 = ended }
    }

    /// Runs `work` on `queue` after this turn.
    ///
    /// - Parameters:
    ///   - work: Its ``TurnWork/perform()`` is called once, on the queue.
    ///   - queue: The queue; a serial one keeps the order in which the work was added.
    public func perform(_ work: any TurnWork, on queue: DispatchQueue) {
        perform(work, on: queue, isOwn: false)
    }

    /// Runs `work` on `queue` after this turn.
    ///
    /// - Parameters:
    ///   - work: Its ``TurnWork/perform()`` is called once, on the queue.
    ///   - queue: The queue; a serial one keeps the order in which the work was added.
    ///   - isOwn: Whether it is a serial queue that a session made for itself, so that a thread of
    ///     the transport may run the work.
    package func perform(_ work: any TurnWork, on queue: DispatchQueue, isOwn: Bool) {
        if isOwn, own.queue == nil { own.queue = queue }
        if own.queue === queue { return own.append(work) }
        for index in batches.indices where batches[index].queue === queue {
            return batches[index].append(work)
        }
        batches.append(QueueWork(queue: queue, work: work))
    }

    /// Swaps the work for a queue that a session made for itself for `work`, which must be empty and
    /// whose memory is used again.
    ///
    /// - Returns: Whether there was any.
    package func takeOwnWork(into work: inout QueueWork) -> Bool {
        guard own.queue != nil else { return false }
        swap(&own, &work)
        return true
    }

    /// Lets the transport's thread free the memory of a result that another thread uses.
    package func handOver(_ result: borrowing TransferResult) { recentResults.add(result) }

    /// Releases the results of ``handOver(_:)``.
    package func releaseResults() { recentResults.removeAll() }

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
