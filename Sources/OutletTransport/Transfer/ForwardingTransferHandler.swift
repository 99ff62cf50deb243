public import OutletHTTP

/// A handler that wraps another one, for layers that observe or change responses.
///
/// Methods that a conforming type does not implement forward to ``handler``; those that it does
/// implement have to call ``handler`` themselves. The session's article about layers has an
/// example that changes the head.
///
/// The final head arrives twice: in `transfer(_:didReceive:turn:)`, and in the result of
/// ``TransferHandler/transferDidFinish(_:result:turn:)``. A layer that changes it must change both.
///
/// Thread: as ``TransferHandler``.
public protocol ForwardingTransferHandler: TransferHandler {
    /// The handler that the layer received with the job.
    var handler: any TransferHandler { get }
}

extension ForwardingTransferHandler {
    /// Forwards the call to ``handler``.
    ///
    /// - Parameter task: The transfer.
    public func transferIsPending(_ task: any TransferTask) {
        handler.transferIsPending(task)
    }

    /// Forwards the refusal to ``handler``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - refusal: The error that the evaluator has thrown.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        handler.transfer(task, didRefuseServer: refusal)
    }

    /// Forwards the head to ``handler``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head that was handled: a challenge (401, 407) or a 304.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        handler.transfer(task, didUse: head, turn: turn)
    }

    /// Forwards the call to ``handler``.
    ///
    /// - Parameter task: The transfer.
    /// - Throws: ``TransferError`` if the handler cannot rewind the stream.
    public func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
        try handler.transferNeedsNewBody(task)
    }

    /// Forwards the head to ``handler`` and returns its decision.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head: an interim one (1xx), or the final one.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        handler.transfer(task, didReceive: head, turn: turn)
    }

    /// Forwards the chunk to ``handler`` and returns its decision.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - chunk: The decoded bytes, valid until this returns.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        handler.transfer(task, didReceive: chunk, turn: turn)
    }

    /// Forwards the progress to ``handler``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - progress: The bytes sent and received so far, and the totals.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        handler.transfer(task, didProgress: progress, turn: turn)
    }

    /// Forwards the end to ``handler``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - result: The head, the body if it was collected, the error if there is one, and the
    ///     metrics.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        handler.transferDidFinish(task, result: result, turn: turn)
    }
}
