public import OutletHTTP

/// A handler around another one, as a layer passes it on to look at what comes, or to change it.
///
/// Every call that is not implemented is passed to ``handler``; an implementation calls ``handler`` itself. The
/// session's article about layers has an example that changes the head.
///
/// The final head comes twice: in `transfer(_:didReceive:turn:)` of heads, and in the result of
/// ``TransferHandler/transferDidFinish(_:result:turn:)``. A layer that changes one changes the other.
///
/// Thread: as `TransferHandler`.
public protocol ForwardingTransferHandler: TransferHandler {
    /// The handler that the layer was given.
    var handler: any TransferHandler { get }
}

extension ForwardingTransferHandler {
    /// Passes the refusal on.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        handler.transfer(task, didRefuseServer: refusal)
    }

    /// Passes the head on.
    public func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        handler.transfer(task, didUse: head, turn: turn)
    }

    /// Passes the question on.
    ///
    /// - Throws: ``TransferError`` when the body cannot be sent again.
    public func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
        try handler.transferNeedsNewBody(task)
    }

    /// Passes the head on, and returns the handler's decision.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        handler.transfer(task, didReceive: head, turn: turn)
    }

    /// Passes the chunk on, and returns the handler's decision.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        handler.transfer(task, didReceive: chunk, turn: turn)
    }

    /// Passes the progress on.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        handler.transfer(task, didProgress: progress, turn: turn)
    }

    /// Passes the end on.
    public func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        handler.transferDidFinish(task, result: result, turn: turn)
    }
}
