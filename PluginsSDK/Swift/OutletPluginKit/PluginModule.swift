public import COutletPlugin
import OutletPointers

/// The C tables of a library's plugins, which the host reads.
///
/// A library keeps one in a global, and its entry point returns ``table``:
///
/// ```swift
/// private let module = PluginModule(Signer.self)
///
/// @c @implementation
/// public func outlet_module_v1(_ hostMinor: UInt32) -> UnsafePointer<outlet_module>? {
///     module.table
/// }
/// ```
public struct PluginModule: @unchecked Sendable {
    // @unchecked because the tables are never written again after `init`, nor freed.

    /// The table that `outlet_module_v1` returns; never freed.
    public let table: UnsafePointer<outlet_module>

    /// Builds the tables of a library's plugin types.
    ///
    /// Allocates memory that is never freed: make one per process.
    ///
    /// - Parameters:
    ///   - type: The plugin; its tables have only the hooks of the protocols to which it conforms.
    ///   - others: The other plugins of the library, each with an id of its own.
    public init(_ type: any Plugin.Type, _ others: any Plugin.Type...) {
        let descriptors = ([type] + others).map { outlet_descriptor(of: $0) }
        var module = outlet_module()
        module.struct_size = UInt32(MemoryLayout<outlet_module>.size)
        module.abi_minor = UInt32(OUTLET_ABI_MINOR)
        module.descriptor_count = UInt32(descriptors.count)
        module.descriptors = keptPointers(descriptors)
        table = kept(module)
    }
}

extension outlet_descriptor {
    /// The descriptor of a plugin type; allocates memory that is never freed.
    fileprivate init(of type: any Plugin.Type) {
        self.init()
        let info = type.info
        struct_size = UInt32(MemoryLayout<outlet_descriptor>.size)
        flags = UInt32(OUTLET_F_CONCURRENT)
        if info.isNonblocking { flags |= UInt32(OUTLET_F_NONBLOCKING) }
        if type is any WorkingPlugin.Type {
            flags |= UInt32(OUTLET_F_SPAWNS)
        }
        id = outlet_view(keeping: info.id)
        version = outlet_view(keeping: info.version)
        name = outlet_view(keeping: info.name)
        summary = outlet_view(keeping: info.summary)
        vendor = outlet_view(keeping: info.vendor)
        url = outlet_view(keeping: info.url)
        // Only if needed: deriving runs the settings' own `init(from:)`.
        let schema =
            info.configurationSchema.isEmpty
            ? (type as? any ConfiguredPlugin.Type)?.derivedSchema ?? "" : info.configurationSchema
        config_schema = outlet_view(keeping: schema)
        permissions = kept(info.permissions.map { outlet_view(keeping: $0) })
        permission_count = UInt64(info.permissions.count)
        order = info.order.rawValue
        required_services = kept(info.requiredServices.map { outlet_view(keeping: $0) })
        required_service_count = UInt64(info.requiredServices.count)
        let functions = (type as? any FunctionExporting.Type)?.exports ?? []
        exports = keptPointers(functions.map(\.table))
        export_count = UInt64(functions.count)
        data = ObjectPointer.retained(PluginFactory(type))
        create = { createInstance($0, $1, $2, $3, $4) }
        hooks = { Instance.at($0)?.hooks }
        quiesce = { quiesceHook($0, $1) }
        destroy = { Instance.release($0) }
        if type is any Reconfiguring.Type { reconfigure = { reconfigureInstance($0, $1, $2) } }
    }
}

/// The plugin type of a descriptor, found through `outlet_descriptor.data` by C functions.
final class PluginFactory: @unchecked Sendable {
    // @unchecked because the hook table is never written again after `init`, nor freed.
    let type: any Plugin.Type
    let hooks: UnsafePointer<outlet_hooks>

