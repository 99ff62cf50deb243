import Glibc
import OutletHTTP
public import OutletPluginHost
import OutletTransport

/// What a test has found, told by the child while it runs, a line each.
enum CheckLine: Sendable, Equatable {
    /// What the test does next.
    case step(String)
    /// A rule is broken.
    case finding(CheckFinding)
    /// There is nothing to test.
    case skipped(String)
    /// The test has come to its end.
    case ended

    /// The line of a report, without its end.
    func text(mark: String) -> String {
        let value: JSONValue =
            switch self {
            case .step(let text): ["step": .string(text)]
            case .finding(let finding):
                [
                    "rule": .string(finding.rule.rawValue), "message": .string(finding.message),
                    "warning": .bool(finding.isWarning),
                ]
            case .skipped(let reason): ["skipped": .string(reason)]
            case .ended: ["ended": true]
            }
        return "\(mark) \(value.text(.compact))"
    }

    /// Reads a line; `nil` for what is none of the report's.
    init?(_ line: Substring, mark: String) {
        guard line.startsWithBytes(of: "\(mark) "),
            let value = try? JSONValue(parsing: String(line.droppingBytes(mark.utf8.count + 1)))
        else { return nil }
        if let text = value["step"]?.stringValue {
            self = .step(text)
        } else if let reason = value["skipped"]?.stringValue {
            self = .skipped(reason)
        } else if let rule = value["rule"]?.stringValue.flatMap(PluginRule.init),
            let message = value["message"]?.stringValue
        {
            self = .finding(
                CheckFinding(
                    rule: rule, message: message, isWarning: value["warning"]?.boolValue ?? false))
        } else if value["ended"] != nil {
            self = .ended
        } else {
            return nil
        }
    }
}

/// A rule that a plugin breaks, and the fact that shows it.
public struct CheckFinding: Sendable, Equatable {
    /// The rule.
    public var rule: PluginRule
    /// The fact; it may hold text of the plugin's as that wrote it.
    public var message: String
    /// Whether it is no failure.
    public var isWarning = false

    init(rule: PluginRule, message: String, isWarning: Bool = false) {
        self.rule = rule
        self.message = message
        self.isWarning = isWarning
    }

    /// What to do about it.
    public var advice: String { rule.advice }
}

/// The child's end of its report.
///
/// Thread: any.
final class CheckReport: Sendable {
    private let descriptor: Int32
    private let mark: String
    private let reported = Lock([PluginRule: Bool]())

    /// The longest text of a line, in bytes.
    private static let longestText = 2000

    init(descriptor: Int32, mark: String) {
        self.descriptor = descriptor
        self.mark = mark
    }

    /// Says what comes next.
    func step(_ text: String) { write(.step(Self.cut(text))) }

    /// Reports a broken rule; of each rule the first time only.
    func find(_ rule: PluginRule, _ message: String, isWarning: Bool = false) {
        guard reported.withLock({ $0.updateValue(isWarning, forKey: rule) == nil }) else { return }
        write(
            .finding(CheckFinding(rule: rule, message: Self.cut(message), isWarning: isWarning)))
    }

    func skip(_ reason: String) { write(.skipped(Self.cut(reason))) }

    func end() { write(.ended) }

    /// Whether a rule was found broken.
    var hasFailed: Bool { reported.withLock { $0.values.contains(false) } }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= longestText
            ? text : String(decoding: text.utf8.prefix(longestText), as: UTF8.self)
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
