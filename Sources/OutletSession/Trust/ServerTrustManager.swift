/// Which evaluator decides about which host.
///
/// A subclass must restate `@unchecked Sendable`.
open class ServerTrustManager: @unchecked Sendable {
    // because nothing here changes after `init`.

    /// Whether a host without an evaluator is refused; if not, it is checked as usual.
    public let allHostsMustBeEvaluated: Bool
    /// Evaluators by host: `example.com`, `example.com:8443`, `*.example.com` for one label before
    /// it, `**.example.com` for any number; the most precise counts.
    public let evaluators: [String: any ServerTrustEvaluating]

    private let table: HostTable<any ServerTrustEvaluating>

    /// Makes a manager.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a host without an evaluator is refused.
    ///   - evaluators: By host; see ``evaluators``.
    public init(
        allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        table = HostTable(evaluators)
    }

    /// The evaluator for a host; `nil` to check it as usual.
    ///
    /// - Throws: ``SessionError/ServerTrustFailureReason/noRequiredEvaluator(host:)``.
    ///
    /// Thread: any. Must not block. Asked for each transfer, and the evaluator for each connection.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let evaluator = table.value(forHost: host) { return evaluator }
        guard allHostsMustBeEvaluated else { return nil }
        throw SessionError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
    }

    /// The evaluator for a host at a port; unless there is one for just that port, that of the host.
    ///
    /// - Throws: As ``serverTrustEvaluator(forHost:)``.
    open func serverTrustEvaluator(
        forHost host: String, port: Int
    ) throws -> (any ServerTrustEvaluating)? {
        if let evaluator = table.value(forHost: host, exactPort: port) { return evaluator }
        return try serverTrustEvaluator(forHost: host)
    }
}