    init(_ type: any Plugin.Type) {
        self.type = type
        var hooks = outlet_hooks()
        hooks.struct_size = UInt32(MemoryLayout<outlet_hooks>.size)
        if type is any RequestPreparing.Type { hooks.prepare = { prepareHook($0, $1, $2, $3) } }
        if type is any RequestObserving.Type {
            hooks.will_send = { willSendHook($0, $1, $2) }
            hooks.did_receive = { didReceiveHook($0, $1, $2, $3) }
        }
        if type is any ResponseProcessing.Type {
            hooks.process = { processHook($0, $1, $2, $3, $4) }
        }
        if type is any RequestAdapting.Type { hooks.adapt = { adaptHook($0, $1, $2, $3) } }
        if type is any RequestRetrying.Type {
            hooks.retry = { retryHook($0, $1, $2, $3, $4, $5) }
        }
        if type is any CallTracking.Type {
            hooks.request_done = { requestDoneHook($0, $1, $2) }
        }
        if type is any RequestFinalizing.Type {
            hooks.finalize = { finalizeHook($0, $1, $2, $3) }
        }
        if type is any RedirectDeciding.Type {
            hooks.redirect = { redirectHook($0, $1, $2, $3, $4, $5) }
        }
        if type is any ResponseSerializing.Type {
            hooks.serialize = { serializeHook($0, $1, $2, $3, $4, $5) }
        }
        if type is any EventMonitoring.Type {
            hooks.event_mask = .max
            hooks.on_events = { eventsHook($0, $1, $2) }
        }
        if type is any ServerTrustDeciding.Type { hooks.trust = { trustHook($0, $1, $2) } }
        if type is any WorkingPlugin.Type { hooks.cancel = { cancelHook($0, $1) } }
        self.hooks = kept(hooks)
    }
}

private func createInstance(
    _ descriptor: UnsafePointer<outlet_descriptor>, _ table: UnsafePointer<outlet_host>,
    _ call: outlet_call, _ config: UnsafePointer<outlet_config>,
    _ out: UnsafeMutablePointer<OpaquePointer?>
) -> outlet_status {
    guard let data = descriptor.pointee.data else { return OUTLET_E_ARGUMENT }
    let factory = ObjectPointer.object(at: data, as: PluginFactory.self)
    let directory = config.pointee.data_dir.string
    let host = Host(table: table, dataDirectory: directory.isEmpty ? nil : directory)
    let configuration = Configuration(host: host, call: call, json: config.pointee.json.string)
    do {
        let plugin = try factory.type.init(host: host, configuration: configuration)
        out.pointee = Instance(plugin: plugin, host: host, hooks: factory.hooks).retained()
        return OUTLET_OK
    } catch {
        return host.fail(call, error)
    }
}

private func reconfigureInstance(
    _ instance: OpaquePointer, _ call: outlet_call, _ config: UnsafePointer<outlet_config>
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.reconfiguring else {
        return OUTLET_E_UNSUPPORTED
    }
    let configuration = Configuration(
        host: instance.host, call: call, json: config.pointee.json.string)
    do {
        try plugin.reconfigure(configuration)
        return OUTLET_OK
    } catch {
        return instance.host.fail(call, error)
    }
}

extension Export {
    var table: outlet_export {
        outlet_export(
            struct_size: UInt32(MemoryLayout<outlet_export>.size),
            flags: UInt32(OUTLET_X_ANY_THREAD), name: outlet_view(keeping: name),
            signature: outlet_view(keeping: signature), summary: outlet_view(keeping: summary),
            function: function)
    }
}

/// Copies a value to memory that is never freed.
private func kept<Value>(_ value: Value) -> UnsafePointer<Value> {
    let copy = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    copy.initialize(to: value)
    return UnsafePointer(copy)
}

/// Copies values to an array that is never freed; `nil` if there are none.
private func kept<Value>(_ values: [Value]) -> UnsafePointer<Value>? {
    guard !values.isEmpty else { return nil }
    let copy = UnsafeMutableBufferPointer<Value>.allocate(capacity: values.count)
    _ = copy.initialize(from: values)
    return copy.baseAddress.map { UnsafePointer($0) }
}

/// Copies each value to memory that is never freed; returns an array of the pointers.
private func keptPointers<Value>(_ values: [Value]) -> UnsafePointer<UnsafePointer<Value>?>? {
    kept(values.map { Optional(kept($0)) })
}
