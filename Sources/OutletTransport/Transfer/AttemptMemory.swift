/// What the transfers of one attempt of a request have in common: a place where layers keep what they
/// have found out, from one redirect to the next.
///
/// Thread: any.
public final class AttemptMemory: Sendable {
    private let values = Lock<[ObjectIdentifier: any Sendable]>([:])

    /// An empty memory.
    public init() {}

    /// The value of a type that was kept last.
    public func value<Value: Sendable>(of type: Value.Type) -> Value? {
        values.withLock { $0[ObjectIdentifier(type)] as? Value }
    }

    /// Keeps a value in place of the last one of its type.
    public func keep<Value: Sendable>(_ value: Value) {
        values.withLock { $0[ObjectIdentifier(Value.self)] = value }
    }
}
