import OutletTransport

/// The unit of work that a measurement repeats.
enum Unit: Sendable {
    /// Starts the unit, and calls `done` at its end with whether it succeeded.
    case ending(@Sendable (_ done: @escaping @Sendable (Bool) -> Void) -> Void)
    /// Runs the unit, on the executor if there is one, and returns whether it succeeded.
    case awaited(on: (any TaskExecutor)?, @Sendable () async -> Bool)
}

/// Runs `count` units, `n` of them concurrently: the end of each unit starts the next one.
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

    /// The duration of each unit in nanoseconds.
    ///
    /// Units with a `done` closure are in the order of their ends; awaited units are grouped by
    /// task.
    var latencies: [Int64] { state.withLock { $0.latencies } }
    var failed: Int { state.withLock { $0.failed } }

    /// Runs all units, `n` of them concurrently.
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

    /// Blocks the main thread, which has nothing else to do, until all units have ended.
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

    /// Runs `n` concurrent tasks, each of which awaits one unit after the other.
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
