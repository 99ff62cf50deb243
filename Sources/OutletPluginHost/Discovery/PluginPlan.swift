/// How a plugin is to be used, by the settings that hold for it.
public struct PluginPlan: Sendable {
    /// Whether it is used at all.
    public let isEnabled: Bool
    /// Whether to go on without it when it cannot be used.
    public let isOptional: Bool
    /// The names of its instances; empty for one without a name.
    public let instances: [String]
    /// What it may do.
    public let permissions: PermissionDecision
    /// Where the policy comes from; `nil` without one, which grants all.
    public let policy: String?

    init(_ settings: ResolvedSettings, asking permissions: [String]) {
        isEnabled = settings.isEnabled
        isOptional = settings.isOptional
        instances = settings.instances.compactMap(\.name)
        self.permissions = PermissionDecision(on: permissions, by: settings.policy?.permissions)
        policy = settings.policy?.source
    }
}

extension InspectedFile {
    /// How one of its plugins is to be used.
    ///
    /// - Parameters:
    ///   - id: The plugin's.
    ///   - permissions: What it asks for.
    /// - Throws: ``PluginLoadError/invalidConfiguration(path:id:violations:)`` when its settings are
    ///   wrong.
    public func plan(
        for id: String, asking permissions: [String]
    ) throws(PluginLoadError) -> PluginPlan {
        PluginPlan(try resolved(id), asking: permissions)
    }

    /// Why a plugin could not be created with its settings: each instance is held against its schema.
    ///
    /// - Returns: Nothing when it could be, as far as the host can tell.
    public func objections(to plugin: InspectedPlugin) -> [PluginLoadError] {
        var objections: [PluginLoadError] = []
        do throws(PluginLoadError) {
            let settings = try resolved(plugin.id)
            let plan = PluginPlan(settings, asking: plugin.permissions)
            if let policy = plan.policy, !plan.permissions.withheld.isEmpty {
                objections.append(
                    .notGranted(
                        path: path, id: plugin.id, permissions: plan.permissions.withheld,
                        policy: policy))
            }
            for instance in settings.instances {
                do throws(PluginLoadError) {
                    try instance.check(against: plugin.configurationSchema, path: path)
                } catch {
                    objections.append(error)
                }
            }
        } catch {
            objections.append(error)
        }
        return objections
    }

    private func resolved(_ id: String) throws(PluginLoadError) -> ResolvedSettings {
        do {
            return try settings.resolve(id, file: source)
        } catch {
            throw .invalidConfiguration(path: path, id: id, violations: error.violations)
        }
    }
}
