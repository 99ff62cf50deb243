import FoundationEssentials
import Glibc
import Outlet
import OutletFiles

/// Loads the plugins that the command line names.
struct PluginLoading: Sendable {
    /// Paths of directories and files, in order.
    var places: [String]
    private let configuration: PluginConfiguration
    /// The path of the directory of `--plugin-data`.
    private let dataDirectory: String?
    /// Whether to continue without plugins that cannot be used (`--plugins-optional`).
    let isOptional: Bool
    /// Whether the user has chosen how long everything may take, also without a limit.
    private let hasTimeLimit: Bool

    /// Reads the places of `--plugins`, or else those of `OUTLET_PLUGIN_PATH`.
    ///
    /// - Parameters:
    ///   - arguments: The parsed command line.
    ///   - operands: Further places, which come first; with them, `OUTLET_PLUGIN_PATH` is ignored.
    ///   - environment: The environment variables.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if a place is empty, `OUTLET_PLUGIN_PATH`
    ///   names none, one of its places is relative or a configuration is wrong, with ``ExitCode/plugin`` if
    ///   other users can change a file of `--plugin-config`, with ``ExitCode/noInput`` if there is no
    ///   directory of `--plugin-data`.
    init(
        _ arguments: ParsedArguments, operands: [String] = [], environment: [String: String]
    ) throws(CommandError) {
        var places = operands + arguments.values(.plugins)
        if places.isEmpty, let path = environment["OUTLET_PLUGIN_PATH"], !path.isEmpty {
            // The search path leaves these out, and with them the plugins that the user asks for.
            for entry in path.parts(separatedBy: ":") where !entry.isEmpty {
                guard !entry.startsWithBytes(of: "/") else { continue }
                throw .usage(
                    "OUTLET_PLUGIN_PATH: \(entry): not an absolute path",
                    advice: "--plugins takes relative ones")
            }
            places = PluginSearchPath.directories(environment: environment)
            guard !places.isEmpty else {
                throw .usage(
                    "OUTLET_PLUGIN_PATH: names no directory", advice: "unset it to use no plugins")
            }
        }
        guard !places.contains(where: \.isEmpty) else {
            throw .usage("\(arguments.verb.rawValue): the name of the directory is empty")
        }
        self.places = places
        configuration = try PluginConfiguration(arguments.values(.pluginConfig))
        dataDirectory = try arguments.value(.pluginData).map(Self.absolutePath)
        isOptional = arguments.isOn(.pluginsOptional)
        hasTimeLimit = arguments.value(.timeout) != nil
    }

