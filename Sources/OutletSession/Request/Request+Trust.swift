public import OutletTransport

/// Server trust.
extension Request {
    /// Sets the refusal of a trust policy as the request's error.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - refusal: The error that the evaluator has thrown.
    ///
    /// Thread: the transport's.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        let refusal = refusal.asSessionError {
            .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: $0))
        }
        announce(task)
        mutable.withLock { $0.attempt.fail(refusal) }
        monitors?.observe(.didFailTask(task, error: refusal), of: self)
    }
}
