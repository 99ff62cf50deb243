public import OutletTransport

/// Selects the evaluator for each host.
///
/// A subclass must restate `@unchecked Sendable`.
open class ServerTrustManager: ServerTrustDeciding, @unchecked Sendable {
    // because everything is constant except `chosen`, which has its own lock.

    /// Whether a host without an evaluator is refused; if not, the transport's own checks decide.
    public let allHostsMustBeEvaluated: Bool
    /// Evaluators by host: `example.com`, `example.com:8443`, `*.example.com` for subdomains of one
    /// label, `**.example.com` for all subdomains.
    ///
    /// An entry with a port comes before all entries without one, a name before a pattern, and a
    /// longer pattern before a shorter one.
    public let evaluators: [String: any ServerTrustEvaluating]

    private let table: HostTable<ServerTrustPolicy>
    /// The policies of the evaluators that a subclass returned last, kept so that connections
    /// accepted by them are reused.
    private let chosen = Lock<[ServerTrustPolicy]>([])
    private static let chosenLimit = 64

    /// Makes a manager.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a host without an evaluator is refused.
    ///   - evaluators: The evaluators by host; see ``evaluators``.
    public init(
        allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        table = HostTable(evaluators.mapValues { ServerTrustPolicy.of($0) })
    }

    /// Returns the evaluator for a host; `nil` for the transport's own checks.
    ///
    /// - Parameter host: The host's name, or IP address, in the request's URL.
    /// - Throws: ``SessionError/ServerTrustFailureReason/noRequiredEvaluator(host:)``.
    ///
    /// Thread: any. Must not block. Called for each transfer; the evaluator is called for each new
    /// connection.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let policy = table.value(forHost: host) { return policy.evaluator }
        guard allHostsMustBeEvaluated else { return nil }
        throw noEvaluator(for: host)
    }

    /// Returns the evaluator for a host and port; without one for the port, that of the host.
    ///
    /// - Parameters:
    ///   - host: The host's name, or IP address, in the request's URL.
    ///   - port: The port.
    /// - Throws: As ``serverTrustEvaluator(forHost:)``.
    open func serverTrustEvaluator(
        forHost host: String, port: Int
    ) throws -> (any ServerTrustEvaluating)? {
        if let policy = table.value(forHost: host, exactPort: port) { return policy.evaluator }
        return try serverTrustEvaluator(forHost: host)
    }

    /// Returns the policy that evaluates a server or an https proxy; `nil` for the transport's own
    /// checks.
    ///
    /// For transports, which call this for each transfer, and the policy for each new connection.
    ///
    /// - Parameters:
    ///   - host: The host's name or IP address, without brackets.
    ///   - port: The port.
    ///
    /// Thread: any. Calls the method of a subclass, so do not call this while holding a lock.
    public final func policy(forHost host: String, port: Int) -> ServerTrustPolicy? {
        if type(of: self) == ServerTrustManager.self {
            if let policy = table.value(forHost: host, exactPort: port) { return policy }
            if let policy = table.value(forHost: host) { return policy }
            return allHostsMustBeEvaluated ? .refusing(noEvaluator(for: host)) : nil
        }
        do {
            return try serverTrustEvaluator(forHost: host, port: port).map(policy)
        } catch {
            return .refusing(
                error.asSessionError {
                    .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: $0))
                })
        }
    }

    private func policy(of evaluator: any ServerTrustEvaluating) -> ServerTrustPolicy {
        let policy = ServerTrustPolicy.of(evaluator)
        chosen.withLock { chosen in
            guard !chosen.contains(where: { $0 === policy }) else { return }
            if chosen.count >= Self.chosenLimit { chosen.removeFirst() }
            chosen.append(policy)
        }
        return policy
    }

    private func noEvaluator(for host: String) -> SessionError {
        .serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
    }
}
