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

    /// Looks at the files of directories, then at single files.
    ///
    /// Of two plugins with one id the second is a failure, as when they are loaded.
    ///
    /// - Parameter checksOwnership: Whether files and directories that others can write to are refused.
    /// - Throws: ``PluginDirectoryError`` when a directory cannot be read or is not safe.
    ///
    /// Blocks while files are read.
    public init(
        directories: [String], files: [String] = [], checksOwnership: Bool = true
    ) throws(PluginDirectoryError) {
        var places: [(path: String, isListed: Bool)] = []
        var failures: [PluginLoadError] = []
        for path in directories {
            let directory = try PluginDirectory(path: path, checksOwnership: checksOwnership)
            places += directory.candidates.map { ($0, true) }
            failures += directory.failures
        }
        places += files.map { ($0.containsByte("/") ? $0 : "./\($0)", false) }
        var inspected: [InspectedFile] = []
        var firsts: [String: String] = [:]
        for (path, isListed) in places {
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
                        file, manifests, isListed: isListed, checksOwnership: checksOwnership))
            } catch {
                failures.append(error)
            }
        }
        self.files = inspected
        self.failures = failures
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

    init(
        _ file: PluginFile, _ manifests: [PluginManifest], isListed: Bool, checksOwnership: Bool
    ) {
        path = file.path
        self.manifests = manifests
        abiMajors = file.library.entryMajors
        neededLibraries = file.library.neededLibraries
        self.isListed = isListed
        self.checksOwnership = checksOwnership
    }

    /// Loads the library for good and asks its entry for the plugins; none is created.
    ///
    /// - Returns: The plugins, and what loading the library changed of the process, which was put back.
    ///
    /// Blocks as long as the library's own code does.
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
