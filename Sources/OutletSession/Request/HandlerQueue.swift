/// A request's response handlers: which is to make its value next, and the values that were made.
///
/// Part of a request's state, under its lock.
struct HandlerQueue: ~Copyable, Sendable {
    /// Those that have not had their values delivered.
    private(set) var handlers = InlineFirst<ResponseHandler>()
    /// The next of ``handlers`` to serialize.
    private var nextIndex = 0
    /// What the serializers that are done want delivered.
    private var deliveries = InlineFirst<Delivery>()

    /// Adds a handler behind the others.
    mutating func append(_ handler: ResponseHandler) { handlers.append(handler) }

    /// Keeps a value until all are made.
    mutating func keep(_ delivery: Delivery) { deliveries.append(delivery) }

    /// The next handler to make its value; `nil` when all have.
    mutating func next() -> ResponseHandler? {
        guard let handler = handlers[nextIndex] else { return nil }
        nextIndex += 1
        return handler
    }

    /// Hands over all values, and the handlers that have run.
    ///
    /// In place, because a request's every end passes here.
    mutating func drain(
        _ values: inout InlineFirst<Delivery>, _ spent: inout InlineFirst<ResponseHandler>
    ) {
        nextIndex = 0
        swap(&values, &deliveries)
        swap(&spent, &handlers)
    }

    /// Begins anew, for another attempt: all handlers make their values again.
    mutating func rewind() {
        nextIndex = 0
        deliveries = InlineFirst()
    }
}
