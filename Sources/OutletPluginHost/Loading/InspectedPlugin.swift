import COutletPlugin

/// The description of a plugin from its code, before an instance is created.
///
/// It does not contain the hooks: a plugin declares them after it has been created.
public struct InspectedPlugin: Sendable {
    /// The plugin's id.
    public let id: String
    /// The display name.
    public let name: String
    /// The version, such as `1.0.0`.
    public let version: String
    /// A description in one line; may be empty.
    public let summary: String
    /// The vendor; may be empty.
    public let vendor: String
    /// The URL of its documentation; may be empty.
    public let url: String
    /// The JSON Schema of its configuration; empty if it has none.
    public let configurationSchema: String
    /// The path of its file.
    public let path: String
    /// The ABI version it was built for, such as `1.0`.
    public let abi: String
    /// Whether its file contains a manifest, which then agrees with the code.
    public let hasManifest: Bool
    /// The permissions that it asks for, as it writes them.
    public let permissions: [String]
    /// The functions that it exports, in its own order.
    public let functions: [PluginFunction]
    /// Whether its hooks may run at the same time (`OUTLET_F_CONCURRENT`).
    public let isConcurrent: Bool
    /// Whether its hooks never block (`OUTLET_F_NONBLOCKING`).
    public let isNonblocking: Bool
    /// Whether it starts threads (`OUTLET_F_SPAWNS`).
    public let makesThreads: Bool
    /// Whether a process may have only one instance (`OUTLET_F_PER_PROCESS`).
    let isSingle: Bool
    /// The services without which the plugin cannot be used.
    let requiredServices: [String]

    init(_ descriptor: PluginDescriptor, path: String, abiMinor: UInt32, hasManifest: Bool) {
        id = descriptor.id
        name = descriptor.name
        version = descriptor.version
        summary = descriptor.summary
        vendor = descriptor.vendor
        url = descriptor.url
        configurationSchema = descriptor.configurationSchema
        self.path = path
        abi = "\(PluginModule.abi.major).\(abiMinor)"
        self.hasManifest = hasManifest
        permissions = descriptor.permissions
        functions = descriptor.exports.map(PluginFunction.init)
        isConcurrent = descriptor.has(flag: UInt32(OUTLET_F_CONCURRENT))
        isNonblocking = descriptor.has(flag: UInt32(OUTLET_F_NONBLOCKING))
        makesThreads = descriptor.has(flag: UInt32(OUTLET_F_SPAWNS))
        isSingle = descriptor.isSingle
        requiredServices = descriptor.requiredServices
    }
}
