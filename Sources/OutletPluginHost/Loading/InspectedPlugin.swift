import COutletPlugin

/// What a plugin's code says of it before it is created.
///
/// The hooks are not among that: a plugin tells them when it has been created.
public struct InspectedPlugin: Sendable {
    /// The plugin's id.
    public let id: String
    /// The name for people.
    public let name: String
    /// Such as `1.0.0`.
    public let version: String
    /// One line for people; may be empty.
    public let summary: String
    /// Who made it; may be empty.
    public let vendor: String
    /// Where to read more; may be empty.
    public let url: String
    /// The JSON Schema of its configuration; may be empty.
    public let configurationSchema: String
    /// The file it came from.
    public let path: String
    /// The ABI it was built for, such as `1.0`.
    public let abi: String
    /// Whether its file holds a manifest, which then agrees.
    public let hasManifest: Bool
    /// What it needs, in its own words.
    public let permissions: [String]
    /// The functions it exports, in its own order.
    public let functions: [PluginFunction]
    /// Whether its hooks may overlap.
    public let isConcurrent: Bool
    /// Whether it promises never to block.
    public let isNonblocking: Bool
    /// Whether it makes threads of its own.
    public let makesThreads: Bool

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
    }
}
