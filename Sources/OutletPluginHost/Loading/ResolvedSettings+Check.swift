import OutletHTTP

extension ResolvedSettings.Instance {
    /// Holds the configuration against a plugin's schema.
    ///
    /// - Parameters:
    ///   - schema: As JSON; an empty one allows all.
    ///   - path: The plugin's file.
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
