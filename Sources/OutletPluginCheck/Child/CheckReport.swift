import Glibc
import OutletHTTP
public import OutletPluginHost
import OutletTransport

/// One line of the report that a child writes while its test runs.
enum CheckLine: Sendable, Equatable {
    /// The test begins this step.
    case step(String)
    /// The plugin violates a rule.
    case finding(CheckFinding)
    /// The test does not apply, for this reason.
    case skipped(String)
    /// The test was made, but less exactly than it should be.
    case note(String)
    /// The test cannot be run, for this reason, which is no fault of the plugin.
    case notRun(String)
    /// The test ran to its end.
    case ended

    /// The line of the report without its newline.
    func text(mark: String) -> String {
        let value: JSONValue =
            switch self {
            case .step(let text): ["step": .string(text)]
            case .finding(let finding):
                [
                    "rule": .string(finding.rule.rawValue), "message": .string(finding.message),
                    "advice": .string(finding.advice), "warning": .bool(finding.isWarning),
                ]
            case .skipped(let reason): ["skipped": .string(reason)]
            case .note(let text): ["note": .string(text)]
            case .notRun(let reason): ["not-run": .string(reason)]
            case .ended: ["ended": true]
            }
        return "\(mark) \(value.text(.compact))"
    }

    /// Whether lines contain one of a step.
    static func hasStep(_ lines: ArraySlice<UInt8>) -> Bool {
        String(decoding: lines, as: UTF8.self).containsBytes(of: #" {"step":"#)
    }

    /// A report without the lines of steps before the last one: a test may have very many.
    ///
    /// - Parameter report: Lines; the last may be incomplete.
    static func withoutEarlierSteps(_ report: [UInt8]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        let lines = report.split(separator: newline, omittingEmptySubsequences: false)
        let last = lines.dropLast().lastIndex { hasStep($0) }
        return Array(
            lines.enumerated()
                .filter { $0 == last || $0 == lines.count - 1 || !hasStep($1) }
                .map(\.element).joined(separator: [newline]))
    }

    /// Parses a line; `nil` when it is not a line of the report.
    init?(_ line: Substring, mark: String) {
        guard line.startsWithBytes(of: "\(mark) "),
            let value = try? JSONValue(parsing: String(line.droppingBytes(mark.utf8.count + 1)))
        else { return nil }
        if let text = value["step"]?.stringValue {
            self = .step(text)
        } else if let reason = value["skipped"]?.stringValue {
            self = .skipped(reason)
        } else if let text = value["note"]?.stringValue {
            self = .note(text)
        } else if let reason = value["not-run"]?.stringValue {
            self = .notRun(reason)
        } else if let rule = value["rule"]?.stringValue.flatMap(PluginRule.init),
            let message = value["message"]?.stringValue
        {
            self = .finding(
                CheckFinding(
                    rule: rule, message: message, advice: value["advice"]?.stringValue,
                    isWarning: value["warning"]?.boolValue ?? false))
        } else if value["ended"] != nil {
            self = .ended
        } else {
            return nil
        }
    }
}

/// A violation of a rule by a plugin.
public struct CheckFinding: Sendable, Equatable {
    /// The rule that is violated.
    public var rule: PluginRule
    /// The observed violation; may contain unescaped text of the plugin.
    public var message: String
    /// How the plugin's author can correct it.
    public var advice: String
    /// Whether this is a warning, which does not fail the test.
    public var isWarning = false

    /// Creates a finding; without `advice`, it has that of the rule.
    init(rule: PluginRule, message: String, advice: String? = nil, isWarning: Bool = false) {
        self.rule = rule
        self.message = message
        self.advice = advice ?? rule.advice
        self.isWarning = isWarning
    }
}

/// Writes the report of a child process.
///
/// Thread: any.
final class CheckReport: Sendable {
    private let descriptor: Int32
    private let mark: String
    /// The rules that were reported, and whether only as a warning.
    private let reported = Lock([PluginRule: Bool]())
    /// The step that the test has begun last.
    private let lastStep = Lock("")

    /// The length after which texts are cut off, in bytes.
    private static let longestText = 2000

    init(descriptor: Int32, mark: String) {
        self.descriptor = descriptor
        self.mark = mark
    }

    /// Writes the step that the test is about to begin; a crash or hang is reported with it.
    func step(_ text: String) {
        lastStep.withLock { $0 = Self.cut(text) }
        repeatStep()
    }

    /// Writes the present step again: it takes long, but goes on.
    func repeatStep() { write(.step(lastStep.withLock { $0 })) }

    /// Writes a violation: the first one of each rule, and the first after a mere warning.
    ///
    /// - Parameters:
    ///   - rule: The rule.
    ///   - message: The observed violation, which names the plugin where it is known.
    ///   - advice: How to correct it; `nil` for the advice of the rule.
    ///   - isWarning: Whether this is only a warning.
    func find(
        _ rule: PluginRule, _ message: String, advice: String? = nil, isWarning: Bool = false
    ) {
        let isReported = reported.withLock { reported in
            if let isOnlyWarning = reported[rule], !isOnlyWarning || isWarning { return true }
            reported[rule] = isWarning
            return false
        }
        guard !isReported else { return }
        write(
            .finding(
                CheckFinding(
                    rule: rule, message: Self.cut(message), advice: advice, isWarning: isWarning)))
    }

    func skip(_ reason: String) { write(.skipped(Self.cut(reason))) }

    /// Writes in what way the test is less exact than it should be.
    func note(_ text: String) { write(.note(Self.cut(text))) }

    /// Reports that the test cannot be run, which is no fault of the plugin.
    func cannotRun(_ reason: String) { write(.notRun(Self.cut(reason))) }

    func end() { write(.ended) }

    /// Whether a violation was found that is not a warning.
    var hasFailed: Bool { reported.withLock { $0.values.contains(false) } }

    private static func cut(_ text: String) -> String {
        String(text.prefix(bytes: longestText))
    }

    private func write(_ line: CheckLine) {
        let bytes = Array((line.text(mark: mark) + "\n").utf8)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
