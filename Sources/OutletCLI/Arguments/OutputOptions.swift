/// The options about which parts of an exchange are printed, and how.
struct OutputOptions: Sendable, Equatable {
    /// The parts printed to stdout; unused if ``isReport`` is `true`.
    var parts: OutputParts
    /// Whether stdout gets one JSON object instead of everything else (`--json`).
    var isReport: Bool
    /// The file to write the body to (`--output`); `nil` if there is none.
    var path: String?
    /// Whether JSON is indented.
    var formats: Bool
    /// Whether the command line asks for JSON output; a body that claims to be JSON but is not is
    /// then an error.
    var readsJSON: Bool
    /// The colours of stdout.
    var style: Style
    var showsSecrets: Bool
    /// Whether the body goes to stdout, not counting a report.
    var showsBody: Bool { path == nil && parts.contains(.responseBody) }
    /// Whether a status of 300 and above sets the exit code.
    var checksStatus: Bool

    /// Reads the options of a command line.
    ///
    /// - Parameters:
    ///   - arguments: The parsed command line.
    ///   - isTerminal: Whether stdout is a terminal.
    ///   - style: The colours of stdout.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if options contradict each other.
    init(_ arguments: ParsedArguments, isTerminal: Bool, style: Style) throws(CommandError) {
        let asked = try OutputParts(arguments)
        isReport = arguments.isOn(.json)
        let file = arguments.value(.output)
        path = file == "-" ? nil : file
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
