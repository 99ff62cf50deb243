import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTransport

/// What the measured provider asks for.
struct MeasuredTarget: TargetType {
    let baseURL: URL
    var path: String { "" }
    var method: HTTPMethod { .get }
    var task: HTTPTask { .requestPlain }
    var headers: [String: String]? { requestFields.dictionary }
}

/// Keeps `n` requests of a provider under way, each passing through the hooks of native plugins.
final class ProviderWork: Sendable {
    private struct State {
        var started = 0
        var failed = 0
        var latencies: [Int64] = []
    }

    private let provider: Provider<MeasuredTarget>
    private let target: MeasuredTarget
    private let count: Int
    private let state: Lock<State>
    private let done = Signal()

    init(_ provider: Provider<MeasuredTarget>, _ url: URL, count: Int) {
        self.provider = provider
        self.target = MeasuredTarget(baseURL: url)
        self.count = count
        var state = State()
        state.latencies.reserveCapacity(count)
        self.state = Lock(state)
    }

    var latencies: [Int64] { state.withLock { $0.latencies } }
    var failed: Int { state.withLock { $0.failed } }

    /// Runs and waits for the end.
    func run(_ n: Int) {
        let first = min(n, count)
        state.withLock { $0.started = first }
        for _ in 0..<first { begin() }
        done.wait()
    }

    private func begin() {
        let start = Measure.now
        provider.request(target) { [self] result in
            let hasFailed = (try? result.get())?.statusCode != 200
            let (next, isLast) = state.withLock { state in
                if hasFailed { state.failed += 1 }
                state.latencies.append(Measure.now - start)
                let next = state.started < count
                if next { state.started += 1 }
                return (next, state.latencies.count == count)
            }
            if next { begin() } else if isLast { done.set() }
        }
    }
}
