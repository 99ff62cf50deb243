import Glibc
import Outlet

/// The program's output streams and their capabilities.
struct Console: Sendable {
    let output = OutputFile.standardOutput
    let errors = OutputFile.standardError
    let environment: [String: String]
    let outputIsTerminal: Bool
    let errorsAreTerminal: Bool
    let outputStyle: Style
    /// Whether only errors are printed.
    let isQuiet: Bool

    init(color: ColorChoice, environment: [String: String], isQuiet: Bool = false) {
        self.environment = environment
        self.isQuiet = isQuiet
        outputIsTerminal = isatty(output.descriptor) == 1
        errorsAreTerminal = isatty(errors.descriptor) == 1
        outputStyle = Style(
            isOn: color.isOn(isTerminal: outputIsTerminal, environment: environment))
    }

    /// Whether stderr is a terminal on which a line can be redrawn (not with `TERM=dumb`).
    var canAnimate: Bool { errorsAreTerminal && environment["TERM"] != "dumb" }

    /// Whether what is sent and received is logged to stderr.
    var logsWire: Bool { !["", "0"].contains(environment["OUTLET_DEBUG"] ?? "") }

    /// The width of the terminal of stderr in columns; 80 if it is unknown.
    var columns: Int {
        var size = winsize()
        guard ioctl(errors.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return 80
        }
        return Int(size.ws_col)
    }

    /// Writes the line of an error to stderr.
    func report(_ error: CommandError) {
        ProcessEnd.didReport(error)
        report(error.description)
    }

    /// Writes a line to stderr, without control sequences.
    ///
    /// A failure is ignored, because there is no other place to report it.
    func report(_ line: String) {
        StatusLine.interrupt { try? errors.write(TerminalText.visibleLine(line) + "\n") }
    }

    /// Writes a line to stderr that is no error, unless only errors are printed.
    func note(_ line: String) {
        if !isQuiet { report(line) }
    }

    /// Writes a text to stdout that may contain data from servers or plugins.
    ///
    /// If stdout is a terminal, control sequences in the text are made visible instead.
    ///
    /// - Throws: ``OutputError`` if stdout cannot be written.
    func print(_ text: String) throws(OutputError) {
        try output.write(outputIsTerminal ? TerminalText.visible(text) : text)
    }

    /// Writes the result of a command to stdout.
    ///
    /// A reader that has closed stdout, as `head` does, has no influence on what the command does and
    /// on its exit code.
    ///
    /// - Throws: ``OutputError/failed(name:reason:advice:)`` if stdout cannot be written.
    func show(_ text: String) throws(OutputError) {
        do throws(OutputError) {
            try output.write(text)
        } catch {
            guard error == .closed else { throw error }
        }
    }

    /// Writes a report to stdout as ``show(_:)``, indented if that is a terminal, else on one line.
    ///
    /// - Throws: ``OutputError/failed(name:reason:advice:)`` if stdout cannot be written.
    func show(report: JSONValue) throws(OutputError) {
        ProcessEnd.takeReport()
        let text = report.text(outputIsTerminal ? .pretty : .compact) + "\n"
        try show(outputIsTerminal ? TerminalText.visible(text) : text)
    }
}
