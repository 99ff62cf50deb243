import Outlet

/// Why the program ends without doing what was asked: one line for people, one code for scripts.
public struct CommandError: Error, Sendable, Equatable {
    /// What the shell gets.
    public let exitCode: ExitCode
    /// `thing: what is wrong: fact`, without secrets.
    public let message: String
    /// What to do about it; empty when there is nothing to say.
    public let advice: String

    init(_ exitCode: ExitCode, _ message: String, advice: String = "") {
        self.exitCode = exitCode
        self.message = message
        self.advice = advice
    }

    /// A command line that cannot be understood.
    static func usage(_ message: String, advice: String = "see 'outlet --help'") -> CommandError {
        CommandError(.usage, message, advice: advice)
    }
}

extension CommandError: CustomStringConvertible {
    /// The line for stderr, without its end.
    public var description: String {
        let text = advice.isEmpty ? message : "\(message) (\(advice))"
        return "outlet: \(singleLine(text))"
    }
}

/// A text on one line, with nothing in it that a terminal would obey: control characters are spaces.
func singleLine(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        line.unicodeScalars.append(isControl ? " " : scalar)
    }
    return TerminalText.visibleLine(line)
}
