import FoundationEssentials
import COutletPlugin
import OutletHTTP

/// A plugin that runs: what it says of itself, and how it has behaved.
///
/// Thread: any.
public final class LoadedPlugin: Sendable {
    /// Unique among the plugins of a host: the plugin's id, with `#` and the name of the instance if
    /// it has one.
    public let id: String
    /// The plugin's id; several instances have it.
    public let pluginID: String
    /// The name of the instance; `nil` where the plugin has one alone.
    public let instanceName: String?
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
    /// What the file says of it; `nil` when that holds no manifest.
    public let manifest: PluginManifest?
    /// What it needs, in its own words.
    public let permissions: [String]
    /// What it may do.
    public let grants: Grants
    /// The moments it takes part in.
    public let hooks: [PluginHook]
    /// The functions it exports, in its own order.
    public let functions: [PluginFunction]
    /// The libraries it needs (`DT_NEEDED`).
    public let neededLibraries: [String]
    /// How many symbols its file exports beside the entry, and the first of them by name.
    ///
    /// Each may be taken for the host's own, or the other way round; the flags of
    /// `outlet-plugin.pc` export none.
    public let straySymbols: (count: Int, examples: [String])
    /// Whether its hooks may overlap.
    public let isConcurrent: Bool
    /// Whether it promises never to block.
    public let isNonblocking: Bool
    /// Whether it makes threads of its own.
    public let makesThreads: Bool
    /// How long loading and creating it took, in nanoseconds.
    public let loadDuration: UInt64

    let instance: PluginInstance
    let caller: FunctionCaller
    /// The directory of its own; `nil` where the program gives plugins none.
    let dataDirectory: String?

    init(
        _ instance: PluginInstance, named instanceName: String?, file: PluginFile,
        abiMinor: UInt32, dataDirectory: String?, loadDuration: UInt64
    ) {
        let descriptor = instance.descriptor
        id = instance.id
        pluginID = descriptor.id
        self.instanceName = instanceName
        name = descriptor.name
        version = descriptor.version
        summary = descriptor.summary
        vendor = descriptor.vendor
        url = descriptor.url
        configurationSchema = descriptor.configurationSchema
        path = file.path
        abi = "\(PluginModule.abi.major).\(abiMinor)"
        manifest = file.manifests.first { $0.id.hasSameBytes(as: descriptor.id) }
        permissions = descriptor.permissions
        grants = instance.grants
        functions = descriptor.exports.map(PluginFunction.init)
        neededLibraries = file.library.neededLibraries
        straySymbols = (file.library.otherSymbolCount, file.library.otherSymbols)
        isConcurrent = instance.isConcurrent
        isNonblocking = instance.isNonblocking
        makesThreads = descriptor.has(flag: UInt32(OUTLET_F_SPAWNS))
        self.loadDuration = loadDuration
        self.dataDirectory = dataDirectory
        let table = instance.hooks
        let all: [(PluginHook, Bool)] = [
            (.adapt, table.adapt != nil), (.prepare, table.prepare != nil),
            (.finalize, table.finalize != nil), (.willSend, table.will_send != nil),
            (.redirect, table.redirect != nil), (.retry, table.retry != nil),
            (.didReceive, table.did_receive != nil), (.process, table.process != nil),
            (.requestDone, table.request_done != nil), (.serialize, table.serialize != nil),
            (.events, table.on_events != nil), (.trust, table.trust != nil),
        ]
        hooks = all.filter(\.1).map(\.0)
        self.instance = instance
        caller = FunctionCaller(instance)
    }

    /// Calls a function that the plugin exports.
    ///
    /// - Parameters:
    ///   - function: Its name.
    ///   - arguments: One for each parameter; whole numbers fit all kinds of numbers.
    /// - Throws: ``PluginCallError``.
    ///
    /// Blocks as long as the function does, and, unless the plugin allows overlap, as long as its
    /// hooks do.
    public func call(
        _ function: String, _ arguments: PluginValue...
    ) throws(PluginCallError) -> PluginValue {
        try caller.call(caller.function(named: function), arguments)
    }

    /// Calls a function that takes a JSON text and gives one.
    ///
    /// - Parameters:
    ///   - function: The name of a function that takes a text or bytes, and gives a text or bytes.
    ///   - value: Encoded as JSON.
    ///   - type: What the function gives is decoded as.
    /// - Throws: ``PluginCallError``, or what encoding or decoding throws.
    ///
    /// Blocks as ``call(_:_:)`` does.
    public func call<Value: Decodable>(
        _ function: String, json value: some Encodable, as type: Value.Type = Value.self
    ) throws -> Value {
        let text = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        let result = try caller.call(caller.function(named: function), [.text(text)])
        return try JSONDecoder().decode(type, from: Data(result.description.utf8))
    }

    /// What the plugin has done so far.
    public var status: PluginStatus { instance.owner.status }

    /// How often the plugin broke the contract, by what it broke.
    public var misbehaviour: [PluginMisbehaviour.Kind: Int] { instance.owner.misbehaviour }
}

/// A function that a plugin exports.
public struct PluginFunction: Sendable, Equatable {
    /// Its name within the plugin.
    public let name: String
    /// Its type in the letters of `outlet/export.h`, such as `e(cso)`.
    public let signature: String
    /// Its type for people, such as `(text) -> text`.
    public let declaration: String
    /// One line for people; may be empty.
    public let summary: String

    init(_ export: PluginExport) {
        name = export.name
        signature = export.signature.description
        declaration = export.signature.declaration
        summary = export.summary
    }
}
