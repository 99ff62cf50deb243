import FoundationEssentials
import OutletHTTP

/// Who decides about the servers of a request.
extension Request {
    /// Whether the session's manager has a say about the server that is about to be talked to; also
    /// where it refuses the host.
    ///
    /// Thread: any. Calls the user's code, so not under a lock.
    func evaluatesTrust() -> Bool {
        guard let manager = core.serverTrustManager else { return false }
        do {
            return try evaluator(of: manager, for: mutable.withLock { $0.prepared?.url }) != nil
        } catch {
            return true
        }
    }

    private func evaluator(
        of manager: ServerTrustManager, for url: URL?
    ) throws -> (any ServerTrustEvaluating)? {
        guard let url, url.scheme?.lowercased() == "https", let host = url.host() else {
            return nil
        }
        return try manager.serverTrustEvaluator(forHost: host.lowercased(), port: url.port ?? 443)
    }

    /// Lets the evaluator judge the server, and keeps its refusal as the request's error.
    public func transfer(_ task: any TransferTask, shouldTrust trust: ServerTrust) -> Bool {
        let refusal: SessionError
        do {
            let evaluator = try core.serverTrustManager?.serverTrustEvaluator(
                forHost: trust.host, port: trust.port)
            try (evaluator ?? DefaultTrustEvaluator()).evaluate(trust, forHost: trust.host)
            return true
        } catch {
            refusal = error.asSessionError {
                .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: $0))
            }
        }
        announce(task)
        mutable.withLock { $0.error = $0.error ?? refusal }
        monitors?.request(self, didFailTask: task, earlyWithError: refusal)
        return false
    }
}
