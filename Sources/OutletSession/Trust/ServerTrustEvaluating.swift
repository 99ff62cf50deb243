/// Decides whether a server is trusted.
///
/// Evaluators run before any byte of a request is sent, once for each connection.
///
/// Thread: the transport's; an evaluator must not block, since all transfers wait for it.
public protocol ServerTrustEvaluating: Sendable {
    /// Returns when the server is trusted.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host of the request, in lower case.
    /// - Throws: Why it is not. What is no ``SessionError`` reaches the request as
    ///   ``SessionError/ServerTrustFailureReason/customEvaluationFailed(error:)``.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// Checks what is checked without any evaluator: the chain, and the host if so wished.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
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
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]

    /// Makes an evaluator of others; without any it trusts nobody.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Asks the evaluators in their order; the first refusal counts.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !evaluators.isEmpty else {
            throw SessionError.serverTrustEvaluationFailed(
                reason: .noRequiredEvaluator(host: host))
        }
        try evaluators.evaluate(trust, forHost: host)
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
/// Whoever stands between client and server sees and changes everything.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    /// Makes an evaluator.
    public init() {}

    /// Returns.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
}
