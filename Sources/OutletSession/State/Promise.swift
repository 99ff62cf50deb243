import Glibc
public import OutletTransport

/// A value that is set once and that any number of tasks can await, before or after that.
///
/// The type is inlinable, so that awaiting is specialised for the value's type: every awaited
/// request uses it.
@usableFromInline struct Promise<Value: Sendable>: Sendable {
    @usableFromInline let place = PromiseStorage(for: Value.self)

    /// Sets the value, and continues the waiting tasks; calls after the first have no effect.
    ///
    /// Thread: any; the tasks continue on their own executors.
    func fulfil(_ value: Value) {
        set(value)
        place.continueTasks(after: nil)
    }

    /// Sets the value; calls after the first have no effect.
    ///
    /// ``PromiseStorage/continueTasks(after:)`` must follow.
    func set(_ value: Value) {
        place.waiting.withLock { waiting in
            guard !waiting.isOver else { return }
            place.memory.initializeMemory(as: Value.self, to: value)
            waiting.isOver = true
        }
    }

    /// Waits for the value, without a time limit; ``fulfil(_:)`` must be called eventually.
    @inlinable func wait() async {
        if place.mustWait() { await place.arrive() }
        place.waiting.showOrder()
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

/// The memory of a promise's value, and the executor on which tasks wait for it.
///
/// The executor keeps each task that calls ``arrive()`` until the value is set. Unlike a
/// continuation, which always resumes on the executor of the task, it can let the task continue on
/// the transport's thread, see ``TransportTurn/continueTask(_:)``.
///
/// Not generic: to deallocate an object of a generic class, the runtime looks up the type of each
/// property.
@usableFromInline final actor PromiseStorage: SerialExecutor {
    /// The tasks that wait for a value.
    @usableFromInline struct Waiting: Sendable {
        /// Whether the value is set.
        var isOver = false
        /// Whether any of the tasks has to continue on a task executor that it prefers.
        var prefersExecutor = false
        /// The first one is stored separately, because a single one is the usual case and needs no
        /// array.
        var first: UnownedJob?
        var others: [UnownedJob] = []
    }

    @usableFromInline nonisolated let waiting = Lock(Waiting())
    // `unsafe` because the memory is written once, under the lock, and read only by tasks that
    // continue after that.
    @usableFromInline nonisolated(unsafe) let memory: UnsafeMutableRawPointer
    private nonisolated let clear: @Sendable (UnsafeMutableRawPointer) -> Void

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
        if waiting.withLock({ $0.isOver }) { clear(memory) }
        free(memory)
    }

    // MARK: Waiting

    /// Whether the value is not set, so that the current task has to call ``arrive()``.
    @usableFromInline nonisolated func mustWait() -> Bool {
        let prefersExecutor = withUnsafeCurrentTask { $0?.unownedTaskExecutor != nil }
        return waiting.withLock { waiting in
            if prefersExecutor { waiting.prefersExecutor = true }
            return !waiting.isOver
        }
    }

    /// Returns when the value is set: until then the executor does not run it.
    @inline(never)
    @usableFromInline func arrive() { waiting.showOrder() }

    @usableFromInline nonisolated var unownedExecutor: UnownedSerialExecutor {
        asUnownedSerialExecutor()
    }

    @usableFromInline nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOver = waiting.withLock { waiting in
            guard !waiting.isOver else { return true }
            if waiting.first == nil { waiting.first = job } else { waiting.others.append(job) }
            return false
        }
        if isOver { job.runSynchronously(on: unownedExecutor) }
    }

    /// Continues the waiting tasks, after the value was set.
    ///
    /// - Parameter turn: The transport's turn, after which tasks without a task executor of their
    ///   own may continue on its thread; `nil` on other threads.
    nonisolated func continueTasks(after turn: TransportTurn?) {
        let waiting = waiting.withLock { waiting in
            defer {
                waiting.first = nil
                waiting.others = []
            }
            return waiting
        }
        guard let first = waiting.first else { return }
        for job in CollectionOfOne(first) + waiting.others {
            if let turn, !waiting.prefersExecutor {
                turn.continueTask(job)
            } else {
                // Only runs `arrive()`, and lets the task switch to its own executor.
                job.runSynchronously(on: unownedExecutor)
            }
        }
    }
}
