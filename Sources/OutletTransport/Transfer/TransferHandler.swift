public import OutletHTTP

/// Receives the events of a transfer.
///
/// Order: heads come first, any number of interim ones (1xx) and then the final one. Chunks follow
/// the final head. Progress comes at any time before the end. The end is called exactly once and
/// last.
///
/// Thread: the transport's own, or, where ``TransferJob/mayRunOnCaller`` allows it, the one that
/// starts the transfer; layers may call from queues of their own. Calls never overlap. They must
/// not block, except ``transferNeedsNewBody(_:)``.
public protocol TransferHandler: AnyObject, Sendable {
    /// A layer has accepted the job, but decides later whether and how to send it.
    ///
    /// Called before the transport returns the transfer: from now on it can be suspended and
    /// cancelled before anything is sent. Called again if a layer sends the job again.
    ///
    /// - Parameter task: The transfer.
    func transferIsPending(_ task: any TransferTask)

    /// The policy of ``TransferJob/serverTrustManager`` has refused the server or an https proxy.
    ///
    /// The transfer ends next, with ``TransferError/Code/serverCertificateUntrusted``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - refusal: The error that the evaluator has thrown.
    func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error)

    /// The transport, or a layer, has handled a final head itself; another head follows.
    ///
    /// The head is a challenge (401, 407) that was answered with a credential, or a 304 for a
    /// response in the cache.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head that was handled: a challenge (401, 407) or a 304.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn)

    /// The request is sent again: rewind its body stream to the start.
    ///
    /// Called only if the body is a stream.
    ///
    /// - Parameter task: The transfer.
    /// - Throws: ``TransferError`` if the stream cannot be rewound; the transfer ends with it.
    ///
    /// Thread: a queue of a layer, where this may block; no other call is made meanwhile.
    func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError)

    /// A head has arrived, an interim one (1xx) or the final one.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head: an interim one (1xx), or the final one.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    /// - Returns: Whether to continue, to wait for ``TransferTask/resume()``, to deliver the body
    ///   elsewhere, or to end as cancelled.
    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision

    /// The next bytes of the body have arrived; called under ``BodyDelivery/chunks`` only.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - chunk: The decoded bytes, valid until this returns.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    /// - Returns: Whether to continue, to wait for ``TransferTask/resume()`` (this chunk is not
    ///   delivered again) or to end as cancelled.
    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision

    /// Body bytes were sent or received; called if ``TransferJob/reportsProgress`` asks for it.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - progress: The bytes sent and received so far, and the totals.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn)

    /// The transfer has ended; no call follows.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - result: The head, the body if it was collected, the error if there is one, and the
    ///     metrics.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn)
}

extension TransferHandler {
    /// Does nothing.
    ///
    /// - Parameter task: The transfer.
    public func transferIsPending(_ task: any TransferTask) {}

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - refusal: The error that the evaluator has thrown.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {}

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head that was handled: a challenge (401, 407) or a 304.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {}

    /// Rewinds the stream of ``TransferTask/currentRequest``, if its body is one.
    ///
    /// - Parameter task: The transfer.
    /// - Throws: ``TransferError`` with ``TransferError/Code/requestBodyStreamExhausted`` if the
    ///   stream cannot be rewound.
    public func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
        guard case .stream(let stream) = task.currentRequest?.body else { return }
        try stream.rewindForTransfer()
    }

    /// Returns ``TransferDecision/proceed``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head: an interim one (1xx), or the final one.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision { .proceed }

    /// Ignores the chunk and returns ``TransferDecision/proceed``.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - chunk: The decoded bytes, valid until this returns.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision { .proceed }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - progress: The bytes sent and received so far, and the totals.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {}
}

/// What a transfer does after a head or a chunk; returned by its handler.
public enum TransferDecision: Sendable {
    /// Continue.
    case proceed
    /// Continue, and deliver the body there instead of to ``TransferJob/delivery``; valid only for
    /// a head.
    ///
    /// Choose a file only if the job's delivery is a file as well: other jobs run on a thread that
    /// must not wait for a disk.
    case deliver(BodyDelivery)
    /// Wait for ``TransferTask/resume()``.
    case pause
    /// End the transfer as cancelled.
    case cancel
}
