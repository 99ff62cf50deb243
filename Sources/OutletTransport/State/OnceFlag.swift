/// Selects the first of several calls, such as an answer or its timeout.
package final class OnceFlag: Sendable {
    private let claimed = Lock(false)

    package init() {}

    /// Returns true for the first call, false for all later ones.
    package func claim() -> Bool {
        claimed.withLock { claimed in
            defer { claimed = true }
            return !claimed
        }
    }

    /// Whether ``claim()`` has been called.
    package var isClaimed: Bool { claimed.withLock { $0 } }
}
