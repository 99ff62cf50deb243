import FoundationEssentials
import Outlet

/// Loads the plugins that a command line names.
struct PluginLoading: Sendable {
    /// Directories and single files, in order.
    var places: [String]
    /// Configuration by plugin id, as JSON objects.
    let configuration: [String: String]
    /// Whether to go on without plugins that cannot be used.
    let isOptional: Bool

    /// Takes the places of `--plugins`, else those of `OUTLET_PLUGIN_PATH`.
    ///
    /// - Parameter operands: Further places, in front.
    init(
        _ arguments: ParsedArguments, operands: [String] = [], environment: [String: String]
    ) throws(CommandError) {
        var places = operands + arguments.values(.plugins)
        if places.isEmpty, environment["OUTLET_PLUGIN_PATH"]?.isEmpty == false {
            places = PluginSearchPath.directories(environment: environment)
        }
        guard !places.contains(where: \.isEmpty) else {
            throw .usage("--plugins: the name is empty")
        }
        self.places = places
        configuration = try PluginLoading.configuration(arguments.values(.pluginConfig))
        isOptional = arguments.isOn(.pluginsOptional)
    }

    private static func configuration(
        _ texts: [String]
    ) throws(CommandError) -> [String: String] {
        var configuration: [String: String] = [:]
        for text in texts {
            let parts = text.parts(separatedBy: "=", maxSplits: 1).filter { !$0.isEmpty }
            guard parts.count == 2 else {
                throw .usage("--plugin-config: \(text): not of the form ID=JSON")
            }
            do {
                guard try JSONValue(parsing: String(parts[1])).objectValue != nil else {
                    throw CommandError.usage(
                        "--plugin-config: \(parts[0]): not a JSON object",
                        advice: #"such as {"a":1}"#)
                }
            } catch let error as JSONSyntaxError {
                throw .usage("--plugin-config: \(parts[0]): \(error)")
            } catch {
                throw error as? CommandError ?? .usage("--plugin-config: \(parts[0]): \(error)")
            }
            configuration[String(parts[0])] = String(parts[1])
        }
        return configuration
    }

    /// The places by what is there; what is not there is named as a directory.
    private var sortedPlaces: (directories: [String], files: [String]) {
        var directories: [String] = []
        var files: [String] = []
        for place in places {
            var isDirectory = false
            let exists = FileManager.default.fileExists(atPath: place, isDirectory: &isDirectory)
            if exists, !isDirectory { files.append(place) } else { directories.append(place) }
        }
        return (directories, files)
    }

    /// Looks at the plugins; none of their code runs.
    ///
    /// - Throws: A ``CommandError`` of 66 when a place cannot be read.
    func inspect() throws(CommandError) -> PluginInspection {
        let (directories, files) = sortedPlaces
        do {
            return try PluginInspection(directories: directories, files: files)
        } catch {
            throw CommandError(.noInput, "\(error)")
        }
    }

    /// Loads the plugins; those that cannot be used are among the host's failures.
    ///
    /// - Throws: A ``CommandError`` of 66 when a place cannot be read.
    ///
    /// Blocks while plugins start.
    func load(observer: any PluginObserver) throws(CommandError) -> PluginHost {
        let (directories, files) = sortedPlaces
        var options = PluginHost.Options()
        options.configuration = configuration
        options.observer = observer
        options.loadPolicy = .usable
        OutputFile.keepStandardOutput()
        PluginWatch.begin(exitCode: ExitCode.plugin.rawValue)
        do {
            return try PluginHost.load(directories: directories, files: files, options: options)
        } catch {
            throw CommandError(.noInput, "\(error)")
        }
    }

    /// Loads the plugins for work that they are to take part in: all of them, unless they are optional.
    ///
    /// Each that cannot be used is a line on stderr; where it is not optional, the last is the error.
    ///
    /// - Throws: A ``CommandError`` of 66 when a place cannot be read, of 7 when a plugin cannot be
    ///   used, or when there is none.
    func loadForWork(
        observer: any PluginObserver, console: Console
    ) throws(CommandError) -> PluginHost {
        let host = try load(observer: observer)
        var failures = host.failures
        guard !isOptional else {
            for failure in failures { console.report(CommandError(unusable: failure)) }
            return host
        }
        guard let last = failures.popLast() else {
            guard !host.plugins.isEmpty else { throw nothingThere }
            return host
        }
        console.report(abandoned: host.shutDownAndWait())
        for failure in failures { console.report(CommandError(unusable: failure)) }
        let others = failures.isEmpty ? "it" : "them"
        throw CommandError(
            unusable: last, advice: "--plugins-optional goes on without \(others)")
    }

    /// That no place holds a library.
    var nothingThere: CommandError {
        CommandError(
            .plugin, "\(places.joined(separator: ", ")): no plugin: there is no .so file in it",
            advice: "'make plugins' fills the folder plugins/")
    }
}

extension CommandError {
    /// A plugin that cannot be used, perhaps in its own words.
    init(unusable failure: PluginLoadError, advice: String = "") {
        self.init(.plugin, TerminalText.visibleLine("\(failure)"), advice: advice)
    }
}
