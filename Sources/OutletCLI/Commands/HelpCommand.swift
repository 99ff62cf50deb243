import Outlet

/// `outlet --help`, `outlet help VERB`.
struct HelpCommand {
    let arguments: ParsedArguments
    let console: Console

    func run() throws -> ExitCode {
        let style = console.outputStyle
        let name = arguments.operands.joined(separator: " ")
        let isOpen = arguments.verb == .help || arguments.verb == .request
        if isOpen, let list = Help.list(of: name, style: style) {
            try console.output.write(list)
        } else {
            try console.output.write(Help.text(for: try subject(), style: style))
        }
        return .ok
    }

    /// Returns the verb to explain; `nil` for the overview.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if there is no such verb.
    private func subject() throws(CommandError) -> Verb? {
        guard arguments.verb == .help else {
            return arguments.verb == .request ? nil : arguments.verb
        }
        guard !arguments.operands.isEmpty else { return nil }
        let name = arguments.operands.joined(separator: " ")
        if let verb = Verb(rawValue: name) { return verb }
        let nearest = Suggestion.nearest(to: name, among: Verb.allCases.map(\.rawValue))
        throw .usage(
            "help \(name): no such verb",
            advice: nearest.map { "did you mean '\($0)'?" }
                ?? "there are \(Verb.allCases.map(\.rawValue).joined(separator: ", "))")
    }
}
