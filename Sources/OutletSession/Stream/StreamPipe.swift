import Dispatch
import OutletTransport

/// The queue of items between the transport and one handler: delivers them one at a time, in order.
///
/// Each item is a block of its own on the dispatch queue, so that it comes after blocks that were
/// enqueued before, such as the completion of the WebSocket send that the item answers.
final class StreamPipe<Owner: Sendable, Item: Sendable>: Sendable {
    /// Processes an item; must call `done` when it has.
    typealias Consumer =
        @Sendable (_ owner: Owner, _ item: Item, _ done: @escaping @Sendable () -> Void) -> Void

    private struct Entry: Sendable {
        /// Retained by the entry, not by the pipe, which the owner retains.
        let owner: Owner
        let item: Item
        let done: @Sendable () -> Void
    }

    private struct Inbox: Sendable {
        var entries = Fifo<Entry>()
        /// How many items may be delivered.
        var due = 0
        var isDraining = false
        var isComplete = false

        /// Allows `count` more items to be delivered.
        ///
        /// - Returns: Whether the caller has to deliver them; `false` if another thread is doing
        ///   so.
        mutating func beginDraining(_ count: Int) -> Bool {
            due += count
            defer { isDraining = true }
            return !isDraining
        }

        mutating func take() -> Entry? {
            guard due > 0, let entry = entries.popFirst() else {
                isDraining = false
                return nil
            }
            due -= 1
            return entry
        }
    }

    /// Where items are delivered; on the thread that offers them if `nil`.
    private let queue: DispatchQueue?
    private let consumer: Consumer
    private let inbox = Lock(Inbox())

    init(on queue: DispatchQueue?, consumer: @escaping Consumer) {
        self.queue = queue
        self.consumer = consumer
    }

    /// Adds and delivers an item; items after the last are dropped.
    func offer(
        _ item: Item, of owner: Owner, isLast: Bool = false, done: @escaping @Sendable () -> Void
    ) {
        let (isTaken, begins) = inbox.withLock { inbox in
            guard !inbox.isComplete else { return (false, false) }
            inbox.isComplete = isLast
            inbox.entries.append(Entry(owner: owner, item: item, done: done))
            return (true, queue == nil && inbox.beginDraining(1))
        }
        guard isTaken else { return done() }
        if let queue {
            queue.async { self.letOutHere(1) }
        } else if begins {
            drain()
        }
    }

    /// Adds items without delivering them, ahead of items that are offered later; may be called
    /// under a lock.
    func put(_ items: [Item], of owner: Owner) {
        inbox.withLock { inbox in
            for item in items { inbox.entries.append(Entry(owner: owner, item: item, done: {})) }
        }
    }

    /// Delivers `count` of the items added with ``put(_:of:)``.
    func letOut(_ count: Int) {
        guard let queue else { return letOutHere(count) }
        for _ in 0..<count { queue.async { self.letOutHere(1) } }
    }

    private func letOutHere(_ count: Int) {
        if inbox.withLock({ $0.beginDraining(count) }) { drain() }
    }

    private func drain() {
        while let entry = inbox.withLock({ $0.take() }) {
            consumer(entry.owner, entry.item, entry.done)
        }
    }
}
