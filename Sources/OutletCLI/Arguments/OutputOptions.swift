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
    ///   - style: The colours of stdout.
    init(_ arguments: ParsedArguments, isTerminal: Bool, style: Style) throws(CommandError) {
        let asked = try OutputParts(arguments)
        isReport = arguments.isOn(.json)
        path = arguments.value(.output)
        guard path != "" else { throw .usage("--output: the file has no name") }
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
        formats = pretty == nil ? isTerminal : pretty == "all" || pretty == "format"
        self.style = style
    }
}
