import FoundationEssentials
import Outlet

/// `outlet plugins call ID.FUNCTION --plugins DIR [--] [ARGUMENT…]`.
struct PluginsCallCommand {
    /// The function to call, as `ID.FUNCTION`.
    let function: String
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

    /// Calls the function, and prints its result.
    ///
    /// - Throws: ``CommandError`` if a plugin cannot be used or the call fails; a report is printed
    ///   before. ``OutputError`` if stdout cannot be written.
    func run() throws -> ExitCode {
        do {
            return try call()
        } catch let error as CommandError {
            if isReport {
                try console.print(report: PluginReport.call(function, failure: error))
            }
            throw error
        }
    }

    private func call() throws -> ExitCode {
        let host = try loading.loadForWork(
            observer: PluginWatcher(console: console, isVerbose: false), console: console)
        let outcome = Result { try printResult(of: host) }
        // Also after an error, so that no plugin runs while the process ends.
        let end = PluginsEnd(of: host, console: console)
        let isGood = end.report(host.shutDownAndWait())
        try outcome.get()
        return isGood ? .ok : .plugin
    }

    private func printResult(of host: PluginHost) throws {
        do {
            let value = try host.call(function, parsing: values)
            if isReport {
                try console.print(
                    report: PluginReport.call(function, value, without: host.unusable))
            } else if case .bytes(let bytes) = value, !console.outputIsTerminal {
                try console.output.write(Data(bytes))
            } else if value != .nothing {
                try console.print("\(value)\n")
            }
        } catch let error as PluginCallError {
            throw CommandError(
                Self.exitCode(of: error), "\(error)", pluginCode: Self.pluginCode(of: error),
                unusablePlugins: host.unusable)
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
