public import Dispatch

/// Something that can run later without a closure of its own.
public protocol TurnWork: AnyObject, Sendable {
    /// Does what was put off.
    func perform()
}

/// One round of a transport's loop: work for queues is gathered and handed over once at its end.
///
/// A hop between threads costs more than most of what a response needs, so a turn that finishes
/// forty requests makes one hop per queue, not forty.
///
/// Thread: the transport's own; never kept beyond the call that passed it.
public final class TransportTurn {
    // Release builds do not check exclusive access, because the transport's thread alone uses it: the
    // checks of all such properties cost 3 % of a transfer's instructions (Benchmarks/count transport).
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var batches: [Batch] = []

    private struct Batch {
        let queue: DispatchQueue
        var work: [any TurnWork]
    }

    /// Makes an empty turn.
    public init() {}

    /// Runs `work` on `queue` after this turn, behind what was put there before.
    ///
    /// - Parameters:
    ///   - work: Called once, on the queue.
    ///   - queue: A serial queue keeps the order in which the work was given.
    public func perform(_ work: any TurnWork, on queue: DispatchQueue) {
        for index in batches.indices where batches[index].queue === queue {
            batches[index].work.append(work)
            return
        }
        batches.append(Batch(queue: queue, work: [work]))
    }

    /// Hands all gathered work to its queues; the turn is empty afterwards.
    public func end() {
        guard !batches.isEmpty else { return }
        let ended = batches
        batches.removeAll(keepingCapacity: true)
        for batch in ended {
            let work = batch.work
            batch.queue.async { for item in work { item.perform() } }
        }
    }
}
