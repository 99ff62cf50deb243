/// Values that layers keep from one transfer of a request to the next, by type.
///
/// The redirects of a request pass the same object in ``TransferJob/memory``.
///
/// Thread: any.
public final class AttemptMemory: Sendable {
    private let values = Lock<[ObjectIdentifier: any Sendable]>([:])

    /// Makes an empty memory.
    public init() {}

    /// Returns the value kept for a type; `nil` if there is none.
    ///
    /// - Parameter type: The type with which ``keep(_:)`` was called; a subclass does not match.
    public func value<Value: Sendable>(of type: Value.Type) -> Value? {
        values.withLock { $0[ObjectIdentifier(type)] as? Value }
    }

    /// Keeps a value; replaces the former value of the same type.
    ///
    /// - Parameter value: The value; kept by its static type.
    public func keep<Value: Sendable>(_ value: Value) {
        values.withLock { $0[ObjectIdentifier(Value.self)] = value }
    }
}
