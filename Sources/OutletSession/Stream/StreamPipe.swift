import Dispatch
import OutletTransport

/// The queue of items between the transport and one handler: delivers them one at a time, in order,
/// also on a concurrent dispatch queue.
///
/// Each item is a block of its own on the dispatch queue, so that it comes after blocks that were
/// enqueued before, such as the completion of the WebSocket send that the item answers.
final class StreamPipe<Owner: Sendable, Item: Sendable>: Sendable {
    /// Processes an item.
    typealias Consumer = @Sendable (_ owner: Owner, _ item: Item) -> Void

    private struct Entry: Sendable {
        /// Retained by the entry, not by the pipe, which the owner retains.
        let owner: Owner
        let item: Item
    }

    /// What follows after an item was offered.
    private enum Offer {
        /// Items after the last one are dropped.
        case dropped
        /// The item was added, and is delivered on the queue or by another thread.
        case added
        /// The item was added, and the caller has to deliver it.
        case due
        /// No item waits, so that the caller has to deliver this one without adding it.
        case next
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

        /// Adds an item, unless the caller has to deliver it at once.
        mutating func add(
            _ item: Item, of owner: Owner, isLast: Bool, isDeliveredHere: Bool
        ) -> Offer {
            guard !isComplete else { return .dropped }
            isComplete = isLast
            if isDeliveredHere, !isDraining, entries.isEmpty {
                isDraining = true
                return .next
            }
            entries.append(Entry(owner: owner, item: item))
            return isDeliveredHere && beginDraining(1) ? .due : .added
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

    /// Adds and delivers an item.
    ///
    /// - Returns: Whether the item is delivered; items after the last are dropped.
    @discardableResult
    func offer(_ item: Item, of owner: Owner, isLast: Bool = false) -> Bool {
        let offer = inbox.withLock {
            $0.add(item, of: owner, isLast: isLast, isDeliveredHere: queue == nil)
        }
        switch offer {
        case .dropped: return false
        case .added: queue?.async { self.letOutHere(1) }
        case .due: drain()
        case .next:
            consumer(owner, item)
            drain()
        }
        return true
    }

    /// Adds items without delivering them, ahead of items that are offered later; may be called
    /// under a lock.
    func put(_ items: [Item], of owner: Owner) {
        inbox.withLock { inbox in
            for item in items { inbox.entries.append(Entry(owner: owner, item: item)) }
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
            consumer(entry.owner, entry.item)
        }
    }
}
