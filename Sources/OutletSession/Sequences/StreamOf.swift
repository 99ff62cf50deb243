/// An asynchronous sequence of a request's events, for a `for await` loop.
///
/// Each loop makes a new subscription. Leaving a loop ends its subscription; the method that
/// returns the sequence says whether it also cancels the request.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// How many values are kept for a slow loop.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

    private let bufferingPolicy: BufferingPolicy
    private let subscribe: @Sendable (StreamBuffer<Element>) -> Void
    private let onTermination: @Sendable () -> Void

    /// Makes a sequence.
    ///
    /// - Parameters:
    ///   - bufferingPolicy: How many values are kept for a slow loop.
    ///   - onTermination: Called when a loop is left, has ended, or its task is cancelled.
    ///   - subscribe: Called when a loop starts, with its buffer.
    init(
        bufferingPolicy: BufferingPolicy,
        onTermination: @escaping @Sendable () -> Void = {},
        subscribe: @escaping @Sendable (StreamBuffer<Element>) -> Void
    ) {
        self.bufferingPolicy = bufferingPolicy
        self.onTermination = onTermination
        self.subscribe = subscribe
    }

    /// Starts a loop, and subscribes to the events.
    public func makeAsyncIterator() -> Iterator {
        let buffer = StreamBuffer<Element>(bufferingPolicy)
        subscribe(buffer)
        return Iterator(buffer, onTermination: onTermination)
    }

    /// The iterator of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let subscription: Subscription

        /// Ended when the last copy of the iterator is released.
        @usableFromInline final class Subscription: Sendable {
            @usableFromInline let buffer: StreamBuffer<Element>
            private let onTermination: @Sendable () -> Void

            init(_ buffer: StreamBuffer<Element>, _ onTermination: @escaping @Sendable () -> Void) {
                self.buffer = buffer
                self.onTermination = onTermination
            }

            @usableFromInline func end() {
                if buffer.close() { onTermination() }
            }

            deinit { end() }
        }

        init(_ buffer: StreamBuffer<Element>, onTermination: @escaping @Sendable () -> Void) {
            subscription = Subscription(buffer, onTermination)
        }

        /// Returns the next value; `nil` at the end, and when the task is cancelled.
        @inlinable public func next() async -> Element? { await next(isolation: nil) }

        /// Returns the next value; `nil` at the end, and when the task is cancelled.
        ///
        /// - Parameter actor: The actor of the caller; a value that is available is returned
        ///   without leaving it, which on the main actor saves two thread switches.
        @inlinable
        public func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if !Task.isCancelled, let element = subscription.buffer.takeAtOnce() { return element }
            let subscription = subscription
            return await withTaskCancellationHandler(
                operation: { await subscription.buffer.next(isolation: actor) },
                onCancel: { subscription.end() }, isolation: actor)
        }
    }
}

/// An asynchronous sequence of a request's values, for a `for try await` loop; throws the request's
/// error.
///
/// Each loop makes a new subscription. Leaving a loop ends its subscription; the method that
/// returns the sequence says whether it also cancels the request.
public struct ThrowingStreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// A failure is the last element.
    private let results: StreamOf<Result<Element, SessionError>>

    init(results: StreamOf<Result<Element, SessionError>>) {
        self.results = results
    }

    /// Starts a loop, and subscribes to the events.
    public func makeAsyncIterator() -> Iterator { Iterator(results: results.makeAsyncIterator()) }

    /// The iterator of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let results: StreamOf<Result<Element, SessionError>>.Iterator

        /// Returns the next value; `nil` at the end, and when the task is cancelled.
        ///
        /// - Throws: The ``SessionError`` that the request has failed with.
        @inlinable
        public func next() async throws(SessionError) -> Element? {
            try await next(isolation: nil)
        }

        /// Returns the next value; `nil` at the end, and when the task is cancelled.
        ///
        /// - Parameter actor: The actor of the caller; a value that is available is returned
        ///   without leaving it.
        /// - Throws: The ``SessionError`` that the request has failed with.
        @inlinable
        public func next(
            isolation actor: isolated (any Actor)?
        ) async throws(SessionError) -> Element? {
            try await results.next(isolation: actor)?.get()
        }
    }
}
