/// A value that is made once, and awaited by any number of tasks, before or after.
///
/// `fulfil` resumes the waiting tasks from wherever it is called; nothing runs under the lock.
/// Inlinable, so that awaiting is compiled for the type awaited: it is on every request's way. The
/// value lies in memory of its own, because taking a generic class apart asks the runtime for the
/// type of each of its generic fields.
@usableFromInline final class Awaited<Value: Sendable>: @unchecked Sendable {
    // because `slot` is written once, under the lock, and read by those only who were told so.

    @usableFromInline let waiters = Lock(Waiters())
    @usableFromInline let slot = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    init() {}

    deinit {
        if waiters.withLock({ $0.isOver }) { slot.deinitialize(count: 1) }
        slot.deallocate()
    }

    /// Makes the value known; only the first call counts.
    func fulfil(_ value: Value) {
        let waiting = waiters.withLock { waiters -> Waiters in
            guard !waiters.isOver else { return Waiters() }
            slot.initialize(to: value)
            let waiting = waiters
            waiters = Waiters(isOver: true)
            return waiting
        }
        waiting.first?.resume()
        for continuation in waiting.others { continuation.resume() }
    }

    /// Waits for the value without limit, so its maker must always make it.
    @inlinable func wait() async {
        await withUnsafeContinuation { continuation in
            let isOver = waiters.withLock { $0.add(continuation) }
            if isOver { continuation.resume() }
        }
        waiters.showOrder()
    }

    /// The value; waits for it.
    var value: Value {
        get async {
            await wait()
            return slot.pointee
        }
    }
}

/// Those who wait for a value.
@usableFromInline struct Waiters: Sendable {
    /// Whether the value is there.
    @usableFromInline var isOver = false
    @usableFromInline var first: UnsafeContinuation<Void, Never>?
    @usableFromInline var others: [UnsafeContinuation<Void, Never>] = []

    /// Keeps a continuation until the value is there.
    ///
    /// - Returns: Whether the value is there already; the continuation is not kept then.
    @inlinable mutating func add(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
        guard !isOver else { return true }
        if first == nil { first = continuation } else { others.append(continuation) }
        return false
    }
}
