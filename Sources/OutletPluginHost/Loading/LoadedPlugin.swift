import FoundationEssentials
import COutletPlugin
import OutletHTTP
import OutletTransport

/// A running plugin: its description, its permissions and its statistics.
///
/// Thread: any.
public final class LoadedPlugin: Sendable {
    /// The id, unique within a host: the plugin's id, followed by `#` and the name of the instance
    /// if it has one.
    public let id: String
    /// The plugin's id, which all its instances share.
    public let pluginID: String
    /// The name of the instance; `nil` where settings name none.
    public let instanceName: String?
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
    /// The path of its file, as it was given to the host.
    public let path: String
    /// The ABI version it was built for, such as `1.0`.
    public let abi: String
    /// The manifest in its file; `nil` where there is none.
    public let manifest: PluginManifest?
    /// The permissions that it asks for, as it writes them.
    public let permissions: [String]
    /// The permissions that it was granted.
    public let grants: Grants
    /// The hooks that it implements.
    public let hooks: [PluginHook]
    /// The functions that it exports, in its own order.
    public let functions: [PluginFunction]
    /// The libraries that it needs (`DT_NEEDED`).
    public let neededLibraries: [String]
    /// The number of symbols that its file exports besides the entry function, and the first of
    /// them by name.
    ///
    /// Each can collide with a symbol of the program or of another library; the flags of
    /// `outlet-plugin.pc` export none.
    public let straySymbols: (count: Int, examples: [String])
    /// Whether its hooks may run at the same time (`OUTLET_F_CONCURRENT`).
    public let isConcurrent: Bool
    /// Whether its hooks never block (`OUTLET_F_NONBLOCKING`).
    public let isNonblocking: Bool
    /// Whether it starts threads (`OUTLET_F_SPAWNS`).
    public let makesThreads: Bool
    /// The time from the start of loading its file until it was created, in nanoseconds.
    public let loadDuration: UInt64

    let instance: PluginInstance
    let caller: FunctionCaller
    /// Keeps the plugins of its host running as long as this object is referenced.
    private let running = Lock<RunningPlugins?>(nil)
    /// The data directory of the instance; `nil` where the host has none.
    let dataDirectory: String?

    /// Sets the plugins that run as long as this object is referenced.
    func keep(_ plugins: RunningPlugins) { running.withLock { $0 = plugins } }

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
    /// Blocks until the function returns. Unless the plugin allows overlapping calls, it also waits
    /// for hooks of the same instance that are running, at most for
    /// `PluginHost.Options.answerDeadline`.
    ///
    /// - Parameters:
    ///   - function: The function's name within the plugin.
    ///   - arguments: One value for each parameter; integers are converted to the parameter's
    ///     number type.
    /// - Returns: The function's result; ``PluginValue/nothing`` where it has none.
    /// - Throws: ``PluginCallError`` when there is no such function, when the arguments do not fit,
    ///   or when the function fails.
    public func call(
        _ function: String, _ arguments: PluginValue...
    ) throws(PluginCallError) -> PluginValue {
        try caller.call(caller.function(named: function), arguments)
    }

    /// Calls a function that takes and returns JSON.
    ///
    /// Blocks as ``call(_:_:)`` does.
    ///
    /// - Parameters:
    ///   - function: The name of a function that takes one text or one byte sequence and returns
    ///     one.
    ///   - value: The argument, encoded with `JSONEncoder`.
    ///   - type: The type to decode the result as, with `JSONDecoder`.
    /// - Returns: The decoded result.
    /// - Throws: ``PluginCallError`` as ``call(_:_:)``; `EncodingError` or `DecodingError`.
    public func call<Value: Decodable>(
        _ function: String, json value: some Encodable, as type: Value.Type = Value.self
    ) throws -> Value {
        let text = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        let result = try caller.call(caller.function(named: function), [.text(text)])
        return try JSONDecoder().decode(type, from: Data(result.description.utf8))
    }

    /// Call counts, durations and violations so far.
    public var status: PluginStatus { instance.owner.status }

    /// The number of contract violations by kind.
    public var misbehaviour: [PluginMisbehaviour.Kind: Int] { instance.owner.misbehaviour }
}

/// A function that a plugin exports.
public struct PluginFunction: Sendable, Equatable {
    /// The name, unique within the plugin.
    public let name: String
    /// The type in the notation of `outlet/export.h`, such as `e(cso)`.
    public let signature: String
    /// The type in readable form, such as `(text) -> text`.
    public let declaration: String
    /// A description in one line; may be empty.
    public let summary: String

    init(_ export: PluginExport) {
        name = export.name
        signature = export.signature.description
        declaration = export.signature.declaration
        summary = export.summary
    }
}
