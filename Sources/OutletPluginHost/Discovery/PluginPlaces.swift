import OutletHTTP

/// Where plugins are found.
public enum PluginPlace: Sendable, Equatable {
    /// The path of a directory whose `*.so` files are plugins, in the order of their names; it is not
    /// searched recursively.
    case directory(String)
    /// The path of a library. One without a slash is relative to the current directory.
    case file(String)

    /// The path as it was given.
    public var path: String {
        switch self {
        case .directory(let path), .file(let path): path
        }
    }
}

/// The files of places, in loading order, with the settings that directories have for them.
struct PluginPlaces {
    let files: [ListedFile]
    /// The settings of all directories.
    let sources: [SettingsSource]
    /// The errors of entries of directories.
    let failures: [PluginLoadError]
    /// Problems that do not prevent loading, one line each.
    let warnings: [String]
    /// The places as they were given, for error messages.
    let name: String

    /// Lists the files.
    ///
    /// - Parameters:
    ///   - places: The places, in loading order.
    ///   - checksOwnership: Whether to refuse directories that users other than root and the current
    ///     user can write to.
    ///   - readsSettingsFiles: Whether each directory's `plugins.json` is read.
    /// - Throws: ``PluginDirectoryError`` when a directory or its `plugins.json` cannot be read or
    ///   is not safe.
    init(
        _ places: [PluginPlace], checksOwnership: Bool, readsSettingsFiles: Bool
    ) throws(PluginDirectoryError) {
        var listed: [ListedFile] = []
        var sources: [SettingsSource] = []
        var failures: [PluginLoadError] = []
        var warnings: [String] = []
        for place in places {
            guard case .directory(let path) = place else {
                // `dlopen` searches the library path for a name without a slash.
                let path = place.path.containsByte("/") ? place.path : "./\(place.path)"
                listed.append(ListedFile(path: path, isListed: false, settings: nil))
                continue
            }
            let directory = try PluginDirectory(path: path, checksOwnership: checksOwnership)
            let file =
                readsSettingsFiles
                ? try SettingsFile.read(
                    inDirectory: directory.path, checksOwnership: checksOwnership) : nil
            listed += directory.candidates.map {
                ListedFile(path: $0, isListed: true, settings: file?.source)
            }
            failures += directory.failures.filter { !failures.contains($0) }
            if let file { sources.append(file.source) }
            if let warning = file?.warning { warnings.append(warning) }
        }
        self.files = listed
        self.sources = sources
        self.failures = failures
        self.warnings = warnings
        name = places.map(\.path).joined(separator: ", ")
    }
}
