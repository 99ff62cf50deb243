/// Who decides about the servers of a request.
extension Request {
    /// Keeps a policy's refusal as the request's error.
    public func transfer(_ task: any TransferTask, didRefuseServer refusal: SessionError) {
        announce(task)
        mutable.withLock { $0.error = $0.error ?? refusal }
        monitors?.request(self, didFailTask: task, earlyWithError: refusal)
    }
}
