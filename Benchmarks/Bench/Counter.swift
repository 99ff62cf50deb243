import Synchronization

/// A counter that any thread may use.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Adds 1 and returns the new value.
    @discardableResult
    func add() -> Int { count.add(1, ordering: .relaxed).newValue }
}
