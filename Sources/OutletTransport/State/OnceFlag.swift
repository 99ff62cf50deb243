/// Lets the first of several answers pass.
package final class OnceFlag: Sendable {
    private let isClaimed = Lock(false)

    package init() {}

    /// Whether this is the first answer.
    package func claim() -> Bool {
        isClaimed.withLock { isClaimed in
            defer { isClaimed = true }
            return !isClaimed
        }
    }
}
