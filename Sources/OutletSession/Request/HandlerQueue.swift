/// The response handlers of a request, and the serialized values that wait for delivery.
///
/// Part of a request's state, protected by its lock.
struct HandlerQueue: ~Copyable, Sendable {
    /// The handlers whose values were not delivered yet.
    private(set) var handlers = InlineFirst<ResponseHandler>()
    /// The next of ``handlers`` to serialize.
    private var nextIndex = 0
    /// The serialized values that were not delivered yet.
    private var deliveries = InlineFirst<Delivery>()

    /// Appends a handler.
    mutating func append(_ handler: consuming ResponseHandler) { handlers.append(handler) }

    /// Keeps a value until all values are made.
    mutating func keep(_ delivery: consuming Delivery) { deliveries.append(delivery) }

    /// Returns the next handler to serialize for; `nil` when there is none.
    mutating func next() -> ResponseHandler? {
        guard let handler = handlers[nextIndex] else { return nil }
        nextIndex += 1
        return handler
    }

    /// Moves out all values, and the handlers that have run.
    ///
    /// Swaps in place instead of copying, because every request calls it.
    mutating func drain(
        _ values: inout InlineFirst<Delivery>, _ spent: inout InlineFirst<ResponseHandler>
    ) {
        nextIndex = 0
        swap(&values, &deliveries)
        swap(&spent, &handlers)
    }

    /// Resets the queue for another attempt: all handlers serialize again.
    mutating func rewind() {
        nextIndex = 0
        deliveries = InlineFirst()
    }
}
