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

    /// Prints all plugins; ``ExitCode/plugin`` when none can be used.
    func run() throws -> ExitCode {
        let host = try loading.load(
            observer: PluginWatcher(console: console, isVerbose: false))
        if isReport {
            let text = PluginReport.list(host).text(console.outputIsTerminal ? .pretty : .compact)
            try console.print(text + "\n")
        } else {
            try console.output.write(
                PluginText(style: console.outputStyle).list(host.plugins))
        }
        for failure in host.failures { console.report(CommandError(unusable: failure)) }
        if host.plugins.isEmpty, host.failures.isEmpty {
            let place = loading.places.joined(separator: ", ")
            console.report(
                CommandError(.plugin, "\(place): no plugin: there is no .so file in it"))
        }
        console.report(abandoned: host.shutDownAndWait())
        return host.plugins.isEmpty ? .plugin : .ok
    }
}
