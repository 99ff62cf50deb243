import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletPluginHost
import OutletTransport

/// Checks a plugin against the rules of the ABI, each test in a process of its own.
///
/// A plugin that crashes, hangs or ends its process fails its tests, and nothing else.
public struct PluginCheck: Sendable {
    /// The plugin's file.
    public var file: String
    /// Configuration by plugin id, as JSON objects.
    public var configuration: [String: String] = [:]
    /// What requests and values are made up from.
    public var seed: UInt64
    /// The tests, in order.
    public var tests = CheckTest.allCases
    /// How long each test may take.
    public var limit = Duration.seconds(20)
    /// The program whose children the tests are: it calls ``PluginCheckChild/run()``.
    public var program = "/proc/self/exe"

    /// Makes a check of all rules.
    ///
    /// - Parameter file: Its path; one that is not absolute is taken from the current directory as it is now,
    ///   because a plugin may change that.
    public init(file: String, seed: UInt64) {
        self.file =
            file.startsWithBytes(of: "/")
            ? file : "\(FileManager.default.currentDirectoryPath)/\(file)"
        self.seed = seed
    }

    /// Runs the tests; those whose plugin does not start are skipped.
    ///
    /// - Parameter report: Told each result, in the order of the tests; calls do not overlap.
    ///
    /// Blocks as long as the tests run.
    public func run(_ report: @escaping @Sendable (CheckResult) -> Void) {
        var rest = tests[...]
        var hindrance: String?
        while let test = rest.first, Self.firstTests.contains(test) {
            rest.removeFirst()
            let result = hindrance.map { skipped(test, $0) } ?? run(test)
            if result.verdict == .failed { hindrance = "see '\(test.rawValue)'" }
            report(result)
        }
        if let hindrance {
            for test in rest { report(skipped(test, hindrance)) }
            return
        }
        let order = ResultsInOrder(report)
        let tests = Array(rest)
        DispatchQueue.concurrentPerform(iterations: tests.count) { index in
            order.add(run(tests[index]), at: index)
        }
    }

    /// Without these no other comes to anything.
    private static let firstTests: Set<CheckTest> = [.file, .load, .entry, .create]

    private func skipped(_ test: CheckTest, _ reason: String) -> CheckResult {
        CheckResult(test: test, seed: seed, duration: .zero, findings: [], skipReason: reason)
    }

    private func run(_ test: CheckTest) -> CheckResult {
        var random = SystemRandomNumberGenerator()
        let job = CheckJob(
            test: test, file: file, configuration: configuration, seed: seed, limit: limit,
            mark: String(random.next(), radix: 36))
        let start = ContinuousClock.now
        let outcome = CheckProcess.run(job, program: program)
        return CheckResult(
            test: test, seed: seed, duration: .now - start, outcome: outcome, limit: limit)
    }
}

/// What one test has found.
public struct CheckResult: Sendable, Equatable {
    /// The test.
    public var test: CheckTest
    /// What its requests and values were made up from.
    public var seed: UInt64
    /// How long it took.
    public var duration: Duration
    /// The rules that were found broken, the worst first; warnings behind.
    public var findings: [CheckFinding]
    /// Why there was nothing to test.
    public var skipReason: String?

    /// What came of a test.
    public enum Verdict: String, Sendable {
        /// No rule was found broken, but for warnings.
        case passed
        /// A rule is broken.
        case failed
        /// There was nothing to test.
        case skipped
    }

    /// What came of it.
    public var verdict: Verdict {
        if findings.contains(where: { !$0.isWarning }) { return .failed }
        return skipReason == nil ? .passed : .skipped
    }
}

extension CheckResult {
    /// Makes a result of what a child has told, and of how it ended.
    init(
        test: CheckTest, seed: UInt64, duration: Duration, outcome: CheckProcess.Outcome,
        limit: Duration
    ) {
        var findings: [CheckFinding] = []
        var skipReason: String?
        var step = ""
        var hasEnded = false
        for line in outcome.lines {
            switch line {
            case .step(let text): step = text
            case .finding(let finding): findings.append(finding)
            case .skipped(let reason): skipReason = reason
            case .ended: hasEnded = true
            }
        }
        if let (rule, fact) = Self.breach(outcome, hasEnded: hasEnded, limit: limit) {
            let place = step.isEmpty ? "" : "; it was to: \(step)"
            let last = outcome.errors.lastLine.map { "; it wrote: \($0)" } ?? ""
            findings.insert(CheckFinding(rule: rule, message: fact + place + last), at: 0)
        } else if let (name, bytes) = [
            ("output", outcome.output), ("error", outcome.errors),
        ].first(where: { !$0.1.isEmpty }) {
            findings.append(
                CheckFinding(
                    rule: .noOutput,
                    message: "\(bytes.count) bytes on standard \(name): "
                        + (bytes.lastLine ?? "")))
        }
        self.init(
            test: test, seed: seed, duration: duration,
            findings: findings.filter { !$0.isWarning } + findings.filter(\.isWarning),
            skipReason: skipReason)
    }

    /// How the process ended, where that is not as it should be.
    private static func breach(
        _ outcome: CheckProcess.Outcome, hasEnded: Bool, limit: Duration
    ) -> (PluginRule, String)? {
        switch outcome.end {
        case .killed: (.callReturns, "it did not come to its end within \(limit)")
        case .signalled(let number):
            (.noCrash, "the process was ended by \(signalName(number))")
        case .exited(let code) where !hasEnded || code != 0:
            (.noExit, "the process was ended with the exit code \(code)")
        case .exited: nil
        case .notStarted(let reason): (.noExit, "the test could not be started: \(reason)")
        }
    }

    private static func signalName(_ number: Int32) -> String {
        let names: [Int32: String] = [
            SIGSEGV: "SIGSEGV", SIGBUS: "SIGBUS", SIGILL: "SIGILL", SIGFPE: "SIGFPE",
            SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGKILL: "SIGKILL", SIGTERM: "SIGTERM",
            SIGPIPE: "SIGPIPE", SIGSYS: "SIGSYS",
        ]
        return names[number] ?? "signal \(number)"
    }
}

extension [UInt8] {
    /// The last line as text, cut where it is long; `nil` when there is none.
    fileprivate var lastLine: String? {
        String(decoding: self, as: UTF8.self).lines.last.map {
            String(decoding: $0.utf8.prefix(300), as: UTF8.self)
        }
    }
}

/// Hands results on in their order, whichever comes first.
private final class ResultsInOrder: Sendable {
    private struct State {
        var waiting: [Int: CheckResult] = [:]
        var next = 0
    }
    private let state = Lock(State())
    private let report: @Sendable (CheckResult) -> Void

    init(_ report: @escaping @Sendable (CheckResult) -> Void) { self.report = report }

    func add(_ result: CheckResult, at index: Int) {
        // Under the lock: calls are not to overlap.
        state.withLock { state in
            state.waiting[index] = result
            while let next = state.waiting.removeValue(forKey: state.next) {
                report(next)
                state.next += 1
            }
        }
    }
}
