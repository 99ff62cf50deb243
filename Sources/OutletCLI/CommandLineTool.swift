import Glibc
import Outlet
import OutletPluginCheck

/// The program `outlet` as a function.
public enum CommandLineTool {
    /// Runs a command line, and blocks until the command has ended.
    ///
    /// - Parameters:
    ///   - arguments: The arguments as C strings, the program's name first.
    ///   - count: The number of arguments.
    /// - Returns: The process's exit status, a raw value of ``ExitCode``.
    ///
    /// Thread: the main thread, once per process, because this changes signal handling, resource
    /// limits and standard streams of the process.
    public static func run(
        arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, count: Int
    ) -> Int32 {
        ProcessSetup.prepare()
        defer {
            PluginOutput.copyRest()
            PluginWatch.expectExit(
                within: .seconds(2), orExitWith: ExitCode.plugin.rawValue,
                reporting: "outlet: the program has not ended for 2 s: an exit handler, a "
                    + "destructor or a thread of a plugin's holds it up")
        }
        let environment = Environment.current
        var console = Console(color: .auto, environment: environment)
        do {
            let words = UnsafeBufferPointer(start: arguments, count: count).compactMap {
                $0.map { [UInt8](UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
            }
            try ProcessSetup.checkLimits()
            let texts = try ArgumentText.texts(words)
            if PluginCheckChild.isMeant(by: Array(texts.dropFirst())) { PluginCheckChild.run() }
            let parsed = try ArgumentParser.parse(Array(texts.dropFirst()))
            console = Console(
                color: ColorChoice(parsed), environment: environment,
                isQuiet: parsed.isOn(.quiet))
            try Environment.check()
            return try run(parsed, console).rawValue
        } catch let error as CommandError {
            console.report(error)
            return error.exitCode.rawValue
        } catch OutputError.closed {
            // The reader of stdout has closed it, as `head` does.
            return ExitCode.ok.rawValue
        } catch let error as OutputError {
            console.report(CommandError(error))
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
            // The time limit starts here, so that it includes reading stdin and files.
            let countdown = try SessionOptions.timeout(arguments).map { Countdown($0, console) }
            return try Interruption.run(console) {
                try RequestCommand(arguments: arguments, console: console, countdown: countdown)
            } _: {
                await $0.run()
            }
        case .pluginsList:
            return try Interruption.run(console) {
                try PluginsListCommand(arguments: arguments, console: console).run()
            }
        case .pluginsInspect:
            return try Interruption.run(
                console, limit: SessionOptions.pluginTimeout(arguments), of: "plugins inspect"
            ) {
                try PluginsInspectCommand(arguments: arguments, console: console).run()
            }
        case .pluginsConfig:
            return try Interruption.run(
                console, limit: SessionOptions.pluginTimeout(arguments), of: "plugins config"
            ) {
                try PluginsConfigCommand(arguments: arguments, console: console).run()
            }
        case .pluginsCall:
            let function = arguments.operands.first.map { " \(singleLine($0))" } ?? ""
            return try Interruption.run(
                console, limit: SessionOptions.pluginTimeout(arguments),
                of: "plugins call\(function)"
            ) {
                try PluginsCallCommand(arguments: arguments, console: console).run()
            }
        case .pluginsCheck:
            return try Interruption.run(console) {
                try PluginsCheckCommand(arguments: arguments, console: console).run()
            }
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
