import Outlet

/// What can be shown of a plugin: what its file says, and what its code says if that was asked.
struct PluginFacts {
    let file: InspectedFile
    /// `nil` when the file holds no manifest.
    let manifest: PluginManifest?
    /// `nil` when no code has run.
    let code: InspectedPlugin?

    /// `nil` when only the code could tell.
    var id: String? { code?.id ?? manifest?.id }
    /// `nil` when only the code could tell.
    var version: String? { code?.version ?? manifest?.version }
    /// The ABI, without its minor when only the code could tell that.
    var abi: String {
        code?.abi ?? manifest?.abi ?? file.abiMajors.map(String.init).joined(separator: ", ")
    }
    /// `nil` when only the code could tell.
    var permissions: [String]? { code?.permissions ?? manifest?.permissions }

    /// How it is to be used; `nil` when only the code could tell who it is.
    func plan() throws(PluginLoadError) -> PluginPlan? {
        guard let id, let permissions else { return nil }
        return try file.plan(for: id, asking: permissions)
    }

    /// What speaks against its settings, as far as it is known.
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

    /// What a file says: its manifest's entries, or that it holds none.
    static func all(of file: InspectedFile) -> [PluginFacts] {
        guard !file.manifests.isEmpty else {
            return [PluginFacts(file: file, manifest: nil, code: nil)]
        }
        return file.manifests.map { PluginFacts(file: file, manifest: $0, code: nil) }
    }

    /// What the code of a file says, too; it runs.
    static func all(
        askingCodeOf file: InspectedFile, console: Console
    ) throws(PluginLoadError) -> [PluginFacts] {
        let (plugins, changes) = try file.askCode()
        if !changes.isEmpty {
            console.report(
                "outlet: \(file.path): loading it changed \(changes.joined(separator: ", ")); that "
                    + "was put back")
        }
        return plugins.map { plugin in
            PluginFacts(
                file: file, manifest: file.manifests.first { $0.id == plugin.id }, code: plugin)
        }
    }
}
