import FoundationEssentials
import Outlet

/// `outlet plugins inspect FILE`, `outlet plugins inspect ID --plugins DIR`.
struct PluginsInspectCommand {
    private let subject: String
    private let loading: PluginLoading
    private let isReport: Bool
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        isReport = arguments.isOn(.json)
        guard arguments.operands.count == 1 else {
            throw .usage("plugins inspect: one file or id is wanted", advice: Self.advice)
        }
        subject = arguments.operands[0]
        let isFile = subject.containsByte("/") || subject.endsWithBytes(of: ".so")
        loading = try PluginLoading(
            arguments, operands: isFile ? [subject] : [], environment: console.environment)
        guard isFile || !loading.places.isEmpty else {
            throw .usage("plugins inspect \(subject): no directory given", advice: Self.advice)
        }
        guard !isFile || FileManager.default.fileExists(atPath: subject) else {
            throw CommandError(.noInput, "\(subject): no such file")
        }
    }

    private static let advice = "outlet plugins inspect FILE, or ID --plugins DIR"

    func run() throws -> ExitCode {
        let host = try loading.loadUsable(
            observer: PluginWatcher(console: console, isVerbose: false), console: console)
        let plugins = host.plugins.filter { $0.id == subject || isOfFile($0) }
        guard !plugins.isEmpty else {
            throw CommandError(
                .plugin, "\(subject): no such plugin",
                advice: "there is \(host.plugins.map(\.id).joined(separator: ", "))")
        }
        for plugin in plugins {
            if isReport {
                let format: JSONFormat = console.outputIsTerminal ? .pretty : .compact
                try console.print(PluginReport.plugin(plugin).text(format) + "\n")
            } else {
                try console.output.write(PluginText(style: console.outputStyle).page(plugin))
            }
        }
        console.report(abandoned: host.shutDownAndWait())
        return .ok
    }

    /// Several plugins may come from one file.
    private func isOfFile(_ plugin: LoadedPlugin) -> Bool {
        guard subject.endsWithBytes(of: ".so"), let name = subject.parts(separatedBy: "/").last,
            let own = plugin.path.parts(separatedBy: "/").last
        else { return false }
        return own.hasSameBytes(as: name)
    }
}
