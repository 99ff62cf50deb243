import Glibc
import Outlet
import OutletPluginCheck

/// The program `outlet` as a function.
public enum CommandLineTool {
    /// Runs a command line to its end.
    ///
    /// - Parameters:
    ///   - arguments: C strings, the program's name in front.
    ///   - count: How many there are.
    /// - Returns: What the shell gets; ``ExitCode`` explains it.
    ///
    /// Thread: the main one, once per process: signals, limits and standard streams are set up.
    public static func run(
        arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, count: Int
    ) -> Int32 {
        ProcessSetup.prepare()
        defer { PluginWatch.expectExit() }
        let environment = Environment.current
        var console = Console(color: .auto, environment: environment)
        do {
            let words = UnsafeBufferPointer(start: arguments, count: count).compactMap {
                $0.map { [UInt8](UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
            }
            let texts = try ArgumentText.texts(words)
            if PluginCheckChild.isMeant(by: Array(texts.dropFirst())) { PluginCheckChild.run() }
            let parsed = try ArgumentParser.parse(Array(texts.dropFirst()))
            console = Console(
                color: ColorChoice(parsed), environment: environment)
            try Environment.check()
            return try run(parsed, console).rawValue
        } catch let error as CommandError {
            console.report(error)
            return error.exitCode.rawValue
        } catch OutputError.closed {
            // The reader of the output has closed it (`head`).
            return ExitCode.ok.rawValue
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
            // The time allowed runs from the start: stdin and files may keep the request waiting.
            let countdown = try SessionOptions.timeout(arguments).map { Countdown($0, console) }
            return try Interruption.run(console) {
                try RequestCommand(arguments: arguments, console: console, countdown: countdown)
            } _: {
                await $0.run()
            }
        case .pluginsList:
            let command = try PluginsListCommand(arguments: arguments, console: console)
            return try Interruption.run(console, blocking: command.run)
        case .pluginsInspect:
            let command = try PluginsInspectCommand(arguments: arguments, console: console)
            return try Interruption.run(
                console, limit: SessionOptions.pluginTimeout(arguments), of: "plugins inspect",
                blocking: command.run)
        case .pluginsConfig:
            let command = try PluginsConfigCommand(arguments: arguments, console: console)
            return try Interruption.run(
                console, limit: SessionOptions.pluginTimeout(arguments), of: "plugins config",
                blocking: command.run)
        case .pluginsCall:
            let command = try PluginsCallCommand(arguments: arguments, console: console)
            return try Interruption.run(
                console, limit: SessionOptions.pluginTimeout(arguments), of: "plugins call",
                blocking: command.run)
        case .pluginsCheck:
            let command = try PluginsCheckCommand(arguments: arguments, console: console)
            return try Interruption.run(console, blocking: command.run)
        case .pluginsNew:
            return try PluginsNewCommand(arguments: arguments, console: console).run()
        case .demo:
            return try Interruption.run(console) {
                try DemoCommand(arguments: arguments, console: console)
            } _: {
                await $0.run()
            }
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
