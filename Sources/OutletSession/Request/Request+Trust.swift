public import OutletTransport

/// Who decides about the servers of a request.
extension Request {
    /// Keeps a policy's refusal as the request's error.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        let refusal = refusal.asSessionError {
            .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: $0))
        }
        announce(task)
        mutable.withLock { $0.attempt.fail(refusal) }
        monitors?.observe(.didFailTask(task, error: refusal), of: self)
    }
}
