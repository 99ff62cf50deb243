import FoundationEssentials
import Outlet

/// `outlet plugins call ID.FUNCTION --plugins DIR [--] [ARGUMENT…]`.
struct PluginsCallCommand {
    /// The function to call, as `ID.FUNCTION`.
    private let function: String
    private let values: [String]
    private let loading: PluginLoading
    private let isReport: Bool
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        isReport = arguments.isOn(.json)
        guard let function = arguments.operands.first else {
            throw .usage("plugins call: no function given", advice: Self.advice)
        }
        self.function = function
        values = Array(arguments.operands.dropFirst())
        loading = try PluginLoading(arguments, environment: console.environment)
        guard !loading.places.isEmpty else {
            throw .usage("plugins call \(function): no directory given", advice: Self.advice)
        }
    }

    private static let advice = "outlet plugins call ID.FUNCTION --plugins DIR [--] [ARGUMENT…]"

    /// Calls the function, and prints its result; a report is printed after the plugins have ended.
    ///
    /// - Throws: ``CommandError`` if a plugin cannot be used or the call fails; a report is printed
    ///   before. ``OutputError`` if stdout cannot be written.
    func run() throws -> ExitCode {
        let watcher = PluginWatcher(console: console, isVerbose: false)
        if isReport {
            ProcessEnd.setReport { [function] error in
                PluginReport.call(function, failure: error, watcher.violations)
            }
        }
        do {
            let host = try loading.loadForWork(observer: watcher, console: console)
            let outcome = Result {
                let value = try call(host)
                if !isReport { try print(value) }
                return value
            }
            // Also after an error, so that no plugin runs while the process ends.
            let end = PluginsEnd(of: host, console: console)
            let isGood = end.report(host.shutDownAndWait())
            let value = try outcome.get()
            if isReport {
                try console.show(
                    report: PluginReport.call(
                        function, value, without: host.unusable, watcher.violations))
            }
            return isGood ? .ok : .plugin
        } catch let error as CommandError {
            if isReport {
                try console.show(
                    report: PluginReport.call(function, failure: error, watcher.violations))
            }
            throw error
        }
    }

    private func call(_ host: PluginHost) throws(CommandError) -> PluginValue {
        do {
            return try host.call(function, parsing: values)
        } catch {
            throw CommandError(
                Self.exitCode(of: error), "\(error)", pluginCode: Self.pluginCode(of: error),
                unusablePlugins: host.unusable)
        }
    }

    private func print(_ value: PluginValue) throws(OutputError) {
        if case .bytes(let bytes) = value, !console.outputIsTerminal {
            try console.output.write(Data(bytes))
        } else if value != .nothing {
            try console.print("\(value)\n")
        }
    }

    private static func pluginCode(of error: PluginCallError) -> String {
        if case .failed(let failure) = error { failure.code } else { "" }
    }

    private static func exitCode(of error: PluginCallError) -> ExitCode {
        switch error {
        case .malformedName, .missingFunction, .unknownFunction, .wrongCount, .wrongType,
            .notAText:
            .usage
        case .unknownPlugin, .failed: .plugin
        }
    }
}
