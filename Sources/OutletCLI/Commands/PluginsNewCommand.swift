import Outlet

/// `outlet plugins new --lang LANGUAGE NAME`.
struct PluginsNewCommand {
    private let project: PluginProject
    private let directory: String
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        self.console = console
        guard arguments.operands.count == 1, let name = arguments.operands.first else {
            throw .usage("plugins new: one name is wanted", advice: Self.advice)
        }
        guard let language = arguments.value(.lang).flatMap(PluginProject.Language.init) else {
            throw .usage("plugins new \(name): no language given", advice: Self.advice)
        }
        guard let project = PluginProject(name: name, language: language) else {
            throw .usage(
                "plugins new: \(name): neither a name nor an id: lower-case letters, digits, '-', and "
                    + "'.' between the parts of an id, 64 bytes at most; each part begins with a letter",
                advice: "such as 'stamp' or 'com.example.stamp'")
        }
        self.project = project
        directory = arguments.value(.directory) ?? project.name
        guard !directory.isEmpty else { throw .usage("--directory: the name is empty") }
    }

    private static let advice = "outlet plugins new --lang c NAME"

    /// Writes the project into a new folder; existing files are never changed.
    ///
    /// - Throws: ``CommandError`` if the folder exists or cannot be written.
    func run() throws -> ExitCode {
        try project.write(to: directory)
        var steps = "wrote \(TerminalText.visibleLine(directory)): \(project.id)\n"
        steps += "next: cd \(TerminalText.visibleLine(directory)) && make test\n"
        try console.print(steps)
        return .ok
    }
}
