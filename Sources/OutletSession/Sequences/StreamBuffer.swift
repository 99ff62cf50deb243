public import OutletTransport

/// A buffer of values for one loop.
///
/// What a loop calls is inlinable, so that it is specialised for the type of the values: without
/// that, an awaited message takes two thirds more instructions (`Benchmarks/count socket-awaited`).
@usableFromInline final class StreamBuffer<Element: Sendable>: Sendable {
    @usableFromInline struct Entry: Sendable {
        @usableFromInline let element: Element
        /// Called when the value was taken or dropped.
        @usableFromInline let done: (@Sendable () -> Void)?
    }

    @usableFromInline struct State: Sendable {
        @usableFromInline var entries = Fifo<Entry>()
        /// Unsafe, because a checked one allocates for each awaited element; resumed once, by the
        /// function that sets it to `nil` under the lock.
        @usableFromInline var waiting: UnsafeContinuation<Element?, Never>?
        @usableFromInline var isFinished = false
        @usableFromInline var isClosed = false
    }

    private let policy: StreamOf<Element>.BufferingPolicy
    @usableFromInline let state = Lock(State())

    init(_ policy: StreamOf<Element>.BufferingPolicy) {
        self.policy = policy
    }

    /// Adds a value, or drops one according to the buffering policy.
    ///
    /// - Parameters:
    ///   - element: The value.
    ///   - isLast: Whether it tells of the end, which no policy drops: its loop would else end as
    ///     after a success.
    ///   - done: Called when the value was taken or dropped.
    func yield(_ element: Element, isLast: Bool = false, done: (@Sendable () -> Void)? = nil) {
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
            case .bufferingOldest(let limit) where state.entries.count >= limit && !isLast:
                return (nil, done)
            case .bufferingNewest(let limit) where limit < 1 && !isLast: return (nil, done)
            case .bufferingNewest(let limit) where state.entries.count >= limit:
                let oldest = state.entries.popFirst()
                state.entries.append(entry)
                return (nil, oldest?.done)
            default:
                state.entries.append(entry)
                return (nil, nil)
            }
        }
        waiting?.resume(returning: element)
        dropped?()
    }

    /// Ends the sequence after the values in the buffer.
    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: nil)
    }

    /// Drops all values, because the loop has ended.
    ///
    /// - Returns: Whether this is the first call.
    func close() -> Bool {
        var (isFirst, left, waiting) = state.withLock { state in
            defer {
                state.isClosed = true
                state.entries = Fifo()
                state.waiting = nil
            }
            return (!state.isClosed, state.entries, state.waiting)
        }
        waiting?.resume(returning: nil)
        while let entry = left.popFirst() { entry.done?() }
        return isFirst
    }

    /// Returns the next value; `nil` if there is none yet.
    @inlinable func takeAtOnce() -> Element? {
        guard let entry = state.withLock({ $0.entries.popFirst() }) else { return nil }
        entry.done?()
        return entry.element
    }

    /// Returns the next value, and waits for it; `nil` at the end.
    ///
    /// - Parameter actor: The actor of the caller.
    @inlinable func next(isolation actor: isolated (any Actor)?) async -> Element? {
        defer { state.showOrder() }
        return await withUnsafeContinuation(isolation: actor) { continuation in
            let (entry, isOver) = state.withLock { state -> (Entry?, Bool) in
                if let entry = state.entries.popFirst() { return (entry, false) }
                // Only one task can wait: a second one on the same iterator gets `nil`.
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
