import OutletTransport

/// Told of each call into a plugin, on the thread that makes it, directly before and behind.
///
/// For measuring plugins; asked for once for each instance, when that is made.
package protocol PluginCallProbe: AnyObject, Sendable {
    /// A call goes into the plugin.
    func willCall(_ plugin: String, _ hook: PluginHook)
    /// The call has come back.
    func didCall(_ plugin: String, _ hook: PluginHook)
}

/// The probe of the instances that are made from now on.
package enum PluginCallProbes {
    private static let state = Lock((any PluginCallProbe)?.none)

    /// The probe, if there is one.
    package static var current: (any PluginCallProbe)? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
