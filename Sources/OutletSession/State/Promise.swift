import Glibc
public import OutletTransport

/// A value that is set once and that any number of tasks can await, before or after that.
///
/// `fulfil` resumes the waiting tasks on its own thread, without holding the lock.
///
/// The type is inlinable, so that awaiting is specialised for the value's type: every awaited
/// request uses it. With checked continuations, stored in an array, an awaited request would take
/// 3 % more instructions (`Benchmarks/count session-async`).
@usableFromInline struct Promise<Value: Sendable>: Sendable {
    @usableFromInline let place = PromiseStorage(for: Value.self)

    /// Sets the value and resumes the waiting tasks; calls after the first have no effect.
    func fulfil(_ value: Value) {
        let waiting = place.waiters.withLock { waiters -> Waiters in
            guard !waiters.isOver else { return Waiters() }
            place.memory.initializeMemory(as: Value.self, to: value)
            place.isFilled = true
            let waiting = waiters
            waiters = Waiters(isOver: true)
            return waiting
        }
        waiting.first?.resume()
        for continuation in waiting.others { continuation.resume() }
    }

    /// Waits for the value, without a time limit; ``fulfil(_:)`` must be called eventually.
    @inlinable func wait() async {
        await withUnsafeContinuation { continuation in
            let isOver = place.waiters.withLock { $0.add(continuation) }
            if isOver { continuation.resume() }
        }
        place.waiters.showOrder()
    }

    /// Calls a closure with a pointer to the value; use it only after ``wait()``.
    @inlinable func read<Result>(
        _ body: (UnsafePointer<Value>) throws -> Result
    ) rethrows -> Result {
        try withExtendedLifetime(place) {
            try body(UnsafePointer(place.memory.assumingMemoryBound(to: Value.self)))
        }
    }

    /// Waits for the value and returns a copy of it.
    var value: Value {
        get async {
            await wait()
            return read { $0.pointee }
        }
    }
}

/// The memory of a promise's value, and the continuations that wait for it.
///
/// Not generic: to deallocate an object of a generic class, the runtime looks up the type of each
/// property.
@usableFromInline final class PromiseStorage: @unchecked Sendable {
    // because the memory is written once, under the lock, and read only by tasks that have seen
    // under the lock that it is written.

    @usableFromInline let waiters = Lock(Waiters())
    @usableFromInline let memory: UnsafeMutableRawPointer
    private let clear: @Sendable (UnsafeMutableRawPointer) -> Void
    /// Whether the value is set.
    ///
    /// `deinit` reads it without the lock, because no other reference exists then. Release builds
    /// do not check exclusive access to it (`EventLoop` has the cost of these checks).
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var isFilled = false

    @inline(__always)
    fileprivate init<Value>(for type: Value.Type) {
        // For an explicit alignment, even the default one, Swift calls posix_memalign(), which is
        // much slower than malloc().
        let layout = MemoryLayout<Value>.self
        let usual = layout.alignment <= 16 ? malloc(max(layout.size, 1)) : nil
        memory = usual ?? .allocate(byteCount: layout.size, alignment: layout.alignment)
        clear = { _ = $0.assumingMemoryBound(to: Value.self).move() }
    }

    deinit {
        waiters.showOrder()
        if isFilled { clear(memory) }
        free(memory)
    }
}

/// The continuations that wait for a value.
@usableFromInline struct Waiters: Sendable {
    /// Whether the value is set.
    @usableFromInline var isOver = false
    @usableFromInline var first: UnsafeContinuation<Void, Never>?
    @usableFromInline var others: [UnsafeContinuation<Void, Never>] = []

    /// Stores a continuation, unless the value is already set.
    ///
    /// - Returns: Whether the value is already set; the continuation is not stored then, and the
    ///   caller has to resume it.
    @inlinable mutating func add(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
        guard !isOver else { return true }
        if first == nil { first = continuation } else { others.append(continuation) }
        return false
    }
}
