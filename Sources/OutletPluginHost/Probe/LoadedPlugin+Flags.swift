import COutletPlugin

extension LoadedPlugin {
    /// Whether a process may have only one instance of the plugin.
    package var isPerProcess: Bool {
        instance.descriptor.has(flag: UInt32(OUTLET_F_PER_PROCESS))
    }
}
