/// Keeps a request's completions behind its progress closures, which may have queues of their own: as
/// a value.
///
/// A call is queued, begins unless it comes too late, and ends. Completions wait while a call is
/// queued or runs; once they have given up, or nobody wants progress any more, no call begins.
struct ProgressOrder: Sendable {
    private var queued = 0
    private var running = 0
    /// No call begins any more.
    private var isOver = false
    /// The completions have waited long enough.
    private var hasGivenUp = false
    private var wait: Wait<Void>?

    /// Whether completions have to wait.
    var holdsCompletions: Bool { !hasGivenUp && (running > 0 || queued > 0 && !isOver) }

    /// A call was put on its queue.
    mutating func queue() { queued += 1 }

    /// Its queue has come to a call.
    ///
    /// - Returns: Whether the closure may be called; ``end()`` follows then.
    mutating func begin() -> Bool {
        queued -= 1
        guard !isOver else { return false }
        running += 1
        return true
    }

    /// A closure has returned.
    ///
    /// - Returns: What was waiting for the last of them.
    mutating func end() -> Wait<Void>? {
        running -= 1
        guard !holdsCompletions else { return nil }
        defer { wait = nil }
        return wait
    }

    /// Keeps who waits for the last call.
    ///
    /// - Returns: False when there is nothing to wait for any more.
    mutating func keep(_ wait: Wait<Void>) -> Bool {
        guard holdsCompletions else { return false }
        self.wait = wait
        return true
    }

    /// Nobody wants progress any more; calls that have begun are still waited for.
    mutating func dropQueued() { isOver = true }

    /// The completions wait no longer.
    mutating func giveUp() {
        isOver = true
        hasGivenUp = true
        wait = nil
    }
}
