import Glibc
import OutletHTTP

/// Libraries of plugins looked at without starting a plugin.
///
/// None of their code runs: what is known comes from the headers and the manifests of the files. Ask
/// ``InspectedFile/askCode()`` for more.
public struct PluginInspection: Sendable {
    /// The libraries that can be loaded, as far as their files tell, in the order in which they would be.
    public let files: [InspectedFile]
    /// What cannot be, and why.
    public let failures: [PluginLoadError]
    /// What speaks against nothing but deserves a look, a line each.
    public let warnings: [String]

    /// Looks at the files of directories, then at single files.
    ///
    /// Of two plugins with one id the second is a failure, as when they are loaded.
    ///
    /// Settings for plugins that no manifest names are failures, too, unless there are files without.
    ///
    /// - Parameters:
    ///   - directories: Paths of plugin directories, in the order in which they are searched.
    ///   - files: Paths of single plugins, behind those of directories.
    ///   - checksOwnership: Whether files and directories that others can write to are refused.
    ///   - readsSettingsFiles: Whether `plugins.json` of each directory is read.
    ///   - settings: How plugins are to be used, by id; before what files say.
    ///   - configuration: JSON objects by id, or by id, `#` and the name of an instance; before all others.
    ///   - configurationSources: Where those come from, for errors.
    /// - Throws: ``PluginDirectoryError`` when a directory or its `plugins.json` cannot be read or is not
    ///   safe.
    ///
    /// Blocks while files are read.
    public init(
        directories: [String], files: [String] = [],
        checksOwnership: Bool = true, readsSettingsFiles: Bool = true,
        settings: [String: PluginSettings] = [:], configuration: [String: String] = [:],
        configurationSources: [String: String] = [:]
    ) throws(PluginDirectoryError) {
        let settings = HostSettings(
            settings: settings, texts: configuration, sources: configurationSources)
        var places: [(path: String, isListed: Bool, source: SettingsSource?)] = []
        var sources: [SettingsSource] = []
        var warnings: [String] = []
        var failures: [PluginLoadError] = []
        for path in directories {
            let directory = try PluginDirectory(path: path, checksOwnership: checksOwnership)
            let file =
                readsSettingsFiles
                ? try SettingsFile.read(
                    inDirectory: directory.path, checksOwnership: checksOwnership) : nil
            places += directory.candidates.map { ($0, true, file?.source) }
            failures += directory.failures
            if let file { sources.append(file.source) }
            if let warning = file?.warning { warnings.append(warning) }
        }
        places += files.map { ($0.containsByte("/") ? $0 : "./\($0)", false, nil) }
        var inspected: [InspectedFile] = []
        var firsts: [String: String] = [:]
        for (path, isListed, source) in places {
            do throws(PluginLoadError) {
                let file = try PluginLoader.file(
                    path, isListed: isListed, checksOwnership: checksOwnership)
                try PluginModule.checkEntry(of: file)
                var manifests: [PluginManifest] = []
                for manifest in file.manifests {
                    if let first = firsts[manifest.id] {
                        failures.append(.duplicate(path: path, id: manifest.id, first: first))
                    } else {
                        firsts[manifest.id] = path
                        manifests.append(manifest)
                    }
                }
                guard file.manifests.isEmpty || !manifests.isEmpty else { continue }
                inspected.append(
                    InspectedFile(
                        file, manifests, isListed: isListed, checksOwnership: checksOwnership,
                        settings: settings, source: source))
            } catch {
                failures.append(error)
            }
        }
        // What is wrong in itself is so for whatever plugin it is meant.
        let named = Set(inspected.flatMap { $0.manifests.map(\.id) })
        for source in sources {
            for id in source.settings.keys.sorted() where !named.contains(id) {
                do throws(InvalidSettings) {
                    _ = try settings.resolve(id, file: source)
                } catch {
                    failures.append(
                        .invalidConfiguration(
                            path: source.name, id: id, violations: error.violations))
                }
            }
        }
        if inspected.allSatisfy({ !$0.manifests.isEmpty }) {
            for source in sources {
                let known = inspected.filter { $0.source?.name == source.name }
                    .flatMap { $0.manifests.map(\.id) }
                failures += source.settings.keys.sorted().filter { !known.contains($0) }
                    .map { .unknownPlugin(path: source.name, id: $0, known: known) }
            }
        }
        self.files = inspected
        self.failures = failures
        self.warnings = warnings
    }
}

/// What the file of a library tells of its plugins.
public struct InspectedFile: Sendable {
    /// The file.
    public let path: String
    /// The plugins, in the manifest's words; empty when the file holds no manifest.
    public let manifests: [PluginManifest]
    /// The majors of the ABI that it has an entry for.
    public let abiMajors: [UInt32]
    /// The libraries it needs (`DT_NEEDED`).
    public let neededLibraries: [String]

    private let isListed: Bool
    private let checksOwnership: Bool
    /// What the program says of plugins.
    let settings: HostSettings
    /// What its directory says of plugins.
    let source: SettingsSource?

    init(
        _ file: PluginFile, _ manifests: [PluginManifest], isListed: Bool, checksOwnership: Bool,
        settings: HostSettings, source: SettingsSource?
    ) {
        path = file.path
        self.manifests = manifests
        abiMajors = file.library.entryMajors
        neededLibraries = file.library.neededLibraries
        self.isListed = isListed
        self.checksOwnership = checksOwnership
        self.settings = settings
        self.source = source
    }

    /// Loads the library for good and asks its entry for the plugins; none is created.
    ///
    /// - Returns: The plugins, and what loading the library changed of the process, which was put back.
    ///
    /// Blocks as long as the library's own code does.
    ///
    /// - Throws: ``PluginLoadError`` where the library cannot be loaded, or its entry gives no plugins.
    public func askCode() throws(PluginLoadError) -> (
        plugins: [InspectedPlugin], changes: [String]
    ) {
        let (answer, changes) = PluginLoader.inTurn {
            let state = ProcessState()
            let answer = Result { () throws(PluginLoadError) in try ask() }
            return (answer, state.restore())
        }
        return (try answer.get(), changes)
    }

    private func ask() throws(PluginLoadError) -> [InspectedPlugin] {
        let file = try PluginLoader.file(
            path, isListed: isListed, checksOwnership: checksOwnership)
        let module = try PluginLoader.module(file)
        return module.descriptors.map { descriptor in
            InspectedPlugin(
                descriptor, path: path, abiMinor: module.abiMinor,
                hasManifest: !file.manifests.isEmpty)
        }
    }
}
