import FoundationEssentials
import Outlet
import OutletPluginCheck
import OutletTransport

/// `outlet plugins check FILE`.
struct PluginsCheckCommand {
    private let check: PluginCheck
    private let isReport: Bool
    private let console: Console
    /// The options that the results depend on, as words of a shell.
    private let repeated: String

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        isReport = arguments.isOn(.json)
        guard arguments.operands.count == 1, let file = arguments.operands.first, !file.isEmpty
        else { throw .usage("plugins check: one file is wanted", advice: Self.advice) }
        var check = PluginCheck(file: file, seed: try Self.seed(arguments))
        check.tests = try Self.tests(arguments)
        check.configuration =
            try PluginLoading(arguments, environment: console.environment).configurationTexts
        if let seconds = try SessionOptions.timeout(arguments) { check.limit = .seconds(seconds) }
        self.check = check
        repeated = Self.repeated(arguments)
    }

    /// The options of the command line that have to be given again to repeat a test; configurations
    /// are left out, since they may contain secrets.
    private static func repeated(_ arguments: ParsedArguments) -> String {
        let configurations = arguments.values(.pluginConfig).map { value in
            let parts = value.parts(separatedBy: "=", maxSplits: 1)
            let isFile = parts.last?.startsWithBytes(of: "@") == true
            return "--plugin-config "
                + ShellWord.quoted(isFile ? value : "\(parts.first ?? "")=…")
        }
        let limit = arguments.value(.timeout).map { ["--timeout \(ShellWord.quoted($0))"] } ?? []
        return (configurations + limit).map { " " + TerminalText.visibleLine($0) }.joined()
    }

    private static let advice = "outlet plugins check FILE"

    private static func seed(_ arguments: ParsedArguments) throws(CommandError) -> UInt64 {
        // Few digits, because a user may have to type it again.
        guard let text = arguments.value(.seed) else { return .random(in: 0..<1_000_000) }
        guard let seed = UInt64(text) else {
            throw .usage("--seed: \(text): not a whole number from 0 to \(UInt64.max)")
        }
        return seed
    }

    private static func tests(_ arguments: ParsedArguments) throws(CommandError) -> [CheckTest] {
        var wanted: Set<CheckTest> = []
        for word in arguments.values(.only) {
            guard let tests = CheckTest.named(word) else {
                let names = CheckTest.allCases.map(\.rawValue) + PluginRule.allCases.map(\.rawValue)
                let nearest = Suggestion.nearest(to: word, among: names)
                throw .usage(
                    "--only: \(word): neither a rule nor a test",
                    advice: nearest.map { "did you mean '\($0)'?" } ?? "see PluginsSDK/ABI.md")
            }
            wanted.formUnion(tests)
        }
        return CheckTest.allCases.filter { wanted.isEmpty || wanted.contains($0) }
    }

    /// Runs the tests and prints their results; ``ExitCode/plugin`` if one of them fails, otherwise
    /// ``ExitCode/failure`` if one could not be started.
    ///
    /// Ends the process with ``ExitCode/timeout`` if a result cannot be written within the time limit
    /// of a test.
    ///
    /// - Throws: ``CommandError`` if the file cannot be read; a report is printed before.
    ///   ``OutputError`` if stdout cannot be written.
    func run() throws -> ExitCode {
        ProcessEnd.setEndingWork { PluginCheck.endAll() }
        ProcessEnd.endIfUnread(
            console, after: check.limit,
            with: CommandError(
                .timeout, "plugins check: no result written within \(check.limit)",
                advice: "--timeout allows more"))
        let text = PluginCheckText(style: console.outputStyle, repeated: repeated)
        guard FileManager.default.isReadableFile(atPath: check.file) else {
            let error = CommandError(.noInput, "\(check.file): no such file, or not readable")
            if isReport { try console.show(report: text.report([], of: check, error: error)) }
            throw error
        }
        let (console, isReport) = (console, isReport)
        let results = Results()
        if isReport {
            ProcessEnd.setReport { [check] error in
                text.report(results.list.withLock { $0 }, of: check, error: error)
            }
        }
        check.run { result in
            results.list.withLock { $0.append(result) }
            // An error of stdout is thrown below, by the write of the summary.
            if !isReport { try? console.show(text.result(result)) }
        }
        let list = results.list.withLock { $0 }
        if isReport {
            try console.show(report: text.report(list, of: check))
        } else {
            try console.show(text.summary(list, of: check))
        }
        if list.contains(where: { $0.verdict == .failed }) { return .plugin }
        return list.contains { $0.verdict == .notRun } ? .failure : .ok
    }
}

