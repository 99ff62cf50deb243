#if OUTLET_TSAN
    import Glibc

    /// The lock of all modules, made of a pthread mutex for builds with the thread sanitizer.
    ///
    /// The sanitizer of Swift 6.3.1 reports false races for `Synchronization.Mutex`.
    @usableFromInline package final class Lock<State: ~Copyable>: @unchecked Sendable {
        // because every access to `state` is under `mutex`.
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private var state: State

        @usableFromInline package init(_ state: consuming sending State) {
            self.state = state
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        @usableFromInline package func withLock<Result, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state)
        }

        /// Locks and unlocks, so that the sanitizer sees that earlier accesses under the lock
        /// happened before later code.
        ///
        /// Needed after a continuation has resumed a task: if it is resumed before the task is
        /// suspended, the sanitizer does not see the order.
        @usableFromInline package func showOrder() {
            withLock { _ in }
        }
    }
#else
    public import Synchronization

    /// The lock of all modules; never call user code while holding it.
    @usableFromInline package struct Lock<State: ~Copyable>: ~Copyable, Sendable {
        @usableFromInline let mutex: Mutex<State>

        @inlinable package init(_ state: consuming sending State) {
            mutex = Mutex(state)
        }

        @inlinable package borrowing func withLock<Result, Failure: Error>(
            _ body: (inout sending State) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock(body)
        }

        /// Does nothing; needed only in builds with the thread sanitizer.
        @inlinable package borrowing func showOrder() {}
    }
#endif
