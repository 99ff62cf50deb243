public import OutletTransport

/// Which evaluator decides about which host.
///
/// A subclass must restate `@unchecked Sendable`.
open class ServerTrustManager: ServerTrustDeciding, @unchecked Sendable {
    // because nothing here changes after `init` but what a lock guards.

    /// Whether a host without an evaluator is refused; if not, it is checked as usual.
    public let allHostsMustBeEvaluated: Bool
    /// Evaluators by host: `example.com`, `example.com:8443`, `*.example.com` for one label before
    /// it, `**.example.com` for any number; the most precise counts.
    public let evaluators: [String: any ServerTrustEvaluating]

    private let table: HostTable<ServerTrustPolicy>
    /// What a subclass has chosen lately, kept so that its connections are used again.
    private let chosen = Lock<[ServerTrustPolicy]>([])
    private static let chosenLimit = 64

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
        table = HostTable(evaluators.mapValues { ServerTrustPolicy.of($0) })
    }

    /// The evaluator for a host; `nil` to check it as usual.
    ///
    /// - Parameter host: The host's name, or IP address, in the request's URL.
    /// - Throws: ``SessionError/ServerTrustFailureReason/noRequiredEvaluator(host:)``.
    ///
    /// Thread: any. Must not block. Asked for each transfer, and the evaluator for each connection.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let policy = table.value(forHost: host) { return policy.evaluator }
        guard allHostsMustBeEvaluated else { return nil }
        throw noEvaluator(for: host)
    }

    /// The evaluator for a host at a port; unless there is one for just that port, that of the
    /// host.
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

    /// Who decides about a server, an https proxy among them; `nil` to check it as usual.
    ///
    /// For transports: they ask for each transfer, and let the policy judge each new connection.
    ///
    /// - Parameters:
    ///   - host: The host as it is connected to, without brackets.
    ///   - port: The port.
    ///
    /// Thread: any. Calls the code of a subclass, so not under a lock.
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
