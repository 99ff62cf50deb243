import Glibc
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
    }

    private static let advice = "outlet plugins new --lang c NAME"

    /// Writes the project into a new folder; existing files are never changed.
    ///
    /// - Throws: ``CommandError`` if the folder exists or cannot be written.
    func run() throws -> ExitCode {
        try project.write(to: directory)
        var steps = "wrote \(TerminalText.visibleLine(directory)): \(project.id)\n"
        steps += "next: cd \(ShellWord.quoted(directory)) && make test\(settings)\n"
        try console.print(steps)
        return .ok
    }

    /// The variables of the Makefile that have to be set, because the SDK and the program are not
    /// where it looks for them.
    private var settings: String {
        var text = ""
        guard let program = Environment.program else { return text }
        if console.environment["OUTLET_SDK"]?.isEmpty != false, let sdk = Self.sdk(near: program) {
            text += " OUTLET_SDK=\(ShellWord.quoted(sdk))"
        }
        let folders = (console.environment["PATH"] ?? "").parts(separatedBy: ":")
        if !folders.contains(where: { access("\($0)/outlet", X_OK) == 0 }) {
            // Quoted twice: the Makefile inserts it into a command, where it may have options.
            text += " OUTLET=\(ShellWord.quoted(ShellWord.quoted(program)))"
        }
        return text
    }

    /// The folder PluginsSDK of the checkout that a program was built in; `nil` for other programs.
    private static func sdk(near program: String) -> String? {
        var folder = program
        for _ in 0..<5 {
            guard let parent = folder.cutAtLast("/")?.head else { return nil }
            folder = String(parent)
            if access("\(folder)/PluginsSDK/C/exports.map", R_OK) == 0 {
                return "\(folder)/PluginsSDK"
            }
        }
        return nil
    }
}
