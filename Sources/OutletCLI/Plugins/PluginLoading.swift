import FoundationEssentials
import Glibc
import Outlet

/// Loads the plugins that a command line names.
struct PluginLoading: Sendable {
    /// Directories and single files, in order.
    var places: [String]
    private let configuration: PluginConfiguration
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
        configuration = try PluginConfiguration(arguments.values(.pluginConfig))
        isOptional = arguments.isOn(.pluginsOptional)
    }

    /// What the command line configures, as JSON objects by plugin id.
    var configurationTexts: [String: String] { configuration.texts }

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
    /// - Throws: A ``CommandError`` of 66 when a place cannot be read, of 7 when its `plugins.json` is
    ///   wrong.
    func inspect() throws(CommandError) -> PluginInspection {
        let (directories, files) = sortedPlaces
        do {
            return try PluginInspection(
                directories: directories, files: files, configuration: configuration.texts,
                configurationSources: configuration.sources)
        } catch {
            throw CommandError(unusable: error)
        }
    }

    /// Loads the plugins; those that cannot be used are among the host's failures.
    ///
    /// - Throws: A ``CommandError`` of 66 when a place cannot be read, of 7 when its `plugins.json` is
    ///   wrong.
    ///
    /// Blocks while plugins start.
    func load(observer: any PluginObserver) throws(CommandError) -> PluginHost {
        let (directories, files) = sortedPlaces
        var options = PluginHost.Options()
        options.configuration = configuration.texts
        options.configurationSources = configuration.sources
        options.observer = observer
        options.loadPolicy = .usable
        OutputFile.keepStandardOutput()
        PluginWatch.begin(
            exitCode: ExitCode.plugin.rawValue,
            reportingTo: OutputFile.standardError.descriptor)
        do {
            return try PluginHost.load(directories: directories, files: files, options: options)
        } catch {
            throw CommandError(unusable: error)
        }
    }

    /// Loads the plugins for work that they are to take part in: all of them, unless they are optional.
    ///
    /// Each that cannot be used is a line on stderr; where it is not optional, the last is the error.
    ///
    /// - Parameter isVerbose: Whether what plugins may do is said.
    /// - Throws: A ``CommandError`` of 66 when a place cannot be read, of 7 when a plugin or its
    ///   directory's `plugins.json` cannot be used, or when there is no plugin.
    func loadForWork(
        observer: any PluginObserver, isVerbose: Bool = false, console: Console
    ) throws(CommandError) -> PluginHost {
        let host = try load(observer: observer)
        report(host.warnings, console)
        for error in host.skipped { console.report(CommandError(unusable: error)) }
        if isVerbose { report(grantsOf: host.plugins, console) }
        var failures = host.failures
        guard !isOptional else {
            for failure in failures { console.report(CommandError(unusable: failure)) }
            return host
        }
        guard let last = failures.popLast() else {
            guard !host.plugins.isEmpty || !host.disabled.isEmpty || !host.skipped.isEmpty else {
                throw nothingThere
            }
            return host
        }
        console.report(abandoned: host.shutDownAndWait())
        for failure in failures { console.report(CommandError(unusable: failure)) }
        let others = failures.isEmpty ? "it" : "them"
        throw CommandError(
            unusable: last, advice: "--plugins-optional goes on without \(others)")
    }

    /// Says what deserves a look, the command line's own part of it first.
    func report(_ warnings: [String], _ console: Console) {
        for warning in configuration.warnings + warnings {
            console.report("outlet: \(singleLine(warning))")
        }
    }

    private func report(grantsOf plugins: [LoadedPlugin], _ console: Console) {
        for plugin in plugins where !plugin.grants.permissions.isEmpty {
            let list = plugin.grants.permissions.map(\.description).joined(separator: ", ")
            console.report("outlet: plugin \(plugin.id): granted: \(singleLine(list))")
        }
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

extension CommandError {
    /// A directory whose plugins cannot be used, or whose settings.
    fileprivate init(unusable error: PluginDirectoryError) {
        switch error {
        case .unreadable, .unsafe: self.init(.noInput, "\(error)")
        case .unusableSettings, .invalidSettings, .incomplete:
            self.init(.plugin, TerminalText.visibleLine("\(error)"))
        }
    }
}

/// What `--plugin-config` says.
private struct PluginConfiguration {
    /// JSON objects by plugin id, or id, `#` and the name of an instance.
    private(set) var texts: [String: String] = [:]
    /// Where they come from, by the same.
    private(set) var sources: [String: String] = [:]
    /// Files that all users can read, a line each.
    private(set) var warnings: [String] = []

    private static let option = "--plugin-config"
    /// The most bytes of a file.
    private static let largestFile = 1 << 20

    /// - Parameter values: Each of the form `ID=JSON` or `ID=@FILE`.
    init(_ values: [String]) throws(CommandError) {
        for value in values {
            let parts = value.parts(separatedBy: "=", maxSplits: 1).filter { !$0.isEmpty }
            guard parts.count == 2 else {
                // What it holds may be secret.
                throw .usage("\(Self.option): not of the form ID=JSON or ID=@FILE")
            }
            let id = String(parts[0])
            if parts[1].startsWithBytes(of: "@") {
                let path = String(parts[1].droppingBytes(1))
                sources[id] = path
                texts[id] = try text(ofFile: path, for: id)
            } else {
                sources[id] = Self.option
                texts[id] = try Self.checked(Array(parts[1].utf8), "\(Self.option): \(id)")
            }
        }
    }

    private mutating func text(
        ofFile path: String, for id: String
    ) throws(CommandError) -> String {
        let text = try Self.checked(
            try readFile(path, limit: Self.largestFile), "\(Self.option): \(id): \(path)")
        var status = stat()
        // A pipe's end is nobody else's.
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & mode_t(S_IROTH) != 0
        {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            warnings.append(
                "\(path): holds configuration and is readable by all users (mode \(mode)); chmod o-r"
            )
        }
        return text
    }

    private static func checked(
        _ bytes: [UInt8], _ place: String
    ) throws(CommandError) -> String {
        do {
            guard try JSONValue(parsing: bytes).objectValue != nil else {
                throw CommandError.usage(
                    "\(place): not a JSON object", advice: #"such as {"a":1}"#)
            }
        } catch let error as CommandError {
            throw error
        } catch {
            throw .usage("\(place): \(error)")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
