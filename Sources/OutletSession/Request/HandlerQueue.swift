/// The response handlers of a request, and the serialized values that wait for delivery.
///
/// Part of a request's state, protected by its lock. Handlers are moved, because a copy retains
/// what they capture.
struct HandlerQueue: ~Copyable, Sendable {
    /// The handlers that have not serialized.
    private(set) var waiting = InlineFirst<ResponseHandler>()
    /// The destination of the first handler whose value was not delivered yet; `nil` if there is
    /// none.
    private(set) var firstDestination: ResponseHandler.Destination?
    /// The serialized values that were not delivered yet.
    private var deliveries = InlineFirst<Delivery>()

    /// Appends a handler.
    mutating func append(_ handler: consuming ResponseHandler) {
        if firstDestination == nil { firstDestination = handler.destination }
        waiting.append(handler)
    }

    /// Keeps a value until all values are made.
    mutating func keep(_ delivery: consuming Delivery) { deliveries.append(delivery) }

    /// Replaces the value that was kept last with an error.
    mutating func replaceLast(with error: SessionError) {
        guard var last = deliveries.last else { return }
        last.serialized.replace(with: error)
        deliveries.replaceLast(last)
    }

    /// Removes and returns the next handler to serialize for; `nil` when there is none.
    mutating func next() -> ResponseHandler? { waiting.popFirst() }

    /// Moves out all values.
    ///
    /// Swaps in place instead of copying, because every request calls it.
    mutating func drain(_ values: inout InlineFirst<Delivery>) {
        firstDestination = nil
        swap(&values, &deliveries)
    }

    /// Resets the queue for another attempt: all handlers serialize again.
    mutating func rewind() {
        guard !deliveries.isEmpty else { return }
        let later = waiting
        waiting = InlineFirst()
        deliveries.forEach { waiting.append($0.handler) }
        later.forEach { waiting.append($0) }
        deliveries = InlineFirst()
    }
}
