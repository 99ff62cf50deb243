/// An evaluator with a number that identifies its decisions.
///
/// A connection or TLS session whose server a policy has accepted is used again only by transfers
/// whose policy has the same number. Evaluators that are equal (`Equatable` values) or the same
/// object share a policy in the whole process; for any other evaluator each call of ``of(_:)``
/// returns a new policy.
///
/// Thread: any.
public final class ServerTrustPolicy: Sendable {
    /// Identifies the policy; not used again for another policy in this process.
    public let number: UInt64
    private let decision: Result<any ServerTrustEvaluating, any Error>

    private init(number: UInt64, decision: Result<any ServerTrustEvaluating, any Error>) {
        self.number = number
        self.decision = decision
    }

    /// Makes a policy that refuses every server with this error.
    package static func refusing(_ error: any Error) -> ServerTrustPolicy {
        // These policies accept no server, so no connection is ever shared under this number.
        ServerTrustPolicy(number: 0, decision: .failure(error))
    }

    /// Evaluates a server.
    ///
    /// - Parameter trust: The certificates and other data that the server has sent.
    /// - Returns: Whether the server's identity is verified, so that its cookies, cached responses
    ///   and HSTS rules may be stored.
    /// - Throws: The evaluator's error, if the server is not trusted.
    public func evaluate(_ trust: ServerTrust) throws -> Bool {
        let evaluator = try decision.get()
        try evaluator.evaluate(trust, forHost: trust.host)
        return evaluator.verifies(trust, forHost: trust.host)
    }

    /// The evaluator; `nil` for a policy that refuses every server.
    package var evaluator: (any ServerTrustEvaluating)? { try? decision.get() }

    // MARK: The policies of a process

    /// Returns the policy of an equal evaluator that is still in use, or a new one.
    ///
    /// - Parameter evaluator: Compared with `==` if it is an `Equatable` value, by identity if it
    ///   is an object. The comparison runs without a lock held.
    public static func of(_ evaluator: any ServerTrustEvaluating) -> ServerTrustPolicy {
        let type = ObjectIdentifier(Swift.type(of: evaluator))
        while true {
            let (known, changes) = registry.withLock { ($0.policies[type] ?? [], $0.changes) }
            for case let policy? in known.lazy.map(\.policy) where policy.isOf(evaluator) {
                return policy
            }
            let made = registry.withLock { registry -> ServerTrustPolicy? in
                guard registry.changes == changes else { return nil }
                return registry.add(evaluator, type)
            }
            if let made { return made }
        }
    }

    private func isOf(_ other: any ServerTrustEvaluating) -> Bool {
        guard let evaluator else { return false }
        // Objects are mutable: two that are equal now may differ later.
        if Swift.type(of: evaluator) is AnyClass {
            return (evaluator as AnyObject) === (other as AnyObject)
        }
        guard let evaluator = evaluator as? any Equatable else { return false }
        return Self.isEqual(evaluator, other)
    }

    private static func isEqual<Value: Equatable>(
        _ a: Value, _ b: any ServerTrustEvaluating
    ) -> Bool {
        (b as? Value).map { $0 == a } ?? false
    }

    /// The policies in use, by the types of their evaluators.
    private struct Registry: Sendable {
        struct Reference: Sendable {
            weak let policy: ServerTrustPolicy?
        }

        var policies: [ObjectIdentifier: [Reference]] = [:]
        var changes = 0
        var lastNumber: UInt64 = 0

        mutating func add(
            _ evaluator: any ServerTrustEvaluating, _ type: ObjectIdentifier
        ) -> ServerTrustPolicy {
            lastNumber += 1
            changes += 1
            let policy = ServerTrustPolicy(number: lastNumber, decision: .success(evaluator))
            policies[type] =
                (policies[type] ?? []).filter { $0.policy != nil } + [Reference(policy: policy)]
            return policy
        }
    }

    private static let registry = Lock(Registry())
}
