public import OutletHTTP
public import OutletTransport

/// Authentication challenges that the layers or the transport have answered.
extension Request {
    /// Records that a challenge was answered and the request is sent again with credentials.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head of the response that was used.
    ///   - turn: Collects work for dispatch queues until the turn ends; do not keep it.
    ///
    /// Thread: the transport's.
    public func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {
        notifyChallenges(of: head, to: task)
        guard head.statusCode == 401 || head.statusCode == 407 else { return }
        for call in mutable.withLock({ mutable in
            let calls = keep(task, &mutable)
            // The same request is sent again; the next head shows what the layers have changed.
            if let request = mutable.attempt.prepared {
                mutable.history.addPerformed(
                    request, mayChange: core.layersMayChangeRequests)
            }
            return calls
        }) { call() }
    }

    /// Rewinds the request's body stream.
    ///
    /// - Parameter task: The transfer.
    /// - Throws: `TransferError` with `requestBodyStreamExhausted` when the stream cannot be
    ///   rewound.
    public func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
        guard let request = mutable.withLock({ $0.attempt.prepared }) else { return }
        do throws(SessionError) {
            try rewind(request)
        } catch {
            throw error.transferError
                ?? TransferError(code: .requestBodyStreamExhausted, reason: "\(error)")
        }
    }
}
