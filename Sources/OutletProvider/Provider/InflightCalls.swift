import OutletHTTP
import OutletSession
import OutletTransport

/// The calls of one provider that others may share a transfer with, while they are under way.
///
/// Books only: what a call comes to does not depend on them. The object also tells one provider's
/// plugins from another's.
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

    /// Who waits for which endpoint, in the order in which they asked.
    var completions: [Endpoint: [Completion]] {
        // Comparing endpoints makes requests of them: outside the lock.
        let calls = state.withLock { $0.calls }.sorted { $0.key < $1.key }.map(\.value)
        return Dictionary(grouping: calls, by: \.endpoint).mapValues { $0.map(\.completion) }
    }

    /// Notes a call.
    ///
    /// - Returns: Its completion, to be called in place of the one given; ends the note behind it.
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
    /// Whether equal requests may share a transfer: they change nothing, and bring no file.
    var sharesTransfer: Bool { (method == .get || method == .head) && !task.isDownload }
}
