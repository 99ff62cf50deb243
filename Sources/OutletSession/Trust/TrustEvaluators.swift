public import OutletTransport

/// Checks what is checked without any evaluator: the chain, and the host if so wished.
public struct DefaultTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameter validateHost: Whether the certificate must be for the host.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Checks the host, then the chain.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if validateHost { try trust.performValidation(forHost: host) }
        try trust.performDefaultValidation(forHost: host)
    }
}

/// Trusts whom all of several evaluators trust.
public struct CompositeTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let evaluators: [any ServerTrustEvaluating]
    private let policies: [ServerTrustPolicy]

    /// Makes an evaluator of others; without any it trusts nobody.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
        policies = evaluators.map { ServerTrustPolicy.of($0) }
    }

    /// Equal evaluators in the same order.
    public static func == (a: CompositeTrustEvaluator, b: CompositeTrustEvaluator) -> Bool {
        a.policies.map(\.number) == b.policies.map(\.number)
    }

    /// Asks the evaluators in their order; the first refusal counts.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !evaluators.isEmpty else {
            throw SessionError.serverTrustEvaluationFailed(
                reason: .noRequiredEvaluator(host: host))
        }
        try evaluators.evaluate(trust, forHost: host)
    }

    /// Whether the server is verified by one of those that trust it.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        evaluators.contains { $0.verifies(trust, forHost: host) }
    }
}

extension [any ServerTrustEvaluating] {
    /// Asks all evaluators in their order; the first refusal counts, and none is trust.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in self { try evaluator.evaluate(trust, forHost: host) }
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Trusts whom all of these evaluators trust.
    public static func composite(
        evaluators: [any ServerTrustEvaluating]
    ) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}

/// Trusts everybody; for tests only.
///
/// An attacker between client and server reads and changes everything. Nothing that such a server
/// says is kept.
public struct DisabledTrustEvaluator: ServerTrustEvaluating, Equatable {
    /// Makes an evaluator.
    public init() {}

    /// Returns.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}

    /// False.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool { false }
}
