public import OutletHTTP

/// Observes the body of a response before it is delivered to memory, a file or the handler.
///
/// Thread: the transport's, one call at a time. Calls must not block.
public protocol BodyObserver: AnyObject, Sendable {
    /// A description of what the transfer waits for after ``BodyDecision/wait``, for the error of a
    /// timeout; by default "the observer of its body".
    var name: String { get }

    /// Bytes of the body are about to be delivered; empty `bytes` mean that the body is complete
    /// and the transfer is about to end.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - bytes: The decoded bytes, valid until this returns.
    ///   - head: The head of the response.
    ///   - goOn: Continues the transfer after ``BodyDecision/wait``, or ends it with an error. Call
    ///     it once, on any thread; later calls have no effect.
    /// - Returns: Whether to continue, to stop reading until `goOn` is called, or to fail.
    func transfer(
        _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
        of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
    ) -> BodyDecision
}

extension BodyObserver {
    /// Returns "the observer of its body".
    public var name: String { "the observer of its body" }
}

/// What a transfer does after an observer has received bytes of its body.
public enum BodyDecision: Sendable {
    /// Continue.
    case proceed
    /// Keep these bytes, and read no more, until the observer calls `goOn`; deliver them then, unless
    /// that ends the transfer.
    case wait
    /// End the transfer with this error; these bytes are not delivered.
    case fail(TransferError)
}
