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
    /// - Throws: ``CommandError`` if a place cannot be read; ``OutputError`` if stdout cannot be
    ///   written.
    func run() throws -> ExitCode {
        let inspection = try loading.inspect()
        let plugins = inspection.files.flatMap(PluginFacts.all)
        if isReport {
            let report = PluginReport.list(plugins, failures: inspection.failures)
            try console.print(report.text(console.outputIsTerminal ? .pretty : .compact) + "\n")
        } else {
            try console.output.write(PluginText(style: console.outputStyle).list(plugins))
        }
        loading.report(inspection.warnings, console)
        for failure in inspection.failures { console.report(CommandError(unusable: failure)) }
        if inspection.files.isEmpty, inspection.failures.isEmpty {
            let place = loading.places.joined(separator: ", ")
            console.report(
                CommandError(.plugin, "\(place): no plugin: there is no .so file in it"))
        }
        return inspection.files.isEmpty || !inspection.failures.isEmpty ? .plugin : .ok
    }
}
