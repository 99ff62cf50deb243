import COutletPlugin
import OutletHTTP

extension LoadedPlugin {
    /// Whether the plugin accepts a new configuration while it runs.
    public var isReconfigurable: Bool { instance.descriptor.functions.reconfigure != nil }

    /// Replaces the configuration of the running plugin.
    ///
    /// The configuration is validated against the plugin's schema first. If this fails, the plugin
    /// keeps its present configuration. Settings of the host and of files are not merged in.
    ///
    /// Blocks until the plugin has returned. Unless the plugin allows overlapping calls, it also
    /// waits for its hooks that are running, at most for `PluginHost.Options.answerDeadline`.
    ///
    /// - Parameter configuration: The complete configuration, a text of a JSON object.
    /// - Throws: ``PluginLoadError/invalidConfiguration(path:id:violations:)`` when the
    ///   configuration is not a JSON object or not valid; another ``PluginLoadError`` when the
    ///   schema cannot be used; a ``PluginError`` when the plugin refuses the configuration, is
    ///   closed, does not support this, or is in a hook for too long.
    public func reconfigure(_ configuration: String) throws {
        var layers = LayeredConfiguration()
        do throws(InvalidSettings) {
            layers.lay(
                try LayeredConfiguration.object(parsing: configuration.utf8), from: "the program")
        } catch {
            throw PluginLoadError.invalidConfiguration(
                path: path, id: id, violations: error.from("the program").violations)
        }
        try ResolvedSettings.Instance(label: id, name: instanceName, configuration: layers)
            .check(against: configurationSchema, path: path)
        guard let function = instance.descriptor.functions.reconfigure else {
            throw instance.failure(
                of: .reconfigure, "it takes no other configuration while it runs")
        }
        let value = JSONValue.object(layers.object)
        let context = CallContext(deadline: 0, configuration: value)
        let status = try instance.perform(.reconfigure) { pointer in
            instance.owner.configuring(
                value, dataDirectory: dataDirectory, context
            ) { function(pointer, $0, $1) }
        }
        guard status == OUTLET_OK else {
            throw instance.failure(of: .reconfigure, context.reason(status))
        }
    }
}
