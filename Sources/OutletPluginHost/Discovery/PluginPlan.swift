/// The settings that apply to a plugin.
public struct PluginPlan: Sendable {
    /// Whether it is used.
    public let isEnabled: Bool
    /// Whether loading succeeds when it cannot be used.
    public let isOptional: Bool
    /// The names of its instances; empty for one instance without a name.
    public let instances: [String]
    /// The permissions that are granted and withheld.
    public let permissions: PermissionDecision
    /// The origin of the permission policy; `nil` where none is set, which grants all that is asked
    /// for.
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
    /// Returns the settings that apply to one of its plugins.
    ///
    /// - Parameters:
    ///   - id: The plugin's id; it need not be in ``manifests``.
    ///   - permissions: The permissions that the plugin asks for, as in its manifest.
    /// - Returns: The settings of the plugin's directory and of the program, merged.
    /// - Throws: ``PluginLoadError/invalidConfiguration(path:id:violations:)`` when its settings
    ///   are invalid.
    public func plan(
        for id: String, asking permissions: [String]
    ) throws(PluginLoadError) -> PluginPlan {
        PluginPlan(try resolved(id), asking: permissions)
    }

    /// Returns the reasons why a plugin could not be created with its settings.
    ///
    /// Checks its permissions, and, if it is enabled, the number of its instances and the services it
    /// needs; validates the configuration of each instance against its schema. Blocks for that; no
    /// plugin code runs.
    ///
    /// - Parameter plugin: A plugin of this file, from ``askCode()``.
    /// - Returns: An empty array when the host finds nothing wrong; `create` may still fail.
    public func objections(to plugin: InspectedPlugin) -> [PluginLoadError] {
        var objections: [PluginLoadError] = []
        do throws(PluginLoadError) {
            let settings = try resolved(plugin.id)
            let deadlines = PluginLoader.objections(to: settings.deadlines)
            if !deadlines.isEmpty {
                objections.append(
                    .invalidConfiguration(path: path, id: plugin.id, violations: deadlines))
            }
            let plan = PluginPlan(settings, asking: plugin.permissions)
            if let policy = plan.policy, !plan.permissions.withheld.isEmpty {
                objections.append(
                    .notGranted(
                        path: path, id: plugin.id, permissions: plan.permissions.withheld,
                        policy: policy))
            } else if settings.isEnabled {
                do throws(PluginLoadError) {
                    try settings.checkNeeds(
                        isSingle: plugin.isSingle, services: plugin.requiredServices,
                        plan.permissions.grants, of: plugin.id, path: path)
                } catch {
                    objections.append(error)
                }
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
