import OutletTransport

/// What one measurement repeats.
enum Unit: Sendable {
    /// Begins, and tells at its end whether all went well.
    case ending(@Sendable (_ done: @escaping @Sendable (Bool) -> Void) -> Void)
    /// Runs, on an executor if there is one, and says whether all went well.
    case awaited(on: (any TaskExecutor)?, @Sendable () async -> Bool)
}

/// Keeps `n` units under way until `count` have ended, each begun by the end of another.
final class Work: Sendable {
    private struct State {
        var started = 0
        var failed = 0
        var latencies: [Int64] = []
    }

    private let unit: Unit
    private let count: Int
    private let state: Lock<State>
    private let done = Signal()

    init(_ unit: Unit, count: Int) {
        self.unit = unit
        self.count = count
        var state = State()
        state.latencies.reserveCapacity(count)
        self.state = Lock(state)
    }

    /// How long each unit took, the first that ended first.
    var latencies: [Int64] { state.withLock { $0.latencies } }
    var failed: Int { state.withLock { $0.failed } }

    /// Runs all.
    func run(_ n: Int) async {
        switch unit {
        case .ending(let start):
            let first = min(n, count)
            state.withLock { $0.started = first }
            for _ in 0..<first { begin(start) }
            wait()
        case .awaited(let executor, let run):
            await runTasks(n, on: executor, run)
        }
    }

    /// Blocks the thread, which is the program's main thread with nothing else to do.
    private func wait() { done.wait() }

    private func begin(
        _ start: @escaping @Sendable (_ done: @escaping @Sendable (Bool) -> Void) -> Void
    ) {
        let began = Measure.now
        start { [self] isFine in
            let (next, isLast) = state.withLock { state in
                if !isFine { state.failed += 1 }
                state.latencies.append(Measure.now - began)
                let next = state.started < count
                if next { state.started += 1 }
                return (next, state.latencies.count == count)
            }
            if next { begin(start) } else if isLast { done.set() }
        }
    }

    /// Runs `n` tasks that await one unit after the other.
    private func runTasks(
        _ n: Int, on executor: (any TaskExecutor)?, _ run: @escaping @Sendable () async -> Bool
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<n {
                let share = count / n + (index < count % n ? 1 : 0)
                group.addTask(executorPreference: executor) { [self] in
                    var durations: [Int64] = []
                    durations.reserveCapacity(share)
                    var failed = 0
                    for _ in 0..<share {
                        let began = Measure.now
                        if await !run() { failed += 1 }
                        durations.append(Measure.now - began)
                    }
                    state.withLock { state in
                        state.failed += failed
                        state.latencies += durations
                    }
                }
            }
        }
    }
}
