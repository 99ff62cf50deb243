import Dispatch
import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTransport

/// Keeps `n` requests of a session under way, each begun by the completion of another.
final class SessionWork: Sendable {
    private struct State {
        var started = 0
        var failed = 0
        var latencies: [Int64] = []
    }

    private let session: Session
    private let url: String
    private let count: Int
    private let fields = requestFields
    private let state: Lock<State>
    private let done = Signal()

    init(_ session: Session, _ url: String, count: Int) {
        self.session = session
        self.url = url
        self.count = count
        var state = State()
        state.latencies.reserveCapacity(count)
        self.state = Lock(state)
    }

    var latencies: [Int64] { state.withLock { $0.latencies } }
    var failed: Int { state.withLock { $0.failed } }

    /// Runs with completion handlers and waits for the end.
    func run(_ n: Int) {
        let first = min(n, count)
        state.withLock { $0.started = first }
        for _ in 0..<first { begin() }
        done.wait()
    }

    private func begin() {
        let start = Measure.now
        session.request(url, headers: fields).responseData { [self] response in
            let (next, isLast) = state.withLock { state in
                if response.error != nil { state.failed += 1 }
                state.latencies.append(Measure.now - start)
                let next = state.started < count
                if next { state.started += 1 }
                return (next, state.latencies.count == count)
            }
            if next { begin() } else if isLast { done.set() }
        }
    }

    /// Runs with `n` tasks that await one value after the other, on an executor if there is one.
    func runAsync(_ n: Int, on executor: (any TaskExecutor)?) async {
        await withTaskGroup(of: [Int64].self) { group in
            for index in 0..<n {
                let share = count / n + (index < count % n ? 1 : 0)
                group.addTask(executorPreference: executor) { [self] in
                    var durations: [Int64] = []
                    durations.reserveCapacity(share)
                    for _ in 0..<share {
                        let start = Measure.now
                        let request = session.request(url, headers: fields)
                        do {
                            _ = try await request.serializingData().value
                        } catch {
                            state.withLock { $0.failed += 1 }
                        }
                        durations.append(Measure.now - start)
                    }
                    return durations
                }
            }
            for await durations in group {
                state.withLock { $0.latencies += durations }
            }
        }
    }
}
