import Glibc
import OutletHTTP

/// Inspects plugin libraries without starting a plugin.
///
/// None of their code runs: the information comes from the headers and manifests of the files. Call
/// ``InspectedFile/askCode()`` for more.
public struct PluginInspection: Sendable {
    /// The libraries that can be loaded as far as their files show, in loading order.
    public let files: [InspectedFile]
    /// The errors of files and settings that cannot be used.
    public let failures: [PluginLoadError]
    /// Problems that do not prevent loading, one line each.
    public let warnings: [String]

    /// Inspects the files of places.
    ///
    /// Of two plugins with the same id, the second is a failure, as when they are loaded. Settings
    /// for plugins and instances that no manifest and no settings name are failures, too, unless
    /// some files have no manifest.
    ///
    /// Blocks while files are read.
    ///
    /// - Parameters:
    ///   - places: Directories and files, in the order in which they are inspected.
    ///   - checksOwnership: Whether to refuse files and directories that users other than root and
    ///     the current user can write to.
    ///   - readsSettingsFiles: Whether each directory's `plugins.json` is read.
    ///   - settings: Settings by plugin id; they override `plugins.json`.
    ///   - configuration: Configuration as texts of JSON objects, by plugin id or instance id
    ///     (`id#instance`); its top-level keys override all other configuration.
    ///   - configurationSources: The origin of each text, by the same keys, for error messages.
    /// - Throws: ``PluginDirectoryError`` when a directory or its `plugins.json` cannot be read or
    ///   is not safe.
    public init(
        _ places: [PluginPlace],
        checksOwnership: Bool = true, readsSettingsFiles: Bool = true,
        settings: [String: PluginSettings] = [:], configuration: [String: String] = [:],
        configurationSources: [String: String] = [:]
    ) throws(PluginDirectoryError) {
        let settings = HostSettings(
            settings: settings, texts: configuration, sources: configurationSources)
        let places = try PluginPlaces(
            places, checksOwnership: checksOwnership, readsSettingsFiles: readsSettingsFiles)
        var failures = places.failures
        var inspected: [InspectedFile] = []
        var firsts: [String: String] = [:]
        for place in places.files {
            do throws(PluginLoadError) {
                let file = try PluginLoader.file(
                    place.path, isListed: place.isListed, checksOwnership: checksOwnership)
                try PluginModule.checkEntry(of: file)
                var manifests: [PluginManifest] = []
                for manifest in file.manifests {
                    if let first = firsts[manifest.id] {
                        failures.append(
                            .duplicate(path: place.path, id: manifest.id, first: first))
                    } else {
                        firsts[manifest.id] = place.path
                        manifests.append(manifest)
                    }
                }
                guard file.manifests.isEmpty || !manifests.isEmpty else { continue }
                inspected.append(
                    InspectedFile(
                        file, manifests, isListed: place.isListed,
                        checksOwnership: checksOwnership, settings: settings,
                        source: place.settings))
            } catch {
                failures.append(error)
            }
        }
        // Settings that are invalid by themselves are reported even for plugins that were not
        // found.
        let named = Set(inspected.flatMap { $0.manifests.map(\.id) })
        for source in places.sources {
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
            for source in places.sources {
                let known = inspected.filter { $0.source?.name == source.name }
                    .flatMap { $0.manifests.map(\.id) }
                failures += source.settings.keys.sorted().filter { !known.contains($0) }
                    .map { .unknownPlugin(path: source.name, id: $0, known: known) }
            }
            let instances = inspected.flatMap(\.instances)
            let labels = inspected.flatMap { $0.manifests.map(\.id) } + instances
            failures += settings.labels
                .filter { label in !labels.contains { $0.hasSameBytes(as: label) } }
                .map {
                    .unknownPlugin(
                        path: settings.sources[$0] ?? places.name, id: $0, known: instances)
                }
        }
        self.files = inspected
        self.failures = failures
        warnings = places.warnings
    }
}

/// The information about plugins in a library's file.
public struct InspectedFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The manifests of its plugins; empty when the file contains none.
    public let manifests: [PluginManifest]
    /// The major ABI versions that it has an entry function for.
    public let abiMajors: [UInt32]
    /// The libraries that it needs (`DT_NEEDED`).
    public let neededLibraries: [String]

    private let isListed: Bool
    private let checksOwnership: Bool
    /// The program's settings.
    let settings: HostSettings
    /// The settings of its directory; `nil` for none.
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

    /// The ids of the instances that the settings define; without plugins whose settings are wrong.
    fileprivate var instances: [String] {
        manifests.flatMap { manifest in
            (try? settings.resolve(manifest.id, file: source))?.instances.map(\.label) ?? []
        }
    }

    /// Loads the library, which stays mapped, and reads its plugin descriptors; creates no plugin.
    ///
    /// Blocks while the library's code runs.
    ///
    /// - Returns: The plugins, and the process-wide state that loading the library changed; the
    ///   host has restored it, except for the environment.
    /// - Throws: ``PluginLoadError`` when the library cannot be loaded, or its module is invalid.
    public func askCode() throws(PluginLoadError) -> (
        plugins: [InspectedPlugin], changes: [String]
    ) {
        let (answer, changes) = PluginLoader.inTurn {
            let state = RestorableProcessState()
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
