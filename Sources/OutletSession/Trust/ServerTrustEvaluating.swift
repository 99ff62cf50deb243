/// Decides whether a server is trusted.
///
/// Evaluators run inside of the handshake, once for each connection: before any byte of a request or
/// a certificate of the client's is sent.
///
/// Whom an evaluator has accepted is talked to again on the same connection, by the same session and by
/// others whose evaluator is equal (`Equatable`). So one must not change what it decides, or else what
/// it says then holds of new connections only.
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

    /// Whether a server that it trusts is verified, that is, known to be the one that is meant: only what
    /// those say is kept (cookies, responses for the cache, hosts that are talked to encrypted only).
    ///
    /// The default: if the chain is good by the session's authorities, and the certificate is for the
    /// host. Asked after ``evaluate(_:forHost:)`` has returned.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host of the request, in lower case.
    func verifies(_ trust: ServerTrust, forHost host: String) -> Bool
}

extension ServerTrustEvaluating {
    /// Asks the session's authorities.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.chainFault == nil && trust.hostFault(for: host) == nil
    }
}

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
/// Whoever stands between client and server sees and changes everything. Nothing that such a server
/// says is kept.
public struct DisabledTrustEvaluator: ServerTrustEvaluating, Equatable {
    /// Makes an evaluator.
    public init() {}

    /// Returns.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}

    /// False.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool { false }
}
