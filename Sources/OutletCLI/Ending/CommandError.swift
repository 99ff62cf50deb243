import Outlet

/// The error of a failed command: a line to print and an exit code.
public struct CommandError: Error, Sendable, Equatable {
    /// The exit code of the process.
    public let exitCode: ExitCode
    /// What failed, in the form `subject: problem: detail`, without secrets.
    public let message: String
    /// How to fix it; empty if there is no advice.
    public internal(set) var advice: String
    /// The stable error code of the plugin that failed, such as `token-expired`; empty for none.
    let pluginCode: String
    /// The plugins that cannot be used; if that is the error, the message names the last required one.
    let unusablePlugins: [PluginLoadError]

    init(
        _ exitCode: ExitCode, _ message: String, advice: String = "", pluginCode: String = "",
        unusablePlugins: [PluginLoadError] = []
    ) {
        self.exitCode = exitCode
        self.message = message
        self.advice = advice
        self.pluginCode = pluginCode
        self.unusablePlugins = unusablePlugins
    }

    /// Makes the error of a wrong command line.
    static func usage(_ message: String, advice: String = "see 'outlet --help'") -> CommandError {
        CommandError(.usage, message, advice: advice)
    }
}

extension CommandError: CustomStringConvertible {
    /// The line to print to stderr, without a line break.
    public var description: String {
        let text = advice.isEmpty ? message : "\(message) (\(advice))"
        return "outlet: \(singleLine(text))"
    }
}

/// Replaces control characters by spaces.
///
/// The result is a single line without control sequences for a terminal.
func singleLine(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        line.unicodeScalars.append(isControl ? " " : scalar)
    }
    return TerminalText.visibleLine(line)
}
