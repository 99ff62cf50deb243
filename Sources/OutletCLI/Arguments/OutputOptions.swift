/// What to print of an exchange, and how.
struct OutputOptions: Sendable, Equatable {
    /// The parts that go to stdout; not looked at for a report.
    var parts: OutputParts
    /// Whether one JSON object takes the place of everything else on stdout.
    var isReport: Bool
    /// The file that takes the body.
    var path: String?
    /// Whether JSON is laid out for people.
    var formats: Bool
    /// Whether the command line asks for JSON, so that what claims to be JSON has to be.
    var readsJSON: Bool
    /// The colours of stdout.
    var style: Style
    var showsSecrets: Bool
    /// Whether a status of 300 and above sets the exit code.
    var checksStatus: Bool

    /// - Parameters:
    ///   - isTerminal: Whether stdout is a terminal.
    ///   - style: The colours that stdout shall have.
    init(_ arguments: ParsedArguments, isTerminal: Bool, style: Style) throws(CommandError) {
        let asked = try OutputParts(arguments)
        isReport = arguments.isOn(.json)
        path = arguments.value(.output)
        showsSecrets = arguments.isOn(.showSecrets)
        checksStatus = arguments.isOn(.checkStatus)
        if isReport, asked != nil {
            throw .usage("--json: prints all there is: leave out -v, -h, -b and --print")
        }
        parts = asked ?? (isTerminal ? [.responseHead, .responseBody] : .responseBody)
        if arguments.isOn(.quiet) {
            if isReport { throw .usage("--quiet: contradicts --json") }
            parts = []
        }
        let pretty = arguments.value(.pretty)
        readsJSON = isReport || pretty == "all" || pretty == "format"
        switch pretty {
        case "all":
            formats = true
            self.style = arguments.value(.color) == "never" ? .plain : Style(isOn: true)
        case "colors":
            formats = false
            self.style = arguments.value(.color) == "never" ? .plain : Style(isOn: true)
        case "format":
            formats = true
            self.style = .plain
        case "none":
            formats = false
            self.style = .plain
        default:
            formats = isTerminal
            self.style = style
        }
    }
}
