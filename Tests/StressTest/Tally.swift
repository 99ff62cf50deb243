import OutletSession
import OutletTransport

/// What became of each request of a stress test.
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

    /// Counts an end.
    ///
    /// - Parameters:
    ///   - outcome: A word for it.
    ///   - fault: What is wrong with it, if anything.
    /// - Returns: Whether it is the request's first.
    func end(_ number: Int, _ outcome: String, fault: String?) -> Bool {
        state.withLock { state in
            state.ends[number] &+= 1
            state.outcomes[outcome, default: 0] += 1
            if let fault { state.faults.append("request \(number): \(fault)") }
            return state.ends[number] == 1
        }
    }

    /// How many ended how, the commonest first.
    var summary: String {
        let outcomes = state.withLock { $0.outcomes }
        return outcomes.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }
            .joined(separator: ", ")
    }

    /// What is wrong, ten of a kind at most.
    var faults: [String] {
        let (ends, faults) = state.withLock { ($0.ends, $0.faults) }
        let lost = ends.indices.filter { ends[$0] == 0 }
        let repeated = ends.indices.filter { ends[$0] > 1 }
        return faults.prefix(10)
            + lost.prefix(10).map { "request \($0): no completion, one of \(lost.count) such" }
            + repeated.prefix(10).map { "request \($0): \(ends[$0]) completions" }
    }
}
