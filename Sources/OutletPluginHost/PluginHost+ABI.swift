extension PluginHost {
    /// The version of the plugin ABI, such as `1.0`; plugins of the same major version are loaded.
    public static var abiVersion: String { "\(PluginModule.abi.major).\(PluginModule.abi.minor)" }
}
