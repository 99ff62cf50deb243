import OutletTransport

/// Called before and after each call into a plugin, on the thread that makes the call.
///
/// For measuring plugins. An instance reads ``PluginCallProbes/current`` once, when it is created.
package protocol PluginCallProbe: AnyObject, Sendable {
    /// Called directly before the plugin's code runs.
    func willCall(_ plugin: String, _ hook: PluginHook)
    /// Called directly after the plugin's code has returned.
    func didCall(_ plugin: String, _ hook: PluginHook)
}

/// Holds the probe for instances created from now on.
package enum PluginCallProbes {
    private static let state = Lock((any PluginCallProbe)?.none)

    /// The probe; `nil` for none.
    package static var current: (any PluginCallProbe)? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
