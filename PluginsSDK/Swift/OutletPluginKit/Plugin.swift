@_exported public import COutletPlugin

/// A plugin written in Swift: what it is, and how one instance of it comes to life.
///
/// What it takes part in is said by further conformances: ``RequestPreparing``,
/// ``RequestObserving``, ``ResponseProcessing``, ``RequestAdapting``, ``RequestRetrying``,
/// ``FunctionExporting``. The host makes no call for the others.
///
/// Hooks of one instance may overlap; `Sendable` is what makes that safe. A trap (an index out of
/// range, a forced `nil`) ends the whole process, so plugins throw instead.
public protocol Plugin: Sendable {
    /// What the plugin says of itself.
    static var info: PluginInfo { get }

    /// Makes an instance; it lives until the host is done with it.
    ///
    /// - Parameters:
    ///   - host: The way back to the host.
    ///   - configuration: How this instance is to behave; readable until this returns.
    /// - Throws: Any error; the host refuses the plugin and shows the error's text.
    init(host: Host, configuration: Configuration) throws
}

/// What a plugin says of itself.
public struct PluginInfo: Sendable {
    /// Unique among plugins: lower-case letters, digits, `.` and `-`, such as `com.example.signer`.
    public var id: String
    /// Such as `1.0.0`.
    public var version: String
    /// The name for people; the id when empty.
    public var name: String
    /// One line for people.
    public var summary: String
    /// Who made it.
    public var vendor: String
    /// Where to read more.
    public var url: String
    /// A JSON Schema (draft 4, 6 or 7) that the host holds the configuration against before the plugin
    /// is made; empty when there is none.
    public var configurationSchema: String
    /// What the plugin needs, such as `net:api.example.com`; the same as in its manifest.
    public var permissions: [String]
    /// Promises that no hook ever blocks: each returns within microseconds.
    public var isNonblocking: Bool
    /// Where the hooks stand among those of other plugins.
    public var order: Order
    /// The services that it cannot do without, such as `outlet.http/1`.
    public var requiredServices: [String]

    /// Where a plugin's hooks stand among those of others.
    public enum Order: Int32, Sendable {
        /// Before the others, such as one that answers in their place.
        case first = -1
        /// In the order of loading.
        case normal = 0
        /// Behind the others, such as one that signs what they made.
        case last = 1
    }

    /// Describes a plugin.
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
