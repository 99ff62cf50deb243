import Outlet

/// `outlet plugins config [--run] [ID] --plugins DIR`.
struct PluginsConfigCommand {
    /// The plugin to check; `nil` for all plugins.
    private let id: String?
    private let loading: PluginLoading
    private let runsCode: Bool
    private let isReport: Bool
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        runsCode = arguments.isOn(.run)
        isReport = arguments.isOn(.json)
        guard arguments.operands.count <= 1 else {
            throw .usage("plugins config: one id at most", advice: Self.advice)
        }
        id = arguments.operands.first
        loading = try PluginLoading(arguments, environment: console.environment)
        guard !loading.places.isEmpty else {
            throw .usage("plugins config: no directory given", advice: Self.advice)
        }
    }

    private static let advice = "outlet plugins config [ID] --plugins DIR"

    /// Prints a line for each plugin with valid settings, or a report, and errors to stderr.
    ///
    /// - Returns: ``ExitCode/plugin`` if there was an error.
    /// - Throws: ``CommandError`` if a place or its `plugins.json` cannot be used or there is no
    ///   such plugin; a report is printed before. ``OutputError`` if stdout cannot be written.
    func run() throws -> ExitCode {
        if isReport {
            ProcessEnd.setReport { PluginReport.settings(of: [], failures: [], error: $0) }
        }
        let inspection: PluginInspection
        do {
            inspection = try loading.inspect()
        } catch {
            try report([], failures: [], error)
            throw error
        }
        var errors = inspection.failures
        loading.report(inspection.warnings, console)
        if runsCode {
            PluginOutput.begin()
        }
        var isShown = false
        var valid: [PluginFacts] = []
        for file in inspection.files {
            do {
                for facts in try facts(of: file) where id == nil || facts.id == id {
                    isShown = true
                    let objections = try facts.objections()
                    errors += objections
                    guard objections.isEmpty else { continue }
                    valid.append(facts)
                    if !isReport { try show(facts) }
                }
            } catch let error as PluginLoadError {
                errors.append(error)
            }
        }
        let absence = isShown ? nil : id.map { CommandError(.plugin, "\($0): no such plugin") }
        try report(
            valid, failures: errors, absence ?? errors.first.map { CommandError(unusable: $0) })
        for error in errors { console.report(CommandError(unusable: error)) }
        if let absence { throw absence }
        return errors.isEmpty ? .ok : .plugin
    }

    /// Prints the report if one was asked for.
    private func report(
        _ valid: [PluginFacts], failures: [PluginLoadError], _ error: CommandError?
    ) throws(OutputError) {
        guard isReport else { return }
        try console.show(
            report: PluginReport.settings(of: valid, failures: failures, error: error))
    }

    private func facts(of file: InspectedFile) throws(PluginLoadError) -> [PluginFacts] {
        let isWanted = id == nil || file.manifests.contains { $0.id == id }
        return runsCode && (isWanted || file.manifests.isEmpty)
            ? try PluginFacts.all(askingCodeOf: file, console: console)
            : PluginFacts.all(of: file)
    }

    private func show(_ facts: PluginFacts) throws {
        let what =
            facts.code == nil
            ? "settings can be read; --run asks the code for its schema"
            : "settings fit"
                + (facts.code?.configurationSchema.isEmpty == true ? "; no schema" : "")
        try console.show(
            "\(TerminalText.visibleLine(facts.id ?? facts.file.path)): \(what)\n")
    }
}