    /// The absolute path of a directory, which a plugin can use also where the program has changed
    /// its own.
    private static func absolutePath(_ path: String) throws(CommandError) -> String {
        guard let real = realpath(path, nil) else {
            throw CommandError(.noInput, "--plugin-data: \(path): \(systemText(errno))")
        }
        defer { free(real) }
        var status = stat()
        guard stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandError(.noInput, "--plugin-data: \(path): \(systemText(ENOTDIR))")
        }
        return String(cString: real)
    }

    /// The configurations of `--plugin-config`: JSON objects by plugin id.
    var configurationTexts: [String: String] { configuration.texts }

    /// The places as directories and files; a missing one counts as a directory.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/noInput`` for a missing one that is named as a file.
    private func pluginPlaces() throws(CommandError) -> [PluginPlace] {
        var found: [PluginPlace] = []
        for place in places {
            var isDirectory = false
            let exists = FileManager.default.fileExists(atPath: place, isDirectory: &isDirectory)
            guard exists || !place.endsWithBytes(of: ".so") else {
                throw CommandError(.noInput, "\(place): no such file")
            }
            found.append(exists && !isDirectory ? .file(place) : .directory(place))
        }
        return found
    }

    /// Inspects the plugins without running their code.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/noInput`` if a place cannot be read, with
    ///   ``ExitCode/plugin`` if its `plugins.json` is wrong.
    func inspect() throws(CommandError) -> PluginInspection {
        let places = try pluginPlaces()
        do {
            return try PluginInspection(
                places, configuration: configuration.texts,
                configurationSources: configuration.sources)
        } catch {
            throw CommandError(unusable: error)
        }
    }

    /// Loads the plugins; those that cannot be used are in the host's `failures`.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/noInput`` if a place cannot be read, with
    ///   ``ExitCode/plugin`` if its `plugins.json` is wrong.
    ///
    /// Thread: blocks while plugins are created.
    func load(observer: any PluginObserver) throws(CommandError) -> PluginHost {
        let places = try pluginPlaces()
        var options = PluginHost.Options()
        options.configuration = configuration.texts
        options.configurationSources = configuration.sources
        options.dataDirectory = dataDirectory
        options.observer = observer
        options.loadPolicy = .usable
        PluginOutput.begin()
        do {
            return try PluginHost.load(places, options: options)
        } catch {
            throw CommandError(unusable: error)
        }
    }

    /// Reports each `plugins.json` beside a plugin that is given by its file, because it applies only
    /// to plugins that are given by their folder.
    private func reportUnreadSettings(_ console: Console) {
        guard let places = try? pluginPlaces() else { return }
        let folders = places.compactMap { place -> String? in
            guard case .file(let file) = place else { return nil }
            let slash = file.utf8.lastIndex(of: UInt8(ascii: "/"))
            return slash.map { String(file[..<$0]) } ?? "."
        }
        func realPath(_ path: String) -> String {
            guard let real = realpath(path.isEmpty ? "/" : path, nil) else { return path }
            defer { free(real) }
            return String(cString: real)
        }
        let read = Set(
            places.compactMap { place -> String? in
                guard case .directory(let path) = place else { return nil }
                return realPath(path)
            })
        for folder in Set(folders).sorted() where !read.contains(realPath(folder)) {
            guard FileManager.default.fileExists(atPath: "\(folder)/plugins.json") else { continue }
            console.report(
                "outlet: \(TerminalText.visibleLine("\(folder)/plugins.json")): not read for single "
                    + "files; --plugins with the folder reads it")
        }
    }

    /// Loads the plugins for a command that uses them.
    ///
    /// Reports each plugin that cannot be used on stderr. Unless ``isOptional`` is `true`, the last
    /// one of these is thrown instead.
    ///
    /// - Parameters:
    ///   - observer: Receives what the plugins do.
    ///   - isVerbose: Whether to report the permissions that plugins were granted.
    ///   - console: Where to report.
    /// - Throws: ``CommandError`` with ``ExitCode/noInput`` if a place cannot be read, with
    ///   ``ExitCode/plugin`` if a plugin or a `plugins.json` cannot be used or there is no plugin.
    ///
    /// Thread: blocks while plugins are created.
    func loadForWork(
        observer: any PluginObserver, isVerbose: Bool = false, console: Console
    ) throws(CommandError) -> PluginHost {
        if !hasTimeLimit {
            ProcessEnd.endIfPluginHangs(console, after: PluginHost.Options().answerDeadline)
        }
        let host = try load(observer: observer)
        report(host.warnings, console)
        reportUnreadSettings(console)
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
            unusable: last, of: host.unusable,
            advice: "--plugins-optional continues without \(others)")
    }

    /// Reports warnings, those about the command line first.
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

    /// The error if no place contains a plugin.
    var nothingThere: CommandError {
        CommandError(
            .plugin, "\(places.joined(separator: ", ")): no plugin: there is no .so file in it",
            advice: "'make plugins' fills the folder plugins/")
    }
}

extension CommandError {
    /// Makes the error of a plugin that cannot be used; the message may come from the plugin.
    ///
    /// - Parameters:
    ///   - failure: The error.
    ///   - all: The errors of all plugins that cannot be used, for reports.
    ///   - advice: How to fix it.
    init(
        unusable failure: PluginLoadError, of all: [PluginLoadError] = [], advice: String = ""
    ) {
        self.init(
            .plugin, TerminalText.visibleLine("\(failure)"), advice: advice,
            pluginCode: failure.pluginCode, unusablePlugins: all)
    }
}

