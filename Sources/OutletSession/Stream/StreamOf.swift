/// Values as they come, for a `for await` loop.
///
/// Each loop over it subscribes anew. Leaving a loop ends its subscription, and depending on what
/// the values are of, the request.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// What becomes of values that nobody takes in time.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

    private let bufferingPolicy: BufferingPolicy
    private let subscribe: @Sendable (StreamBuffer<Element>) -> Void
    private let onTermination: @Sendable () -> Void

    /// Makes a sequence.
    ///
    /// - Parameters:
    ///   - bufferingPolicy: What becomes of values that nobody takes in time.
    ///   - onTermination: Called when a loop ends, by itself or from outside.
    ///   - subscribe: Called when a loop begins, with what takes the values.
    init(
        bufferingPolicy: BufferingPolicy,
        onTermination: @escaping @Sendable () -> Void = {},
        subscribe: @escaping @Sendable (StreamBuffer<Element>) -> Void
    ) {
        self.bufferingPolicy = bufferingPolicy
        self.onTermination = onTermination
        self.subscribe = subscribe
    }

    /// Begins a loop.
    public func makeAsyncIterator() -> Iterator {
        let buffer = StreamBuffer<Element>(bufferingPolicy)
        subscribe(buffer)
        return Iterator(buffer, onTermination: onTermination)
    }

    /// One loop.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription

        /// Ends with the last copy of the iterator.
        private final class Subscription: Sendable {
            let buffer: StreamBuffer<Element>
            private let onTermination: @Sendable () -> Void

            init(_ buffer: StreamBuffer<Element>, _ onTermination: @escaping @Sendable () -> Void) {
                self.buffer = buffer
                self.onTermination = onTermination
            }

            func end() {
                if buffer.close() { onTermination() }
            }

            deinit { end() }
        }

        init(_ buffer: StreamBuffer<Element>, onTermination: @escaping @Sendable () -> Void) {
            subscription = Subscription(buffer, onTermination)
        }

        /// The next value; `nil` at the end, and when the task is cancelled.
        public func next() async -> Element? { await next(isolation: nil) }

        /// The next value; `nil` at the end, and when the task is cancelled.
        ///
        /// - Parameter actor: The caller's, which is not left where a value is there already: on the
        ///   main actor, leaving it and coming back takes two switches between threads.
        public func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if !Task.isCancelled, let element = subscription.buffer.takeAtOnce() { return element }
            let subscription = subscription
            return await withTaskCancellationHandler(
                operation: { await subscription.buffer.next(isolation: actor) },
                onCancel: { subscription.end() }, isolation: actor)
        }
    }
}

/// Values as they come, for a `for try await` loop, and why there are no more.
///
/// Each loop over it subscribes anew. Leaving a loop ends its subscription, and the request unless told
/// otherwise.
public struct ThrowingStreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// A failure is the last.
    private let results: StreamOf<Result<Element, SessionError>>

    init(results: StreamOf<Result<Element, SessionError>>) {
        self.results = results
    }

    /// Begins a loop.
    public func makeAsyncIterator() -> Iterator { Iterator(results: results.makeAsyncIterator()) }

    /// One loop.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let results: StreamOf<Result<Element, SessionError>>.Iterator

        /// The next value; `nil` at the end, and when the task is cancelled.
        ///
        /// - Throws: Why the request has failed.
        public func next() async throws(SessionError) -> Element? {
            try await next(isolation: nil)
        }

        /// The next value; `nil` at the end, and when the task is cancelled.
        ///
        /// - Parameter actor: The caller's, which is not left where a value is there already.
        /// - Throws: Why the request has failed.
        public func next(
            isolation actor: isolated (any Actor)?
        ) async throws(SessionError) -> Element? {
            try await results.next(isolation: actor)?.get()
        }
    }
}
