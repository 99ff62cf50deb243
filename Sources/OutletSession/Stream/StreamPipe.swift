import Dispatch
import OutletTransport

/// One handler's way: pieces go in from the transport, and come out one at a time, in order.
///
/// Each item is a block of its own on the queue, so that none overtakes what others have put there
/// before it, such as the completion of the send that it answers.
final class StreamPipe<Owner: Sendable, Item: Sendable>: Sendable {
    /// Takes an item; has to call `done` once it is done with it.
    typealias Consumer =
        @Sendable (_ owner: Owner, _ item: Item, _ done: @escaping @Sendable () -> Void) -> Void

    private struct Entry: Sendable {
        /// Held here and not by the pipe, which the owner holds.
        let owner: Owner
        let item: Item
        let done: @Sendable () -> Void
    }

    private struct Inbox: Sendable {
        /// Items in order; those before ``first`` were taken.
        var entries: [Entry?] = []
        var first = 0
        /// How many items may come out that have not yet.
        var due = 0
        var isDraining = false
        var isComplete = false

        /// Lets so many items out.
        ///
        /// - Returns: Whether it is the caller who takes them; else somebody is at it.
        mutating func beginDraining(_ count: Int) -> Bool {
            due += count
            defer { isDraining = true }
            return !isDraining
        }

        mutating func take() -> Entry? {
            guard due > 0, first < entries.count else {
                isDraining = false
                return nil
            }
            due -= 1
            defer {
                entries[first] = nil
                first += 1
                if first == entries.count || first > 64 && first * 2 > entries.count {
                    entries.removeFirst(first)
                    first = 0
                }
            }
            return entries[first]
        }
    }

    /// Where items come out; on the giving thread if `nil`.
    private let queue: DispatchQueue?
    private let consumer: Consumer
    private let inbox = Lock(Inbox())

    init(on queue: DispatchQueue?, consumer: @escaping Consumer) {
        self.queue = queue
        self.consumer = consumer
    }

    /// Puts an item in; what comes after the last is dropped.
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

    /// Puts items in that are to come out before all that is offered later, but not yet: may be
    /// called under a lock.
    func put(_ items: [Item], of owner: Owner) {
        inbox.withLock { inbox in
            inbox.entries += items.map { Entry(owner: owner, item: $0, done: {}) }
        }
    }

    /// Lets so many items out.
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
