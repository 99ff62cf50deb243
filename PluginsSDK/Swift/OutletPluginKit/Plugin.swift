@_exported public import COutletPlugin

/// A plugin written in Swift.
///
/// Further conformances select its hooks: ``RequestAdapting``, ``RequestPreparing``,
/// ``RequestFinalizing``, ``RequestObserving``, ``RedirectDeciding``, ``RequestRetrying``,
/// ``ResponseProcessing``, ``ResponseSerializing``, ``CallTracking``, ``EventMonitoring``,
/// ``ServerTrustDeciding``; ``FunctionExporting`` adds functions that are called by name, and
/// ``Reconfiguring`` accepts other settings while the plugin runs. The host calls no other hooks.
///
/// Hooks of one instance may run at the same time, hence `Sendable`. A trap (an index out of range,
/// a forced `nil`) ends the whole process: throw errors instead.
public protocol Plugin: Sendable {
    /// The description of the plugin; read once, when the library is loaded.
    static var info: PluginInfo { get }

    /// Makes an instance; the host keeps it until it unloads the plugin.
    ///
    /// - Parameters:
    ///   - host: The functions of the host; valid as long as the instance.
    ///   - configuration: The configuration of the instance; readable until this returns.
    /// - Throws: Any error; the host refuses the plugin and shows the error's text.
    ///
    /// Thread: one of the host's; several instances may be made at the same time.
    init(host: Host, configuration: Configuration) throws
}

/// The description of a plugin.
public struct PluginInfo: Sendable {
    /// Unique among plugins: lower-case letters, digits and `-`, with a `.` between parts, such as
    /// `com.example.signer`.
    public var id: String
    /// The version of the plugin, such as `1.0.0`.
    public var version: String
    /// The name to show; ``id`` if empty.
    public var name: String
    /// A description of one line; may be empty.
    public var summary: String
    /// The author or company; may be empty.
    public var vendor: String
    /// The URL of the plugin's home page; may be empty.
    public var url: String
    /// The JSON Schema (draft 4, 6 or 7) by which the host validates the configuration before it
    /// makes the plugin.
    ///
    /// If empty, that of a ``ConfiguredPlugin`` is derived from its type; others are not validated.
    public var configurationSchema: String
    /// The permissions that the plugin needs, such as `net:api.example.com`; the same as in its
    /// manifest.
    public var permissions: [String]
    /// Whether no hook ever blocks: each returns within microseconds.
    ///
    /// The host may call such hooks on the thread that carries the request.
    public var isNonblocking: Bool
    /// The position of the plugin's hooks among those of other plugins.
    public var order: Order
    /// The services without which the plugin does not work, such as `outlet.http/1`.
    ///
    /// A host that does not offer them refuses the plugin.
    public var requiredServices: [String]

    /// The position of a plugin's hooks among those of other plugins; within one position, the
    /// order of loading.
    public enum Order: Int32, Sendable {
        /// Before others, for example to answer requests itself.
        case first = -1
        /// Between ``first`` and ``last``.
        case normal = 0
        /// After others, for example to sign the requests that they changed.
        case last = 1
    }

    /// Describes a plugin.
    ///
    /// - Parameters:
    ///   - id: Unique among plugins: lower-case letters, digits and `-`, with a `.` between parts.
    ///   - version: The version of the plugin, such as `1.0.0`.
    ///   - name: The name to show; `id` if empty.
    ///   - summary: A description of one line.
    ///   - vendor: The author or company.
    ///   - url: The URL of the plugin's home page.
    ///   - configurationSchema: The JSON Schema of the configuration; see ``configurationSchema``.
    ///   - permissions: The permissions that the plugin needs, as in its manifest.
    ///   - isNonblocking: Whether no hook ever blocks: each returns within microseconds.
    ///   - order: The position of the hooks among those of other plugins.
    ///   - requiredServices: The services without which the plugin does not work.
    public init(
        id: String, version: String, name: String = "", summary: String = "", vendor: String = "",
        url: String = "", configurationSchema: String = "", permissions: [String] = [],
        isNonblocking: Bool = false, order: Order = .normal, requiredServices: [String] = []
    ) {
        self.order = order
        self.requiredServices = requiredServices
        self.id = id
        self.version = version
        self.name = name
        self.summary = summary
        self.vendor = vendor
        self.url = url
        self.configurationSchema = configurationSchema
        self.permissions = permissions
        self.isNonblocking = isNonblocking
    }
}
