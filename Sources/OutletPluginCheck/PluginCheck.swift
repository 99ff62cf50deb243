import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletPluginHost
import OutletTransport

/// Checks a plugin against the rules of the plugin contract.
///
/// Each test runs in its own process, so a plugin that crashes, hangs or ends its process does not
/// end the check. The current directory of that process is an empty one, which is removed after the
/// test.
public struct PluginCheck: Sendable {
    /// The absolute path of the plugin's library.
    public var file: String
    /// Configuration by plugin id, as JSON objects.
    public var configuration: [String: String] = [:]
    /// The seed of the generated requests and values; the same seed generates the same ones.
    public var seed: UInt64
    /// The tests in the order in which their results are reported.
    public var tests = CheckTest.allCases
    /// The time limit of each step of a test, such as a request; a test may take six times as long, and
    /// so may a step in which calls of the plugin return.
    public var limit = Duration.seconds(20)
    /// The path of the program to start for each test.
    ///
    /// It must call ``PluginCheckChild/run()`` when ``PluginCheckChild/isMeant(by:)`` returns
    /// `true` for its arguments. The default is the running program.
    public var program = "/proc/self/exe"

    /// Creates a check that runs all tests.
    ///
    /// - Parameters:
    ///   - file: The path of the plugin's library. A relative path is resolved against the current
    ///     directory now, because a plugin may change the directory.
    ///   - seed: The seed of the generated requests and values.
    public init(file: String, seed: UInt64) {
        self.file =
            file.startsWithBytes(of: "/")
            ? file : "\(FileManager.default.currentDirectoryPath)/\(file)"
        self.seed = seed
    }

    /// Runs the tests.
    ///
    /// The tests ``CheckTest/file``, ``CheckTest/load``, ``CheckTest/entry`` and
    /// ``CheckTest/create`` run one after another where they come first; when one of them fails,
    /// all later tests are skipped. The other tests run concurrently.
    ///
    /// Blocks the calling thread until all tests have ended.
    ///
    /// - Parameter report: Called with each result in the order of ``tests``, on the calling thread
    ///   or a Dispatch worker thread; calls do not overlap.
    public func run(_ report: @escaping @Sendable (CheckResult) -> Void) {
        var rest = tests[...]
        var skipReason: String?
        while let test = rest.first, Self.firstTests.contains(test) {
            rest.removeFirst()
            let result = skipReason.map { skipped(test, $0) } ?? run(test)
            if [.failed, .notRun].contains(result.verdict) {
                skipReason = "see '\(test.rawValue)'"
            }
            report(result)
        }
        if let skipReason {
            for test in rest { report(skipped(test, skipReason)) }
            return
        }
        let order = ResultsInOrder(report)
        let tests = Array(rest)
        DispatchQueue.concurrentPerform(iterations: tests.count) { index in
            order.add(run(tests[index]), at: index)
        }
    }

    /// Ends all tests that run, and removes their temporary directories, before the program ends.
    ///
    /// ``run(_:)`` does not return any more. Takes at most a second, except to remove files.
    ///
    /// Thread: any.
    public static func endAll() { RunningTests.endAll() }

    /// The tests that must pass before others can give a useful result.
    private static let firstTests: Set<CheckTest> = [.file, .load, .entry, .create]

    private func skipped(_ test: CheckTest, _ reason: String) -> CheckResult {
        CheckResult(test: test, seed: seed, duration: .zero, findings: [], skipReason: reason)
    }

    private func run(_ test: CheckTest) -> CheckResult {
        var random = SystemRandomNumberGenerator()
        let job = CheckJob(
            test: test, file: file, configuration: configuration, seed: seed, limit: limit,
            mark: String(random.next(), radix: 36),
            exitCode: Int32.random(in: CheckJob.exitCodes, using: &random))
        let start = ContinuousClock.now
        let outcome = CheckProcess.run(job, program: program)
        RunningTests.stayIfEnded()
        return CheckResult(
            test: test, seed: seed, duration: .now - start, outcome: outcome, limit: limit)
    }
}

/// The result of one test.
public struct CheckResult: Sendable, Equatable {
    /// The test.
    public var test: CheckTest
    /// The seed of its generated requests and values.
    public var seed: UInt64
    /// How long the test took, including the start of its process.
    public var duration: Duration
    /// The violations found, warnings last; one about the end of the process comes first.
    public var findings: [CheckFinding]
    /// In what way the test was less exact than it should be, such as on a slow machine; one
    /// sentence each.
    public var notes: [String] = []
    /// Why the test was skipped; `nil` when it was not.
    public var skipReason: String?
    /// Why the test could not be run, which is no fault of the plugin; `nil` when it was.
    public var startFault: String?

    /// Whether a test passed.
    public enum Verdict: String, Sendable {
        /// No violations were found, except for warnings.
        case passed
        /// At least one rule is violated.
        case failed
        /// The test does not apply, or an earlier test failed.
        case skipped
        /// The test could not be run: its process could not be started, or it could not measure.
        case notRun = "not-run"
    }

