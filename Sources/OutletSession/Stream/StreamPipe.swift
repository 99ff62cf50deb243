import Dispatch

/// One handler's way: pieces go in from the transport, and come out one at a time, in order.
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
        var entries: [Entry] = []
        var isDraining = false
        var isComplete = false
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
            defer { inbox.isDraining = true }
            return (true, !inbox.isDraining)
        }
        guard isTaken else { return done() }
        guard begins else { return }
        if let queue {
            queue.async { self.drain() }
        } else {
            drain()
        }
    }

    private func drain() {
        while case let entries = takeAll(), !entries.isEmpty {
            for entry in entries { consumer(entry.owner, entry.item, entry.done) }
        }
    }

    private func takeAll() -> [Entry] {
        inbox.withLock { inbox in
            defer { inbox.entries = [] }
            if inbox.entries.isEmpty { inbox.isDraining = false }
            return inbox.entries
        }
    }
}
