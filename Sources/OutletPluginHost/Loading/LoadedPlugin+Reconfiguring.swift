import COutletPlugin
import OutletHTTP

extension LoadedPlugin {
    /// Whether the plugin takes another configuration while it runs.
    public var isReconfigurable: Bool { instance.descriptor.functions.reconfigure != nil }

    /// Tells the running plugin another configuration, all of it.
    ///
    /// It is held against the plugin's schema before. Where this fails, the plugin goes on with the one it
    /// had.
    ///
    /// - Parameter configuration: A JSON object.
    /// - Throws: ``PluginLoadError/invalidConfiguration(path:id:violations:)``, or a ``PluginError`` of the
    ///   plugin's, also where it takes no other configuration while it runs.
    ///
    /// Blocks as long as the plugin does, and, unless it allows overlap, as long as its hooks do.
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
