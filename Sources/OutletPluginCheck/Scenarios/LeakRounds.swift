/// Compares what the process holds after rounds of the same calls.
struct LeakRounds {
    /// The result of comparing rounds.
    enum Result: Equatable {
        case nothing
        /// Much was freed meanwhile, for mappings in several rounds, which may hide the growth of
        /// others.
        case unclear
        /// What has grown in every round.
        case leak(String)
    }

    private let bound: LeakCheck.MemoryBound
    private let first: ProcessHoldings
    private var last: ProcessHoldings
    private var allCalls = 0
    private var growing = ProcessHoldings.Resource.allCases
    /// The growth beyond the bound of each resource in the last round.
    ///
    /// What has ended may be freed in the next round only, which then seems to grow less.
    private var excess: [ProcessHoldings.Resource: Int] = [:]
    /// The size of the mappings that were freed in one round.
    ///
    /// A stack of 8 MiB that is freed hides the growth of a round.
    private var freedMappings: Int?
    private var hasShrunk = false

    /// Begins before the first round.
    init(from first: ProcessHoldings, bound: LeakCheck.MemoryBound) {
        self.first = first
        self.bound = bound
        last = first
    }

    /// Whether something has grown in every round.
    var haveGrowth: Bool { !growing.isEmpty }

    /// Adds a round.
    ///
    /// - Parameters:
    ///   - next: What the process holds after it.
    ///   - calls: The number of calls in it.
    mutating func add(_ next: ProcessHoldings, calls: Int) {
        allCalls += calls
        growing = growing.filter { hasGrown($0, to: next, calls: calls) }
        last = next
    }

    private mutating func hasGrown(
        _ resource: ProcessHoldings.Resource, to next: ProcessHoldings, calls: Int
    ) -> Bool {
        let growth = next[resource] - last[resource]
        let least = resource.leak(in: calls, bound: bound)
        if growth + max(0, excess[resource] ?? 0) >= least {
            excess[resource] = growth - least
            return true
        }
        if growth <= -least, resource != .mappings { hasShrunk = true }
        guard resource == .mappings, growth < 0 else { return false }
        guard freedMappings == nil else {
            hasShrunk = true
            return false
        }
        freedMappings = -growth
        allCalls -= calls
        return true
    }

    /// Leaves out what has been freed since the last round.
    mutating func settle(_ now: ProcessHoldings) {
        last = now
        growing = growing.filter { growth($0) >= $0.leak(in: allCalls, bound: bound) }
    }

    /// The result after the rounds so far.
    var result: Result {
        guard haveGrowth else { return hasShrunk ? .unclear : .nothing }
        return .leak(growing.map { $0.text(growth($0)) }.joined(separator: ", "))
    }

    /// The growth of a resource in all rounds, with the mappings that were freed meanwhile.
    private func growth(_ resource: ProcessHoldings.Resource) -> Int {
        last[resource] - first[resource] + (resource == .mappings ? freedMappings ?? 0 : 0)
    }
}

extension ProcessHoldings.Resource {
    /// The growth in a round from which on there may be a leak.
    ///
    /// - Parameters:
    ///   - count: The calls of the round.
    ///   - bound: The bound for memory of each.
    fileprivate func leak(in count: Int, bound: LeakCheck.MemoryBound) -> Int {
        switch self {
        case .descriptors, .threads, .timers: 1
        case .memory: count * bound.rawValue
        case .mappings: count * max(bound.rawValue, 2048)
        }
    }
}
