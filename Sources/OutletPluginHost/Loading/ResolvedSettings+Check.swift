import OutletHTTP

extension ResolvedSettings.Instance {
    /// Validates the configuration against a plugin's schema.
    ///
    /// - Parameters:
    ///   - schema: The schema as JSON; an empty text allows any configuration.
    ///   - path: The path of the plugin's file, for errors.
    /// - Throws: ``PluginLoadError/invalidConfiguration(path:id:violations:)``;
    ///   ``PluginLoadError/invalidSchema(path:id:reason:)`` when the schema cannot be used;
    ///   ``PluginLoadError/creationFailed(path:id:reason:)`` when there is no memory or thread for
    ///   it.
    func check(against schema: String, path: String) throws(PluginLoadError) {
        guard !schema.isEmpty else { return }
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
