import OutletSession
import OutletTransport

/// Counts how the requests of a stress test end.
final class Tally: Sendable {
    private struct State {
        var ends: [UInt8]
        var outcomes: [String: Int] = [:]
        var faults: [String] = []
    }

    private let state: Lock<State>

    init(count: Int) {
        state = Lock(State(ends: Array(repeating: 0, count: count)))
    }

    /// Counts one completion of a request.
    ///
    /// - Parameters:
    ///   - number: The number of the request.
    ///   - outcome: A word for the summary.
    ///   - fault: What is wrong with the completion; `nil` if nothing is.
    /// - Returns: Whether it is the first completion of this request.
    func end(_ number: Int, _ outcome: String, fault: String?) -> Bool {
        state.withLock { state in
            state.ends[number] &+= 1
            state.outcomes[outcome, default: 0] += 1
            if let fault { state.faults.append("request \(number): \(fault)") }
            return state.ends[number] == 1
        }
    }

    /// The number of requests for each outcome, the most frequent first.
    var summary: String {
        let outcomes = state.withLock { $0.outcomes }
        return outcomes.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }
            .joined(separator: ", ")
    }

    /// The faults found, at most ten of each kind.
    var faults: [String] {
        let (ends, faults) = state.withLock { ($0.ends, $0.faults) }
        let lost = ends.indices.filter { ends[$0] == 0 }
        let repeated = ends.indices.filter { ends[$0] > 1 }
        return faults.prefix(10)
            + lost.prefix(10).map { "request \($0): no completion, one of \(lost.count) such" }
            + repeated.prefix(10).map { "request \($0): \(ends[$0]) completions" }
    }
}
