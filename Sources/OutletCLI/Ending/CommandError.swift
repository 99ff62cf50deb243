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
    ///
    /// The middle of a very long message is left out: it repeats what the user typed.
    public var description: String {
        let shown = Self.shortened(message)
        return "outlet: \(singleLine(advice.isEmpty ? shown : "\(shown) (\(advice))"))"
    }

    /// The number of bytes at each end of a message that are always shown.
    private static let shownEnd = 2000

    private static func shortened(_ message: String) -> String {
        let omitted = message.utf8.count - 2 * shownEnd
        guard omitted > 0 else { return message }
        // Without a part of a character.
        let end = message.utf8.suffix(shownEnd).drop { $0 & 0xC0 == 0x80 }
        return "\(message.shortened(toBytes: shownEnd)) (\(omitted) bytes) …\(Substring(end))"
    }
}

/// Replaces line ends and tabs by spaces, and other control characters by visible ones, such as `^[`.
///
/// The result is a single line without control sequences for a terminal.
func singleLine(_ text: String) -> String {
    let bytes = text.utf8.map { (0x09...0x0D).contains($0) ? 0x20 : $0 }
    return TerminalText.visibleLine(String(decoding: bytes, as: UTF8.self))
}
