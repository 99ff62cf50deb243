import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTransport

/// The five header fields that every measured request carries.
let requestFields: HTTPHeaders = [
    "Accept": "application/json",
    "Accept-Language": "en;q=1.0",
    "User-Agent": "OutletBench/1.0",
    "Authorization": "Bearer 0123456789abcdef0123456789abcdef",
    "X-Request-ID": "6f1c2e34-9a4b-4c56-8f77-0123456789ab",
]

/// Keeps `n` transfers under way until `count` have ended, each begun by the end of another.
///
/// Ends come from as many threads at a time as the transport has loops.
final class TransportWork: Sendable {
    private struct State {
        var started = 0
        var failed = 0
        var latencies: [Int64] = []
        /// Of a single transfer kept, as a user keeps it: giving a gigabyte back takes its time.
        var lastBody: Data?
    }

    private let transport: CurlTransport
    private let job: TransferJob
    private let count: Int
    private let state: Lock<State>
    private let done = Signal()

    init(_ transport: CurlTransport, _ job: TransferJob, count: Int) {
        self.transport = transport
        self.job = job
        self.count = count
        var state = State()
        state.latencies.reserveCapacity(count)
        self.state = Lock(state)
    }

    var latencies: [Int64] { state.withLock { $0.latencies } }
    var failed: Int { state.withLock { $0.failed } }

    /// Runs and waits for the end.
    ///
    /// - Returns: After how many µs the last of the first `n` had been handed over.
    @discardableResult
    func run(_ n: Int) -> Int64 {
        let start = Measure.now
        let first = min(n, count)
        state.withLock { $0.started = first }
        for _ in 0..<first { begin() }
        let handedOver = Measure.now - start
        done.wait()
        return handedOver
    }

    private func begin() {
        _ = transport.start(job, handler: Started(self))
    }

    fileprivate func end(_ result: TransferResult, after duration: Int64) {
        let hasFailed = result.error != nil || result.response?.statusCode != 200
        let (isFirstFailure, next, isLast) = state.withLock { state in
            state.latencies.append(duration)
            if count == 1 { state.lastBody = result.body }
            if hasFailed { state.failed += 1 }
            let next = state.started < count
            if next { state.started += 1 }
            return (
                hasFailed && state.failed == 1, next, state.latencies.count == count
            )
        }
        if isFirstFailure { print("outlet: \(String(describing: result.error))") }
        if next { begin() } else if isLast { done.set() }
    }

    private final class Started: TransferHandler {
        let work: TransportWork
        let start = Measure.now

        init(_ work: TransportWork) { self.work = work }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            work.end(result, after: Measure.now - start)
        }
    }
}
