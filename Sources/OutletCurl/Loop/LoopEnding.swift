import OutletTransport

/// Lets tasks wait for the end of a loop.
final class LoopEnding: Sendable {
    private struct State {
        var cutCount: Int?
        var waiters: [CheckedContinuation<Int, Never>] = []
    }

    private let state = Lock(State())

    /// Waits for the end of the loop.
    ///
    /// - Returns: The number of transfers that a shutdown ended.
    func wait() async -> Int {
        defer { state.showOrder() }
        return await withCheckedContinuation { continuation in
            let cutCount = state.withLock { state -> Int? in
                if state.cutCount == nil { state.waiters.append(continuation) }
                return state.cutCount
            }
            if let cutCount { continuation.resume(returning: cutCount) }
        }
    }

    /// Resumes all waiting tasks.
    ///
    /// - Parameter cutCount: The number of transfers that a shutdown ended.
    func reach(_ cutCount: Int) {
        let waiters = state.withLock { state in
            state.cutCount = cutCount
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: cutCount) }
    }
}
