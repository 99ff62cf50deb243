import FoundationEssentials
import Outlet

/// `outlet plugins inspect [--run] FILE`, `outlet plugins inspect [--run] ID --plugins DIR`.
struct PluginsInspectCommand {
    private let subject: String
    private let isFile: Bool
    private let loading: PluginLoading
    private let runsCode: Bool
    private let isReport: Bool
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        runsCode = arguments.isOn(.run)
        isReport = arguments.isOn(.json)
        guard arguments.operands.count == 1 else {
            throw .usage("plugins inspect: one file or id is wanted", advice: Self.advice)
        }
        subject = arguments.operands[0]
        isFile = subject.containsByte("/") || subject.endsWithBytes(of: ".so")
        loading = try PluginLoading(
            arguments, operands: isFile ? [subject] : [], environment: console.environment)
        guard isFile || !loading.places.isEmpty else {
            throw .usage("plugins inspect \(subject): no directory given", advice: Self.advice)
        }
    }

    private static let advice = "outlet plugins inspect FILE, or ID --plugins DIR"

    /// Prints the plugin, or all plugins of the file.
    ///
    /// - Throws: ``CommandError`` if a place or its `plugins.json` cannot be used or there is no
    ///   such plugin; a report is printed before. ``OutputError`` if stdout cannot be written.
    func run() throws -> ExitCode {
        let report: @Sendable (CommandError) -> JSONValue = { [isFile, subject] error in
            PluginReport.plugin(
                id: isFile ? nil : subject, file: isFile ? subject : nil, failure: error)
        }
        if isReport { ProcessEnd.setReport(report) }
        do {
            return try inspect()
        } catch let error as CommandError {
            if isReport { try console.show(report: report(error)) }
            throw error
        }
    }

    private func inspect() throws -> ExitCode {
        guard !isFile || FileManager.default.fileExists(atPath: subject) else {
            throw CommandError(.noInput, "\(subject): no such file")
        }
        let inspection = try loading.inspect()
        var failures = inspection.failures
        var known: [String] = []
        var isShown = false
        var wrong: [PluginLoadError] = []
        if runsCode {
            PluginOutput.begin()
        }
        for file in inspection.files {
            let isNamed = isOfFile(file.path)
            let isWanted = isNamed || file.manifests.contains { $0.id == subject }
            var facts = PluginFacts.all(of: file)
            // Only the code of a file without a manifest tells whether it contains the plugin.
            if runsCode, isWanted || file.manifests.isEmpty {
                do {
                    facts = try PluginFacts.all(askingCodeOf: file, console: console)
                } catch {
                    failures.append(error)
                    continue
                }
            }
            known += facts.compactMap(\.id)
            for facts in facts where isNamed || facts.id == subject {
                isShown = true
                try show(facts)
                if let error = facts.settingsError { wrong.append(error) }
            }
        }
        guard isShown else { throw absence(known: known, failures: failures) }
        loading.report(inspection.warnings, console)
        for failure in failures + wrong { console.report(CommandError(unusable: failure)) }
        return wrong.isEmpty ? .ok : .plugin
    }

    private func show(_ facts: PluginFacts) throws(OutputError) {
        if isReport {
            try console.show(report: PluginReport.plugin(facts))
        } else {
            try console.show(PluginText(style: console.outputStyle).page(facts))
        }
    }

    /// Returns the error if no plugin was found.
    private func absence(known: [String], failures: [PluginLoadError]) -> CommandError {
        if isFile || known.isEmpty, let first = failures.first {
            let others = failures.count - 1
            return CommandError(
                .plugin, "no usable plugin: \(TerminalText.visibleLine("\(first)"))",
                advice: others == 0 ? "" : "and \(others) more: see 'outlet plugins list'")
        }
        for failure in failures { console.report(CommandError(unusable: failure)) }
        let there = known.isEmpty ? [] : ["there is \(known.joined(separator: ", "))"]
        let more = runsCode ? [] : ["--run asks the code of files without a manifest"]
        return CommandError(
            .plugin, "\(subject): no such plugin",
            advice: (there + more).joined(separator: "; "))
    }

    /// Whether the file at `path` has the name that the command line gives.
    ///
    /// All plugins of that file are shown.
    private func isOfFile(_ path: String) -> Bool {
        guard isFile, let name = subject.parts(separatedBy: "/").last,
            let own = path.parts(separatedBy: "/").last
        else { return false }
        return own.hasSameBytes(as: name)
    }
}
