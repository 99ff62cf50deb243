public import OutletHTTP

/// Sees the body of a response on its way, wherever it goes: into memory, a file, or to a handler.
///
/// Thread: the transport's, one call at a time. Nothing here may block.
public protocol BodyObserver: AnyObject, Sendable {
    /// Bytes are about to go where the job says, or, without any, the body has come to its end, and the
    /// transfer is about to.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - bytes: Decoded; valid until this returns.
    ///   - head: The response's.
    ///   - goOn: Has the transfer go on after ``BodyDecision/wait``, or end with an error. To be called
    ///     once, on any thread; later calls have no effect.
    func transfer(
        _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
        of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
    ) -> BodyDecision
}

/// What becomes of a transfer whose body is observed.
public enum BodyDecision: Sendable {
    /// It goes on.
    case proceed
    /// Nothing more is read until the observer says so; these bytes count as delivered.
    case wait
    /// It ends.
    case fail(TransferError)
}
