import OutletHTTP

extension ResolvedSettings {
    /// Checks what a plugin needs before an instance is created: no more instances than it allows,
    /// and services that the host offers and its permissions allow.
    ///
    /// - Parameters:
    ///   - isSingle: Whether a process may have only one instance of the plugin.
    ///   - services: The services without which the plugin cannot be used.
    ///   - grants: The plugin's permissions.
    ///   - id: The plugin's id, for errors.
    ///   - path: The path of the plugin's file, for errors.
    /// - Throws: ``PluginLoadError/creationFailed(path:id:code:reason:reasonFault:)``.
    func checkNeeds(
        isSingle: Bool, services: [String], _ grants: Grants, of id: String, path: String
    ) throws(PluginLoadError) {
        if isSingle, instances.count > 1 {
            throw .creationFailed(
                path: path, id: id,
                reason: "it allows one instance per process, and settings name "
                    + "\(instances.count)")
        }
        if let missing = services.first(where: { !HostTable.services.contains($0) }) {
            throw .creationFailed(
                path: path, id: id, reason: "it needs \(missing), which this host does not offer")
        }
        if let denied = services.first(where: { !grants.allowsService($0) }) {
            throw .creationFailed(
                path: path, id: id,
                reason: "it needs \(denied), and asks for no server that it may send to (net:HOST)")
        }
    }
}

extension ResolvedSettings.Instance {
    /// Validates the configuration against a plugin's schema.
    ///
    /// - Parameters:
    ///   - schema: The schema as JSON; an empty text allows any configuration.
    ///   - path: The path of the plugin's file, for errors.
    /// - Throws: ``PluginLoadError/invalidConfiguration(path:id:violations:)``;
    ///   ``PluginLoadError/invalidSchema(path:id:reason:)`` when the schema cannot be used;
    ///   ``PluginLoadError/creationFailed(path:id:code:reason:reasonFault:)`` when there is no memory
    ///   or thread for it.
    func check(against schema: String, path: String) throws(PluginLoadError) {
        guard !schema.isEmpty else { return }
        // The program's own settings were not parsed from a text that was checked.
        var faults = ConfigurationViolation.faults(in: .object(configuration.object))
        guard faults.isEmpty else {
            for index in faults.indices {
                let token = faults[index].path.firstPointerToken
                faults[index].source = configuration.source(of: token)
            }
            throw .invalidConfiguration(path: path, id: label, violations: faults)
        }
        let violations: [ConfigurationViolation]
        do throws(ConfigurationSchema.Unusable) {
            violations = try ConfigurationSchema(text: schema).violations(of: configuration)
        } catch {
            throw PluginLoadError(error, path: path, id: label, configuration.source(of: nil))
        }
        guard violations.isEmpty else {
            throw .invalidConfiguration(path: path, id: label, violations: violations)
        }
    }
}
