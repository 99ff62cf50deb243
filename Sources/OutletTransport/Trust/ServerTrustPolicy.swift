/// An evaluator under a number that stands for what it decides.
///
/// A connection and a TLS session belong to the policy that accepted their server: a transport
/// gives them to transfers of the same number only. Equal values (`Equatable`) and one object have
/// one number in the whole process; any other evaluator has one for each ``of(_:)``.
///
/// Thread: any.
public final class ServerTrustPolicy: Sendable {
    /// What tells policies apart; never used twice in a process.
    public let number: UInt64
    private let decision: Result<any ServerTrustEvaluating, any Error>

    private init(number: UInt64, decision: Result<any ServerTrustEvaluating, any Error>) {
        self.number = number
        self.decision = decision
    }

    /// Refuses every server.
    package static func refusing(_ error: any Error) -> ServerTrustPolicy {
        // Nothing is ever accepted under this number, so all may have it.
        ServerTrustPolicy(number: 0, decision: .failure(error))
    }

    /// Judges a server.
    ///
    /// - Parameter trust: What the server has shown.
    /// - Returns: Whether the server is verified besides, so that what it says may be kept.
    /// - Throws: Why it is refused.
    public func evaluate(_ trust: ServerTrust) throws -> Bool {
        let evaluator = try decision.get()
        try evaluator.evaluate(trust, forHost: trust.host)
        return evaluator.verifies(trust, forHost: trust.host)
    }

    /// The evaluator; `nil` where every server is refused.
    package var evaluator: (any ServerTrustEvaluating)? { try? decision.get() }

    // MARK: The policies of a process

    /// The policy of an evaluator: the one that an equal one has already, or a new one.
    ///
    /// Calls the evaluators' `==`, which is the user's, outside of locks.
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
        // What an object holds may change, and then be another object's.
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

    /// Those that somebody uses, by the types of their evaluators.
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
