import Glibc
import Outlet

/// The program's streams, and what each of them can show.
struct Console: Sendable {
    let output = OutputFile.standardOutput
    let errors = OutputFile.standardError
    let environment: [String: String]
    let outputIsTerminal: Bool
    let errorsAreTerminal: Bool
    let outputStyle: Style

    init(color: ColorChoice, environment: [String: String]) {
        self.environment = environment
        outputIsTerminal = isatty(output.descriptor) == 1
        errorsAreTerminal = isatty(STDERR_FILENO) == 1
        outputStyle = Style(
            isOn: color.isOn(isTerminal: outputIsTerminal, environment: environment))
    }

    /// Whether a line on stderr may be drawn over (`TERM=dumb` cannot).
    var canAnimate: Bool { errorsAreTerminal && environment["TERM"] != "dumb" }

    /// How wide the terminal of stderr is; 80 where that is not known.
    var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Writes an error's line; nothing can be done when that fails.
    func report(_ error: CommandError) { report(error.description) }

    /// Writes a line to stderr, with nothing in it that a terminal would obey; nothing can be done
    /// when that fails.
    func report(_ line: String) { try? errors.write(TerminalText.visibleLine(line) + "\n") }

    /// Writes to stdout a text that others have a part in: as it is, or with nothing in it that a
    /// terminal would obey if it is one.
    func print(_ text: String) throws(OutputError) {
        try output.write(outputIsTerminal ? TerminalText.visible(text) : text)
    }
}
