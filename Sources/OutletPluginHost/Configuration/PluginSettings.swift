public import OutletHTTP

/// The settings of a plugin: configuration, permissions, instances.
///
/// A program sets them in ``PluginHost/Options/settings``, the owner of a plugin directory in its
/// `plugins.json`. The program's values override the file's; a value of `nil`, or an empty list of
/// instances, overrides nothing. ``configuration`` is merged by top-level key, ``deadlines`` by
/// hook.
public struct PluginSettings: Sendable, Equatable {
    /// The plugin's configuration.
    public var configuration: JSONObject = [:]
    /// Whether the plugin is used; `nil` means yes.
    public var isEnabled: Bool?
    /// Whether loading succeeds when the plugin cannot be used; `nil` means no.
    public var isOptional: Bool?
    /// Whether requests continue when the plugin fails; `nil` means no.
    ///
    /// Refusals (`OUTLET_E_DENIED`) and untrusted servers fail the request in any case.
    public var failsOpen: Bool?
    /// Time limits for hooks, by name (`adapt`), above 0; they apply where shorter than
    /// ``PluginHost/Options/answerDeadline``.
    public var deadlines: [String: Duration] = [:]
    /// The permissions that may be granted, such as `net:*.example.com` (``Permission``); `nil`
    /// grants all that the plugin asks for and the host knows.
    public var permissions: [String]?
    /// The instances of the plugin, in the order in which their hooks are called; if empty, there
    /// is one instance without a name.
    public var instances: [Instance] = []

    /// One of several instances of a plugin.
    public struct Instance: Sendable, Equatable {
        /// The name, unique within the plugin: 1 to 64 ASCII letters, digits, `.`, `-` and `_`.
        ///
        /// The id of the instance is the plugin's id, `#` and this name.
        public var name: String
        /// The configuration of this instance; its top-level keys override the plugin's.
        public var configuration: JSONObject

        /// Creates an instance.
        ///
        /// - Parameters:
        ///   - name: 1 to 64 ASCII letters, digits, `.`, `-` and `_`; checked when plugins are
        ///     loaded.
        ///   - configuration: Its top-level keys override the plugin's configuration.
        public init(name: String, configuration: JSONObject = [:]) {
            self.name = name
            self.configuration = configuration
        }
    }

    /// Creates settings that override nothing.
    public init() {}
}

/// Settings by plugin id, and the file they were read from.
struct SettingsSource: Sendable {
    /// The path of a file.
    let name: String
    let settings: [String: PluginSettings]
}
