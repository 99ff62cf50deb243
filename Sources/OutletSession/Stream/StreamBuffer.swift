import OutletTransport

/// Values between those who give and the one loop that takes.
final class StreamBuffer<Element: Sendable>: Sendable {
    private struct Entry: Sendable {
        let element: Element
        /// Called when the value was taken, or dropped.
        let done: (@Sendable () -> Void)?
    }

    private struct State: Sendable {
        var entries: [Entry] = []
        /// How many of ``entries`` were taken already.
        var taken = 0
        /// Unsafe, because a checked one takes an allocation for each element that is awaited; resumed once
        /// by the function that sets it to `nil`, under the lock.
        var waiting: UnsafeContinuation<Element?, Never>?
        var isFinished = false
        var isClosed = false

        var count: Int { entries.count - taken }

        mutating func take() -> Entry? {
            guard taken < entries.count else { return nil }
            defer {
                taken += 1
                // Moved seldom, so that a value costs the same however many lie behind it.
                if taken == entries.count || taken > 64 && taken * 2 > entries.count {
                    entries.removeFirst(taken)
                    taken = 0
                }
            }
            return entries[taken]
        }
    }

    private let policy: StreamOf<Element>.BufferingPolicy
    private let state = Lock(State())

    init(_ policy: StreamOf<Element>.BufferingPolicy) {
        self.policy = policy
    }

    /// Gives a value.
    ///
    /// - Parameter done: Called when the value was taken, or dropped.
    func yield(_ element: Element, done: (@Sendable () -> Void)? = nil) {
        let (waiting, dropped) = state.withLock { state in
            guard !state.isFinished, !state.isClosed else {
                return (nil as UnsafeContinuation<Element?, Never>?, done)
            }
            if let waiting = state.waiting {
                state.waiting = nil
                return (waiting, done)
            }
            let entry = Entry(element: element, done: done)
            switch policy {
            case .bufferingOldest(let limit) where state.count >= limit: return (nil, done)
            case .bufferingNewest(let limit) where state.count >= limit:
                let oldest = limit > 0 ? state.take() : entry
                if limit > 0 { state.entries.append(entry) }
                return (nil, oldest?.done)
            default:
                state.entries.append(entry)
                return (nil, nil)
            }
        }
        waiting?.resume(returning: element)
        dropped?()
    }

    /// There are no more values; those that are here may still be taken.
    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: nil)
    }

    /// Nobody takes values any more.
    ///
    /// - Returns: Whether this was the first time.
    func close() -> Bool {
        let (isFirst, left, waiting) = state.withLock { state in
            defer {
                state.isClosed = true
                state.entries = []
                state.taken = 0
                state.waiting = nil
            }
            return (!state.isClosed, state.entries.dropFirst(state.taken), state.waiting)
        }
        waiting?.resume(returning: nil)
        for entry in left { entry.done?() }
        return isFirst
    }

    /// Takes the next value, if it is there.
    func takeAtOnce() -> Element? {
        guard let entry = state.withLock({ $0.take() }) else { return nil }
        entry.done?()
        return entry.element
    }

    /// Takes the next value; waits for it until it is there, or there will be none.
    ///
    /// - Parameter actor: The caller's.
    func next(isolation actor: isolated (any Actor)?) async -> Element? {
        defer { state.showOrder() }
        return await withUnsafeContinuation(isolation: actor) { continuation in
            let (entry, isOver) = state.withLock { state -> (Entry?, Bool) in
                if let entry = state.take() { return (entry, false) }
                // A second loop on one iterator gets nothing: there is one place to wait.
                if state.isFinished || state.isClosed || state.waiting != nil { return (nil, true) }
                state.waiting = continuation
                return (nil, false)
            }
            if let entry {
                continuation.resume(returning: entry.element)
                entry.done?()
            } else if isOver {
                continuation.resume(returning: nil)
            }
        }
    }
}
