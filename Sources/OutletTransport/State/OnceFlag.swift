/// Selects the first of several calls, such as an answer or its timeout.
package final class OnceFlag: Sendable {
    private let isClaimed = Lock(false)

    package init() {}

    /// Returns true for the first call, false for all later ones.
    package func claim() -> Bool {
        isClaimed.withLock { isClaimed in
            defer { isClaimed = true }
            return !isClaimed
        }
    }
}
