public import OutletHTTP

/// Told what happens to a transfer.
///
/// All calls come from the transport's own thread, or, where ``TransferJob/mayRunOnCaller`` allows it,
/// from the one that starts the transfer; one at a time, in this order: any number of heads
/// (interim ones first, the final one last), chunks and progress in between and after, the end
/// exactly once and last. Nothing here may block.
public protocol TransferHandler: AnyObject, Sendable {
    /// The policy of ``TransferJob/serverTrustManager`` has refused the server, or an https proxy; the
    /// transfer ends next, with ``TransferError/Code/serverCertificateUntrusted``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - refusal: Why.
    func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error)

    /// A final head has come that is not the transfer's answer, and the transport, or a layer, has made
    /// use of it: a challenge that was answered with ``TransferJob/credential``, or the server's word on
    /// a stored response. Another head will come.
    func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn)

    /// The request's body, a stream, has to be sent once more: it is to be taken back to its start.
    ///
    /// Thread: a layer's, on which this may block; no other call is made meanwhile.
    func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError)

    /// A head has arrived; interim ones (1xx) come here too.
    ///
    /// - Returns: Whether to go on, to wait for ``TransferTask/resume()`` or to end as cancelled.
    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision

    /// The next bytes of the body, under ``BodyDelivery/chunks`` only.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - chunk: The bytes, valid until this returns.
    ///   - turn: Gathers work for queues until the transport's turn ends; not to be kept.
    /// - Returns: Whether to go on, to wait for ``TransferTask/resume()`` (this chunk counts as
    ///   delivered) or to end as cancelled.
    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision

    /// How far the bodies have come, if ``TransferJob/reportsProgress`` asks for it.
    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn)

    /// The transfer is over; nothing follows.
    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn)
}

extension TransferHandler {
    /// Does nothing.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {}

    /// Does nothing.
    public func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {}

    /// Takes the stream back to its start.
    public func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
        guard case .stream(let stream) = task.currentRequest?.body else { return }
        try stream.rewindForTransfer()
    }

    /// Goes on.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision { .proceed }

    /// Drops the chunk and goes on.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision { .proceed }

    /// Does nothing.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {}
}

/// What a handler answers to a head or a chunk.
public enum TransferDecision: Sendable {
    /// Go on.
    case proceed
    /// Go on, with the body to go there in place of where the job says; an answer to a head only.
    ///
    /// To a file only if the job's delivery was one. A handler that takes no chunks drops them.
    case deliver(BodyDelivery)
    /// Wait for ``TransferTask/resume()``.
    case pause
    /// End the transfer as cancelled.
    case cancel
}
