import Synchronization

/// Counts, from any thread.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more, and returns how many there are.
    @discardableResult
    func add() -> Int { count.add(1, ordering: .relaxed).newValue }
}