extension PluginLoadError {
    /// The plugin's stable error code; empty if it gave none.
    var pluginCode: String {
        if case .creationFailed(_, _, let code, _, _) = self { code } else { "" }
    }
}

extension PluginHost {
    /// The errors of all plugins that cannot be used, also of optional ones.
    var unusable: [PluginLoadError] { failures + skipped }
}

extension CommandError {
    /// Makes the error of a directory whose plugins or settings cannot be used.
    fileprivate init(unusable error: PluginDirectoryError) {
        switch error {
        case .unreadable, .unsafe: self.init(.noInput, "\(error)")
        case .unusableSettings, .invalidSettings, .incomplete:
            self.init(.plugin, TerminalText.visibleLine("\(error)"))
        }
    }
}

/// The configurations of plugins from `--plugin-config`.
private struct PluginConfiguration {
    /// JSON objects by plugin id, or by `ID#INSTANCE`.
    private(set) var texts: [String: String] = [:]
    /// The origins of the texts, by the same keys: paths of files, the option's name, or both.
    var sources: [String: String] { places.mapValues { $0.joined(separator: ", ") } }
    private var places: [String: [String]] = [:]
    /// Warnings about files that all users can read.
    private(set) var warnings: [String] = []

    private static let option = "--plugin-config"
    /// The maximum size of a file in bytes.
    private static let largestFile = 1 << 20

    /// Reads the values of the option; those of one id are merged.
    ///
    /// - Parameter values: Values of the form `ID=JSON` or `ID=@FILE`, in order.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if a value is wrong or a file cannot be
    ///   read, with ``ExitCode/plugin`` if other users can change a file.
    init(_ values: [String]) throws(CommandError) {
        for value in values {
            let parts = value.parts(separatedBy: "=", maxSplits: 1).filter { !$0.isEmpty }
            guard parts.count == 2 else {
                // The message omits the value, which may be secret.
                throw .usage("\(Self.option): not of the form ID=JSON or ID=@FILE")
            }
            let id = String(parts[0])
            if parts[1].startsWithBytes(of: "@") {
                let path = String(parts[1].droppingBytes(1))
                lay(try text(ofFile: path, for: id), on: id, from: path)
            } else {
                lay(
                    try Self.checked(Array(parts[1].utf8), "\(Self.option): \(id)"), on: id,
                    from: Self.option)
            }
        }
    }

    /// Merges an object over those that were read for the same id, top-level key by key.
    private mutating func lay(_ text: String, on id: String, from source: String) {
        guard let earlier = texts[id].flatMap(Self.object), let later = Self.object(text) else {
            texts[id] = text
            places[id] = [source]
            return
        }
        let kept = earlier.filter { member in
            !later.contains { $0.name.hasSameBytes(as: member.name) }
        }
        // Keys that one text repeats stay repeated: the host refuses them.
        let merged = JSONObject(parsed: kept + later)
        texts[id] = JSONValue.object(merged).text(.compact)
        if places[id]?.contains(source) != true { places[id, default: []].append(source) }
    }

    private static func object(_ text: String) -> JSONObject? {
        (try? JSONValue(parsing: text))?.objectValue
    }

    private mutating func text(
        ofFile path: String, for id: String
    ) throws(CommandError) -> String {
        var status = stat()
        // Only for regular files: the owner and mode of a pipe do not matter.
        let isRegular = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        if isRegular, let objection = FileTrust.objection(toPath: Self.absolute(path)) {
            throw CommandError(
                .plugin, TerminalText.visibleLine("\(Self.option): \(id): \(objection)"))
        }
        let text = try Self.checked(
            try readFile(path, limit: Self.largestFile), "\(Self.option): \(id): \(path)")
        if isRegular, status.st_mode & mode_t(S_IROTH) != 0 {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            warnings.append(
                "\(path): holds configuration and is readable by all users (mode \(mode)); chmod o-r"
            )
        }
        return text
    }

    private static func absolute(_ path: String) -> String {
        path.startsWithBytes(of: "/")
            ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
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
