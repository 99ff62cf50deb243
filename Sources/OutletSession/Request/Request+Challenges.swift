public import OutletHTTP
public import OutletTransport

/// Challenges, which the layers below and the transport answer.
extension Request {
    /// A challenge was answered: the next head answers the request with credentials.
    public func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {
        tellChallenges(of: head, to: task)
        guard head.statusCode == 401 || head.statusCode == 407 else { return }
        for call in mutable.withLock({ mutable in
            let calls = keep(task, &mutable)
            // The same is sent once more; what the layers make of it, the next head tells.
            if let request = mutable.attempt.prepared {
                mutable.history.addPerformed(
                    request, mayChange: core.layersMayChangeRequests)
            }
            return calls
        }) { call() }
    }

    /// Takes the body back to its start.
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