/// The results so far.
private final class Results: Sendable {
    let list = Lock<[CheckResult]>([])
}

/// Formats the results as text and as JSON of the schema `outlet.check/1`.
struct PluginCheckText {
    let style: Style
    /// The options that repeat a test, beside seed and test, each with a space before it.
    let repeated: String

    /// Returns a line for a test, two for each broken rule that it has found, and one for each note.
    func result(_ result: CheckResult) -> String {
        let word =
            switch result.verdict {
            case .passed: style.green("passed ")
            case .failed: style.red("FAILED ")
            case .skipped: style.dim("skipped")
            case .notRun: style.red("not-run")
            }
        let reason = result.startFault.map { "cannot be started: \($0)" } ?? result.skipReason
        let fact = reason.map(TerminalText.visibleLine) ?? duration(result.duration)
        var text = "\(word)  \(padded(result.test.rawValue, to: 16))\(style.dim(fact))\n"
        for finding in result.findings {
            let rule = finding.rule.rawValue
            text += "         "
            text += finding.isWarning ? style.yellow("warning, \(rule)") : style.red(rule)
            text += ": \(TerminalText.visibleLine(finding.message))\n"
            text += "         \(style.dim("to do: \(finding.advice)"))\n"
        }
        for note in result.notes {
            text += "         \(style.yellow("note")): \(TerminalText.visibleLine(note))\n"
        }
        return text
    }

    /// Returns the number of results by verdict, and how to repeat the first failed test.
    func summary(_ results: [CheckResult], of check: PluginCheck) -> String {
        let notRun = results.contains { $0.verdict == .notRun } ? [CheckResult.Verdict.notRun] : []
        let counts = ([.passed, .failed, .skipped] + notRun).map { verdict in
            "\(results.count { $0.verdict == verdict }) \(verdict.rawValue)"
        }
        var text = "\n\(counts.joined(separator: ", ")); seed \(check.seed)\n"
        if let first = results.first(where: { $0.verdict == .failed }) {
            text +=
                "again: outlet plugins check \(TerminalText.visibleLine(ShellWord.quoted(check.file))) "
                + "--seed \(check.seed) --only \(first.test.rawValue)\(repeated)\n"
        }
        return text
    }

    /// Returns all results as JSON.
    ///
    /// - Parameter error: The error of the command; `nil` if it could check the file.
    func report(
        _ results: [CheckResult], of check: PluginCheck, error: CommandError? = nil
    ) -> JSONValue {
        [
            "schema": "outlet.check/1", "file": .string(check.file),
            "seed": .string("\(check.seed)"),
            "passed": .bool(
                error == nil && results.allSatisfy { ![.failed, .notRun].contains($0.verdict) }),
            "tests": .array(results.map(Self.report)), "error": PluginReport.report(of: error),
        ]
    }

    private static func report(_ result: CheckResult) -> JSONValue {
        let first = result.findings.first
        let message = first?.message ?? result.startFault ?? result.skipReason
        return [
            "test": .string(result.test.rawValue), "verdict": .string(result.verdict.rawValue),
            "rule": first.map { .string($0.rule.rawValue) } ?? nil,
            "message": message.map { .string(TerminalText.visibleLine($0)) } ?? nil,
            "seed": .string("\(result.seed)"),
            "duration_ms": .int(Int64(result.duration / .milliseconds(1))),
            "findings": .array(
                result.findings.map { finding in
                    [
                        "rule": .string(finding.rule.rawValue),
                        "message": .string(TerminalText.visibleLine(finding.message)),
                        "advice": .string(finding.advice),
                        "warning": .bool(finding.isWarning),
                    ]
                }),
            "notes": .array(result.notes.map { .string(TerminalText.visibleLine($0)) }),
        ]
    }

    private func duration(_ duration: Duration) -> String {
        Quantity.duration(Int64(duration / .microseconds(1)))
    }
}