    /// Whether the test passed, failed or was skipped.
    public var verdict: Verdict {
        if startFault != nil { return .notRun }
        if findings.contains(where: { !$0.isWarning }) { return .failed }
        return skipReason == nil ? .passed : .skipped
    }
}

extension CheckResult {
    /// Creates a result from a child's report, its output and its end.
    init(
        test: CheckTest, seed: UInt64, duration: Duration, outcome: CheckProcess.Outcome,
        limit: Duration
    ) {
        if case .notStarted(let reason) = outcome.end {
            self.init(
                test: test, seed: seed, duration: duration, findings: [], startFault: reason)
            return
        }
        var findings: [CheckFinding] = []
        var notes: [String] = []
        var skipReason: String?
        var startFault: String?
        var step = ""
        var hasEnded = false
        for line in outcome.lines {
            switch line {
            case .step(let text): step = text
            case .finding(let finding): findings.append(finding)
            case .skipped(let reason): skipReason = reason
            case .note(let text): notes.append(text)
            case .notRun(let reason): startFault = reason
            case .ended: hasEnded = true
            }
        }
        // The child reports a call that does not return itself.
        let hang = findings.lastIndex {
            ($0.rule == .callReturns || $0.rule == .loadQuick)
                && $0.message.containsBytes(of: PluginCheckChild.hangFact)
        }
        let watch = outcome.watch.lines
        let copies = watch.filter { $0.containsBytes(of: " has copied the process with ") }
        if outcome.end == .killed, let hang {
            if !step.isEmpty { findings[hang].message += " during: \(step)" }
        } else if let (rule, fact) = Self.breach(outcome, hasEnded: hasEnded, limit: limit) {
            let place = step.isEmpty ? "" : " during: \(step)"
            let named = watch.last.map { "; \($0)" } ?? ""
            let last = outcome.errors.lines.last.map { "; it wrote: \($0)" } ?? ""
            findings.insert(CheckFinding(rule: rule, message: fact + place + named + last), at: 0)
        } else if let line = watch.first(where: { !copies.contains($0) }) {
            findings.append(CheckFinding(rule: .stateProcess, message: line))
        } else if let (name, bytes) = [
            ("output", outcome.output), ("error", outcome.errors),
        ].first(where: { !$0.1.isEmpty }) {
            findings.append(
                CheckFinding(
                    rule: .noOutput,
                    message: "\(bytes.count) bytes on standard \(name): "
                        + (bytes.lines.last ?? "")))
        }
        if let copy = copies.first {
            findings.append(CheckFinding(rule: .noFork, message: "\(copies.count) times: \(copy)"))
        }
        self.init(
            test: test, seed: seed, duration: duration,
            findings: findings.filter { !$0.isWarning } + findings.filter(\.isWarning),
            notes: notes, skipReason: skipReason, startFault: startFault)
    }

    /// The violation shown by how the process ended; `nil` when it ended normally.
    private static func breach(
        _ outcome: CheckProcess.Outcome, hasEnded: Bool, limit: Duration
    ) -> (PluginRule, String)? {
        switch outcome.end {
        case .killed:
            (
                .callReturns,
                "it made no progress within \(limit), or took \(CheckProcess.longestTest) times as long"
            )
        case .signalled(let number):
            (.noCrash, "the process was ended by \(signalName(number))")
        case .ended where hasEnded: nil
        case .notStarted: nil
        case .ended: (.noExit, "the process was ended before its own end")
        case .exited(let code): (.noExit, "the process was ended with the exit code \(code)")
        }
    }
}

extension [UInt8] {
    /// The lines as texts, each cut off after 300 bytes, and without the program's name.
    fileprivate var lines: [String] {
        String(decoding: self, as: UTF8.self).lines.map { line in
            let line = line.startsWithBytes(of: "outlet: ") ? line.droppingBytes(8) : line
            return String(line.prefix(bytes: 300))
        }
    }
}

/// Reports results of concurrent tests in the order of the tests.
private final class ResultsInOrder: Sendable {
    private struct State {
        var waiting: [Int: CheckResult] = [:]
        var next = 0
        var isReporting = false
    }
    private let state = Lock(State())
    private let report: @Sendable (CheckResult) -> Void

    init(_ report: @escaping @Sendable (CheckResult) -> Void) { self.report = report }

    func add(_ result: CheckResult, at index: Int) {
        let begins = state.withLock { state in
            state.waiting[index] = result
            defer { state.isReporting = true }
            return !state.isReporting
        }
        // One thread at a time reports, without the lock.
        guard begins else { return }
        while let next = takeNext() { report(next) }
    }

    /// The next result in the order of the tests; `nil` if its test has not ended.
    private func takeNext() -> CheckResult? {
        state.withLock { state in
            guard let next = state.waiting.removeValue(forKey: state.next) else {
                state.isReporting = false
                return nil
            }
            state.next += 1
            return next
        }
    }
}
