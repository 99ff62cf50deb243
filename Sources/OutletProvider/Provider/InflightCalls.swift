import OutletHTTP
import OutletSession
import OutletTransport

/// The unfinished calls of one provider that may share a transfer.
///
/// Only a record for ``Provider/inflightRequests``: the calls' results do not depend on it.
///
/// Thread: any.
final class InflightCalls: Sendable {
    private struct Call: Sendable {
        let endpoint: Endpoint
        let completion: Completion
    }

    private struct State: Sendable {
        var calls: [Int: Call] = [:]
        var count = 0
    }

    private let state = Lock(State())

    /// The completions that wait for each endpoint, in the order of their calls.
    var completions: [Endpoint: [Completion]] {
        // Outside the lock, because comparing endpoints builds their requests.
        let calls = state.withLock { $0.calls }.sorted { $0.key < $1.key }.map(\.value)
        return Dictionary(grouping: calls, by: \.endpoint).mapValues { $0.map(\.completion) }
    }

    /// Records a call.
    ///
    /// - Returns: The completion to call in place of the given one; it removes the record
    ///   afterwards.
    func add(_ endpoint: Endpoint, _ completion: @escaping Completion) -> Completion {
        let number = state.withLock { state in
            state.count += 1
            state.calls[state.count] = Call(endpoint: endpoint, completion: completion)
            return state.count
        }
        return { result in
            completion(result)
            _ = self.state.withLock { $0.calls.removeValue(forKey: number) }
        }
    }
}

extension Endpoint {
    /// Whether equal requests may share a transfer: `GET` and `HEAD`, but no downloads.
    var sharesTransfer: Bool { (method == .get || method == .head) && !task.isDownload }
}
