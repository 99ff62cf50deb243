/// Delays a request's completion handlers until its progress closures, which may run on other
/// queues, have returned.
///
/// A progress call is queued, begins unless it is too late, and ends. Completion handlers wait
/// while a call is queued or runs; after the time limit or a cancel, no further call begins.
struct ProgressOrder: Sendable {
    private var queued = 0
    private var running = 0
    /// Whether no further call may begin.
    private var isOver = false
    /// Whether the time limit has passed.
    private var hasGivenUp = false
    private var wait: Wait<Void>?

    /// Whether completion handlers have to wait.
    var holdsCompletions: Bool { !hasGivenUp && (running > 0 || queued > 0 && !isOver) }

    /// A call was put on its queue.
    mutating func queue() { queued += 1 }

    /// A queued call is about to run.
    ///
    /// - Returns: Whether the closure may be called; if so, ``end()`` must follow.
    mutating func begin() -> Bool {
        queued -= 1
        guard !isOver else { return false }
        running += 1
        return true
    }

    /// A closure has returned.
    ///
    /// - Returns: The wait to end, if this was the last call.
    mutating func end() -> Wait<Void>? {
        running -= 1
        guard !holdsCompletions else { return nil }
        defer { wait = nil }
        return wait
    }

    /// Stores the wait for the last call.
    ///
    /// - Returns: `false` if there is nothing to wait for.
    mutating func keep(_ wait: Wait<Void>) -> Bool {
        guard holdsCompletions else { return false }
        self.wait = wait
        return true
    }

    /// Drops queued calls after a cancel; calls that have begun are still waited for.
    mutating func dropQueued() { isOver = true }

    /// Ends the waiting after the time limit.
    mutating func giveUp() {
        isOver = true
        hasGivenUp = true
        wait = nil
    }
}
