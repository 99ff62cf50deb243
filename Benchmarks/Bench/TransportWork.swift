import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession

/// The five header fields that every measured request carries.
let requestFields: HTTPHeaders = [
    "Accept": "application/json",
    "Accept-Language": "en;q=1.0",
    "User-Agent": "OutletBench/1.0",
    "Authorization": "Bearer 0123456789abcdef0123456789abcdef",
    "X-Request-ID": "6f1c2e34-9a4b-4c56-8f77-0123456789ab",
]

/// Keeps `n` transfers under way until `count` have ended, on the transport's own thread.
final class TransportWork: @unchecked Sendable {
    // because the transport calls its handlers from one thread, and `done` says when it is over.
    private let transport: CurlTransport
    private let job: TransferJob
    private let count: Int
    private var started = 0
    private var finished = 0
    private(set) var failed = 0
    private(set) var latencies: [Int64]
    private let done = Signal()

    init(_ transport: CurlTransport, _ job: TransferJob, count: Int) {
        self.transport = transport
        self.job = job
        self.count = count
        latencies = []
        latencies.reserveCapacity(count)
    }

    /// Runs and waits for the end.
    func run(_ n: Int) {
        started = min(n, count)
        for _ in 0..<started { begin() }
        done.wait()
    }

    private func begin() {
        _ = transport.start(job, handler: Started(self))
    }

    fileprivate func end(_ result: TransferResult, after duration: Int64) {
        if result.error != nil || result.response?.statusCode != 200 {
            if failed == 0 { print("outlet: \(String(describing: result.error))") }
            failed += 1
        }
        latencies.append(duration)
        finished += 1
        if started < count {
            started += 1
            begin()
        } else if finished == count {
            done.set()
        }
    }

    private final class Started: TransferHandler, @unchecked Sendable {
        // because only the transport's thread uses it after its start.
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
