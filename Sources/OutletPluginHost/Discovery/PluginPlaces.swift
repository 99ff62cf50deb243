import OutletHTTP

/// The files of plugin directories and further files, in loading order, with the settings that
/// directories have for them.
struct PluginPlaces {
    let files: [ListedFile]
    /// The settings of all directories.
    let sources: [SettingsSource]
    /// The errors of entries of directories.
    let failures: [PluginLoadError]
    /// Problems that do not prevent loading, one line each.
    let warnings: [String]
    /// The directories and files as they were given, for error messages.
    let name: String

    /// Lists the files.
    ///
    /// - Parameters:
    ///   - directories: Paths of plugin directories; not searched recursively.
    ///   - files: Paths of further libraries. A path without a slash is relative to the current
    ///     directory.
    ///   - checksOwnership: Whether to refuse directories that users other than root and the current
    ///     user can write to.
    ///   - readsSettingsFiles: Whether each directory's `plugins.json` is read.
    /// - Throws: ``PluginDirectoryError`` when a directory or its `plugins.json` cannot be read or
    ///   is not safe.
    init(
        directories: [String], files: [String], checksOwnership: Bool, readsSettingsFiles: Bool
    ) throws(PluginDirectoryError) {
        var listed: [ListedFile] = []
        var sources: [SettingsSource] = []
        var failures: [PluginLoadError] = []
        var warnings: [String] = []
        for path in directories {
            let directory = try PluginDirectory(path: path, checksOwnership: checksOwnership)
            let file =
                readsSettingsFiles
                ? try SettingsFile.read(
                    inDirectory: directory.path, checksOwnership: checksOwnership) : nil
            listed += directory.candidates.map {
                ListedFile(path: $0, isListed: true, settings: file?.source)
            }
            failures += directory.failures
            if let file { sources.append(file.source) }
            if let warning = file?.warning { warnings.append(warning) }
        }
        // `dlopen` searches the library path for a name without a slash.
        listed += files.map {
            ListedFile(path: $0.containsByte("/") ? $0 : "./\($0)", isListed: false, settings: nil)
        }
        self.files = listed
        self.sources = sources
        self.failures = failures
        self.warnings = warnings
        name = (directories + files).joined(separator: ", ")
    }
}
