import Dispatch
import FoundationEssentials
import Glibc
import Outlet
import Synchronization

/// Runs many transfers of all kinds, and cancels or suspends some of them at random times.
///
/// Checks that each transfer ends exactly once, and prints memory, descriptors and threads, which
/// must not grow.
final class Soak: Sendable {
    private struct State {
        var started = 0
        var finished = 0
        var twice = 0
        var codes: [String: Int] = [:]
    }

    private let transport: CurlTransport
    private let urls: [URL]
    private let count: Int
    private let state = Lock(State())
    private let done = Signal()
    private let canceller = DispatchQueue(label: "soak.cancel")

    init(_ transport: CurlTransport, urls: [URL], count: Int) {
        self.transport = transport
        self.urls = urls
        self.count = count
    }

    /// Runs all transfers, `n` of them concurrently, and blocks until they have ended.
    ///
    /// - Returns: The number of transfers that did not end exactly once.
    func run(_ n: Int) -> Int {
        for _ in 0..<n { begin() }
        done.wait()
        return state.withLock { state in
            for (code, number) in state.codes.sorted(by: { $0.value > $1.value }) {
                print("  \(code): \(number)")
            }
            return state.twice + abs(state.finished - count)
        }
    }

    private func begin() {
        let number = state.withLock { state -> Int? in
            guard state.started < count else { return nil }
            state.started += 1
            return state.started
        }
        guard let number else { return }
        if number % max(1, count / 10) == 0 { print("  \(number): \(Self.resources())") }
        let url = urls[number % urls.count]
        var job = TransferJob(request: HTTPRequest(url: url, headers: requestFields))
        switch number % 5 {
        case 1: job.delivery = .chunks
        case 2:
            job.request.method = .post
            job.request.body = .data(Data(count: number % 40_000))
        case 3: job.reportsProgress = true
        default: break
        }
        let one = One(self)
        let task = transport.start(job, handler: one)
        switch UInt.random(in: 0..<8) {
        case 0: task.cancel()
        case 1: canceller.async { task.cancel() }
        case 2:
            canceller.asyncAfter(deadline: .now() + .microseconds(Int.random(in: 0..<3000))) {
                task.cancel()
            }
        case 3:
            task.suspend()
            canceller.async { task.resume() }
        default: break
        }
    }

    fileprivate func end(_ result: TransferResult, isFirst: Bool) {
        let isLast = state.withLock { state in
            guard isFirst else {
                state.twice += 1
                return false
            }
            state.finished += 1
            let code = result.error?.code.rawValue ?? "status \(result.response?.statusCode ?? 0)"
            state.codes[code, default: 0] += 1
            return state.finished == count
        }
        if isLast { done.set() } else { begin() }
    }

    /// Returns the resident memory, open descriptors and threads of this process as text.
    static func resources() -> String {
        func entries(_ path: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
        }
        var pages = 0
        if let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) {
            pages = Int(text.split(separator: " ")[1]) ?? 0
        }
        return "\(pages * 4 / 1024) MiB, \(entries("/proc/self/fd")) descriptors, "
            + "\(entries("/proc/self/task")) threads"
    }

    private final class One: TransferHandler {
        private let soak: Soak
        private let ends = Atomic(0)

        init(_ soak: Soak) { self.soak = soak }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            soak.end(result, isFirst: ends.add(1, ordering: .relaxed).newValue == 1)
        }
    }
}
