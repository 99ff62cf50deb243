import Outlet

/// `outlet plugins list DIR…`.
struct PluginsListCommand {
    private let loading: PluginLoading
    private let isReport: Bool
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        isReport = arguments.isOn(.json)
        loading = try PluginLoading(
            arguments, operands: arguments.operands, environment: console.environment)
        guard !loading.places.isEmpty else {
            throw .usage("plugins list: no directory given", advice: "outlet plugins list DIR")
        }
    }

    /// Prints all plugins with the data of their manifests; runs none of their code.
    ///
    /// - Returns: ``ExitCode/plugin`` if a plugin cannot be used or there is none.
    /// - Throws: ``CommandError`` if a place or its `plugins.json` cannot be used; a report is
    ///   printed before. ``OutputError`` if stdout cannot be written.
    func run() throws -> ExitCode {
        let inspection: PluginInspection
        do {
            inspection = try loading.inspect()
        } catch {
            if isReport {
                try console.show(report: PluginReport.list([], failures: [], error: error))
            }
            throw error
        }
        let plugins = inspection.files.flatMap(PluginFacts.all)
        let failures = inspection.failures + plugins.compactMap(\.settingsError)
        var absence: CommandError?
        if inspection.files.isEmpty, inspection.failures.isEmpty {
            let place = loading.places.joined(separator: ", ")
            absence = CommandError(.plugin, "\(place): no plugin: there is no .so file in it")
        }
        if isReport {
            try console.show(
                report: PluginReport.list(
                    plugins, failures: failures,
                    error: absence ?? failures.first.map { CommandError(unusable: $0) }))
        } else {
            try console.show(PluginText(style: console.outputStyle).list(plugins))
        }
        loading.report(inspection.warnings, console)
        for failure in failures { console.report(CommandError(unusable: failure)) }
        if let absence { console.report(absence) }
        return inspection.files.isEmpty || !failures.isEmpty ? .plugin : .ok
    }
}
