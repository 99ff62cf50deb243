public import OutletTransport

/// Checks the certificate chain and, by default, the host, as sessions without an evaluator do.
public struct DefaultTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameter validateHost: Whether the certificate has to match the host.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Checks the host, then the chain.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: `SessionError.serverTrustEvaluationFailed(reason:)` for the first fault.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if validateHost { try trust.performValidation(forHost: host) }
        try trust.performDefaultValidation(forHost: host)
    }
}

/// Trusts a server if several evaluators all trust it.
public struct CompositeTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let evaluators: [any ServerTrustEvaluating]
    private let policies: [ServerTrustPolicy]

    /// Makes an evaluator.
    ///
    /// - Parameter evaluators: The evaluators in the order of their calls; an empty list refuses
    ///   every server.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
        policies = evaluators.map { ServerTrustPolicy.of($0) }
    }

    /// Whether both have equal evaluators in the same order.
    public static func == (a: CompositeTrustEvaluator, b: CompositeTrustEvaluator) -> Bool {
        a.policies.map(\.number) == b.policies.map(\.number)
    }

    /// Calls the evaluators in their order.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: The error of the first evaluator that refuses;
    ///   `SessionError.serverTrustEvaluationFailed(reason:)` if there is none.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !evaluators.isEmpty else {
            throw SessionError.serverTrustEvaluationFailed(
                reason: .noRequiredEvaluator(host: host))
        }
        try evaluators.evaluate(trust, forHost: host)
    }

    /// Whether one of the evaluators verifies the server.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        evaluators.contains { $0.verifies(trust, forHost: host) }
    }
}

extension [any ServerTrustEvaluating] {
    /// Calls all evaluators in their order; an empty list trusts every server.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: The error of the first evaluator that refuses.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in self { try evaluator.evaluate(trust, forHost: host) }
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Trusts a server if all of these evaluators trust it.
    ///
    /// - Parameter evaluators: The evaluators in the order of their calls; an empty list refuses
    ///   every server.
    public static func composite(
        evaluators: [any ServerTrustEvaluating]
    ) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}

/// Trusts every server; for tests only.
///
/// An attacker between client and server can read and change everything. Such a server counts as
/// not verified, so its HSTS policies are ignored.
public struct DisabledTrustEvaluator: ServerTrustEvaluating, Equatable {
    /// Makes an evaluator.
    public init() {}

    /// Accepts the server.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}

    /// Returns `false`.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool { false }
}
