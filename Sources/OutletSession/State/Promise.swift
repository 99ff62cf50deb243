import Glibc
public import OutletTransport

/// A value that is made once, and awaited by any number of tasks, before or after.
///
/// `fulfil` resumes the waiting tasks from wherever it is called; nothing runs under the lock.
/// Inlinable, so that awaiting is compiled for the type awaited: it is on every request's way. With
/// checked continuations and an array of them, an awaited request would take 3 % more instructions
/// (`Benchmarks/count session-async`).
@usableFromInline struct Promise<Value: Sendable>: Sendable {
    @usableFromInline let place = PromiseStorage(for: Value.self)

    /// Makes the value known; only the first call counts.
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

    /// Waits for the value without limit, so its maker must always make it.
    @inlinable func wait() async {
        await withUnsafeContinuation { continuation in
            let isOver = place.waiters.withLock { $0.add(continuation) }
            if isOver { continuation.resume() }
        }
        place.waiters.showOrder()
    }

    /// Reads the value where it lies; after ``wait()`` only.
    @inlinable func read<Result>(
        _ body: (UnsafePointer<Value>) throws -> Result
    ) rethrows -> Result {
        try withExtendedLifetime(place) {
            try body(UnsafePointer(place.memory.assumingMemoryBound(to: Value.self)))
        }
    }

    /// The value; waits for it.
    var value: Value {
        get async {
            await wait()
            return read { $0.pointee }
        }
    }
}

/// Where an awaited value comes to lie.
///
/// Not generic: to take a generic class apart, the runtime is asked about the type of each field.
@usableFromInline final class PromiseStorage: @unchecked Sendable {
    // because the memory is written once, under the lock, and read by those only who were told so.

    @usableFromInline let waiters = Lock(Waiters())
    @usableFromInline let memory: UnsafeMutableRawPointer
    private let clear: @Sendable (UnsafeMutableRawPointer) -> Void
    /// Whether the value is there; read without the lock when nobody else is left, and so without a check of
    /// exclusive access in release builds (`EventLoop` says what the checks cost).
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var isFilled = false

    @inline(__always)
    fileprivate init<Value>(for type: Value.Type) {
        // What Swift allocates with an alignment, be it the usual one, comes from posix_memalign(),
        // which takes a far longer way than malloc().
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
