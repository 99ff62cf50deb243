/// The program `outlet` as a function.
public enum CommandLineTool {
    /// Runs a command line to its end.
    ///
    /// - Parameter arguments: With the program's name in front.
    /// - Returns: What the shell gets; ``ExitCode`` explains it.
    ///
    /// Thread: the main one, once per process: signals, limits and standard streams are set up.
    public static func run(arguments: [String]) -> Int32 {
        ProcessSetup.prepare()
        let environment = Environment.current
        var console = Console(color: .auto, environment: environment)
        do {
            let parsed = try ArgumentParser.parse(Array(arguments.dropFirst()))
            let color = parsed.value(.color).flatMap(ColorChoice.init) ?? .auto
            console = Console(color: color, environment: environment)
            return try run(parsed, console).rawValue
        } catch let error as CommandError {
            console.report(error)
            return error.exitCode.rawValue
        } catch OutputError.closed {
            // Whoever read the output has seen enough.
            return ExitCode.ok.rawValue
        } catch OutputError.failed(let name, let reason) {
            console.report(CommandError(.failure, "\(name): cannot be written: \(reason)"))
            return ExitCode.failure.rawValue
        } catch {
            console.report(CommandError(.failure, "\(error)"))
            return ExitCode.failure.rawValue
        }
    }

    private static func run(
        _ arguments: ParsedArguments, _ console: Console
    ) throws -> ExitCode {
        if arguments.isOn(.version) { return try VersionCommand(console: console).run() }
        if let kind = arguments.value(.generate) {
            try console.output.write(generated(kind))
            return .ok
        }
        if arguments.isOn(.help) {
            return try HelpCommand(arguments: arguments, console: console).run()
        }
        switch arguments.verb {
        case .request:
            let command = try RequestCommand(arguments: arguments, console: console)
            return Interruption.run(console, command.run)
        case .pluginsList:
            let command = try PluginsListCommand(arguments: arguments, console: console)
            return try Interruption.run(console, blocking: command.run)
        case .pluginsInspect:
            let command = try PluginsInspectCommand(arguments: arguments, console: console)
            return try Interruption.run(console, blocking: command.run)
        case .pluginsCall:
            let command = try PluginsCallCommand(arguments: arguments, console: console)
            return try Interruption.run(console, blocking: command.run)
        case .demo:
            let command = try DemoCommand(arguments: arguments, console: console)
            return Interruption.run(console, command.run)
        case .help: return try HelpCommand(arguments: arguments, console: console).run()
        }
    }

    private static func generated(_ kind: String) -> String {
        switch kind {
        case "bash": Completions.bash
        case "zsh": Completions.zsh
        case "fish": Completions.fish
        default: ManualPage.text
        }
    }
}
