#if OUTLET_TSAN
    import Glibc

    /// The one kind of lock here, made of a pthread mutex so that the thread sanitizer sees it.
    ///
    /// The sanitizer of Swift 6.3.1 reports `Synchronization.Mutex` falsely.
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

        /// Shows the sanitizer that what was done under the lock came before what follows.
        ///
        /// For a task that a continuation has resumed: where that is done before the task has come
        /// to wait, the sanitizer misses it.
        @usableFromInline package func showOrder() {
            withLock { _ in }
        }
    }
#else
    public import Synchronization

    /// The one kind of lock here: decide under it, act after it.
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

        /// Shows the thread sanitizer an order that there is anyway; nothing without it.
        @inlinable package borrowing func showOrder() {}
    }
#endif
