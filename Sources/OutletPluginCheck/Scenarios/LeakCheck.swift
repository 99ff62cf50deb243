import OutletHTTP
import OutletPluginHost

/// Repeats an operation in rounds, and finds what grows in every round.
///
/// All rounds do the same. So a cache that fills up, a pool that grows once, and memory that an
/// allocator keeps are no leaks: they stop growing.
struct LeakCheck {
    /// From how much memory for each call on growth is a leak.
    enum MemoryBound: Int {
        /// 1 KiB: the host itself keeps some hundred bytes for each attempt of a request.
        case fine = 1024
        /// 2 KiB: the host itself keeps about 0.9 KiB for each instance.
        case instance = 2048
        /// 32 KiB: for operations of which host or plugin may keep something.
        case coarse = 32_768
    }

    private let subject: CheckSubject
    private let meter = HoldingsMeter()

    /// The number of rounds that are compared.
    private static let rounds = 6
    /// The most repetitions of a round.
    private static let mostCount = 64
    /// The repetitions, those of the warm-up included, from which on caches count as full.
    private static let fullCaches = 250
    /// The repetitions of a round that also slow operations should have.
    private static func enoughCount(_ bound: MemoryBound) -> Int {
        bound == .coarse ? 20 : fullCaches / rounds + 1
    }
    /// How long what has ended may take to be freed, in units of 10 ms.
    private static let longestFreeing = 500

    /// Creates a check that reports to the report of a test.
    init(_ subject: CheckSubject) {
        self.subject = subject
        if let fault = meter.fault { subject.report.cannotRun(fault) }
    }

    /// What the process holds once that has not changed for 10 ms; after 100 ms in any case.
    ///
    /// Resources of a request or an instance may be freed on other threads shortly after its end.
    func holdings() async -> ProcessHoldings {
        var last = meter.measure()
        var unchanged = 0
        for _ in 0..<50 where unchanged < 5 {
            try? await Task.sleep(for: .milliseconds(2))
            let next = meter.measure()
            unchanged = next == last ? unchanged + 1 : 0
            last = next
        }
        return last
    }

    /// Repeats an operation, and finds the resources that it leaks.
    ///
    /// The number of repetitions depends on the time that the first ones take. Ends without a
    /// finding as soon as nothing grows any more, or when the time of the test is used up.
    ///
    /// - Parameters:
    ///   - what: A plural noun for the repetitions.
    ///   - bound: The bound for memory; ``MemoryBound/coarse`` in its place, with a note in the
    ///     report, if there is no time for enough repetitions.
    ///   - time: The time for a quick operation; a slow one may take half of the test's time limit.
    ///   - operation: Repeats the operation as often as its argument says. Returns the number of
    ///     attempts of requests, or of other calls, to which the bound applies.
    /// - Returns: What was repeated, and what it has left; `nil` if nothing was found.
    func run(
        _ what: String, bound: MemoryBound, within time: Duration,
        _ operation: (_ count: Int) async throws -> Int
    ) async rethrows -> String? {
        guard mayGoOn else { return nil }
        let (warmUp, each) = try await warmUp(for: time / 4, operation)
        let count = Self.count(
            each: each, within: time, enough: Self.enoughCount(bound),
            orAtMost: subject.job.limit / 2)
        let total = count * Self.rounds
        let isCoarser = bound != .coarse && warmUp + total < Self.fullCaches
        if isCoarser {
            subject.report.note(
                "there was time for \(warmUp + total) \(what) only, not for \(Self.fullCaches): "
                    + "memory that each leaves was compared with \(MemoryBound.coarse.rawValue) "
                    + "bytes, not with \(bound.rawValue)")
        }
        let bound = isCoarser ? .coarse : bound
        for _ in 0..<Self.mostComparisons {
            switch try await compare(what, count, bound, operation) {
            case .nothing: return nil
            case .unclear: continue
            case .leak(let leak): return "\(total) \(what) left \(leak)"
            }
        }
        return nil
    }

    /// How often rounds are compared if the result is unclear: on a busy machine, what the rounds
    /// before have used is freed at any time, and threads end.
    private static let mostComparisons = 3

    /// Repeats an operation in ``rounds`` of `count`, and finds what grows in each.
    private func compare(
        _ what: String, _ count: Int, _ bound: MemoryBound,
        _ operation: (_ count: Int) async throws -> Int
    ) async rethrows -> LeakRounds.Result {
        var rounds = LeakRounds(from: await holdings(), bound: bound)
        for _ in 0..<Self.rounds {
            guard mayGoOn else { return .nothing }
            let calls = try await operation(count)
            rounds.add(await holdings(), calls: calls)
            guard rounds.haveGrowth else { return rounds.result }
        }
        guard !subject.report.hasFailed else { return .nothing }
        // On a busy machine, other threads may free what has ended much later.
        for unit in 0..<Self.longestFreeing where rounds.haveGrowth {
            if unit % 50 == 0 { subject.report.step("wait for what \(what) have left") }
            try? await Task.sleep(for: .milliseconds(10))
            rounds.settle(meter.measure())
        }
        return rounds.result
    }

    /// Whether nothing was found yet and there is time.
    private var mayGoOn: Bool { !subject.report.hasFailed && !subject.isLate }

    /// Repeats an operation more and more often, until that has taken a time.
    ///
    /// - Returns: The number of repetitions, and the time that each of the last ones took.
    private func warmUp(
        for time: Duration, _ operation: (Int) async throws -> Int
    ) async rethrows -> (count: Int, each: Duration) {
        let start = ContinuousClock.now
        var (done, count) = (0, 1)
        while true {
            let begin = ContinuousClock.now
            _ = try await operation(count)
            done += count
            let now = ContinuousClock.now
            if count >= Self.mostCount || now - start >= time || !mayGoOn {
                return (done, (now - begin) / count)
            }
            count *= 2
        }
    }

    /// The number of repetitions of a round; at least 2.
    private static func count(
        each: Duration, within time: Duration, enough: Int, orAtMost most: Duration
    ) -> Int {
        func count(_ time: Duration, _ limit: Int) -> Int {
            Int(min(time / max(each, .nanoseconds(1)) / Double(rounds), Double(limit)))
        }
        return max(2, count(time, mostCount), count(most, enough))
    }
}
