extension PluginHost {
    /// The ABI that plugins are loaded by, such as `1.0`: those of the same major version run.
    public static var abiVersion: String { "\(PluginModule.abi.major).\(PluginModule.abi.minor)" }
}
