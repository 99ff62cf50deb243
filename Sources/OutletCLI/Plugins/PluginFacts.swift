import Outlet

/// The data of a plugin to show: from its file, and from its code if that was run.
struct PluginFacts {
    let file: InspectedFile
    /// The plugin's entry in the manifest; `nil` if the file has no manifest.
    let manifest: PluginManifest?
    /// The data from the plugin's descriptor; `nil` if no code was run.
    let code: InspectedPlugin?

    /// The id; `nil` without a manifest if no code was run.
    var id: String? { code?.id ?? manifest?.id }
    /// The version; `nil` without a manifest if no code was run.
    var version: String? { code?.version ?? manifest?.version }
    /// The ABI version; only the major ones without a manifest if no code was run.
    var abi: String {
        code?.abi ?? manifest?.abi ?? file.abiMajors.map(String.init).joined(separator: ", ")
    }
    /// The requested permissions; `nil` without a manifest if no code was run.
    var permissions: [String]? { code?.permissions ?? manifest?.permissions }

    /// Returns the settings with which the plugin would be loaded; `nil` if its id is unknown.
    ///
    /// - Throws: `PluginLoadError` if the settings are wrong.
    func plan() throws(PluginLoadError) -> PluginPlan? {
        guard let id, let permissions else { return nil }
        return try file.plan(for: id, asking: permissions)
    }

    /// The error of its settings; `nil` if they are right, or its id is unknown.
    var settingsError: PluginLoadError? {
        do throws(PluginLoadError) {
            _ = try plan()
            return nil
        } catch {
            return error
        }
    }

    /// Returns the errors in the plugin's settings that can be found with the known data.
    ///
    /// - Throws: `PluginLoadError` if the settings are wrong.
    func objections() throws(PluginLoadError) -> [PluginLoadError] {
        if let code { return file.objections(to: code) }
        guard let id, let plan = try plan(), let policy = plan.policy,
            !plan.permissions.withheld.isEmpty
        else { return [] }
        return [
            .notGranted(
                path: file.path, id: id, permissions: plan.permissions.withheld, policy: policy)
        ]
    }

    /// Returns the plugins in a file's manifest, or one item without data if it has no manifest.
    static func all(of file: InspectedFile) -> [PluginFacts] {
        guard !file.manifests.isEmpty else {
            return [PluginFacts(file: file, manifest: nil, code: nil)]
        }
        return file.manifests.map { PluginFacts(file: file, manifest: $0, code: nil) }
    }

    /// Loads a file, which runs its code, and returns its plugins.
    ///
    /// - Throws: `PluginLoadError` if the file cannot be loaded.
    static func all(
        askingCodeOf file: InspectedFile, console: Console
    ) throws(PluginLoadError) -> [PluginFacts] {
        let (plugins, changes) = try file.askCode()
        if !changes.isEmpty {
            console.report(
                "outlet: \(file.path): \(RestorableProcessState.fact(ofLoading: changes))")
        }
        return plugins.map { plugin in
            PluginFacts(
                file: file, manifest: file.manifests.first { $0.id == plugin.id }, code: plugin)
        }
    }
}
