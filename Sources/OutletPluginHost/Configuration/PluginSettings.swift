public import OutletHTTP

/// How a plugin is used: its configuration, its permissions, its instances.
///
/// A program gives it by ``PluginHost/Options/settings``, the owner of a plugin directory by its
/// `plugins.json`. What the program says comes before what the file says: `nil`, and no instances, say
/// nothing, and of ``configuration`` each key is a matter of its own.
public struct PluginSettings: Sendable, Equatable {
    /// The plugin's configuration.
    public var configuration: JSONObject = [:]
    /// Whether the plugin is used; it is unless told otherwise.
    public var isEnabled: Bool?
    /// Whether to go on without the plugin when it cannot be used; all are needed unless told otherwise.
    public var isOptional: Bool?
    /// Whether requests go on without the plugin where it fails one, unless that is a refusal
    /// (`OUTLET_E_DENIED`) or a server that it does not trust; they fail unless told otherwise.
    public var failsOpen: Bool?
    /// How long hooks of the plugin are waited for, by their names (`adapt`), where that is less than
    /// ``PluginHost/Options/answerDeadline``.
    public var deadlines: [String: Duration] = [:]
    /// What may be granted to the plugin, such as `net:*.example.com` (``Permission``); all that it
    /// asks for unless told otherwise.
    public var permissions: [String]?
    /// The instances of the plugin, in the order in which their hooks are called; one without a name
    /// if there are none.
    public var instances: [Instance] = []

    /// One of several instances of a plugin.
    public struct Instance: Sendable, Equatable {
        /// Unique among the plugin's: 1 to 64 letters, digits, `.`, `-` and `_` of ASCII.
        ///
        /// The instance is known as the plugin's id, `#` and this name.
        public var name: String
        /// The configuration of this instance; its keys override the plugin's.
        public var configuration: JSONObject

        /// Makes an instance.
        ///
        /// - Parameters:
        ///   - name: What it is told from the others by; behind `#` in its id.
        ///   - configuration: Goes before that of the plugin, member by member.
        public init(name: String, configuration: JSONObject = [:]) {
            self.name = name
            self.configuration = configuration
        }
    }

    /// Says nothing.
    public init() {}
}

/// Settings by plugin id, and where they come from.
struct SettingsSource: Sendable {
    /// The path of a file.
    let name: String
    let settings: [String: PluginSettings]
}
