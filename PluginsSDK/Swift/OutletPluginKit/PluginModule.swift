public import COutletPlugin
import OutletPointers

/// The C tables of one plugin, which the host reads.
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

    /// Builds the tables of a plugin type.
    ///
    /// Allocates memory that is never freed: make one per type and process.
    ///
    /// - Parameter type: The plugin; its tables have only the hooks of the protocols to which it
    ///   conforms.
    public init<P: Plugin>(_ type: P.Type) {
        let info = type.info
        var descriptor = outlet_descriptor()
        descriptor.struct_size = UInt32(MemoryLayout<outlet_descriptor>.size)
        descriptor.flags = UInt32(OUTLET_F_CONCURRENT)
        if info.isNonblocking { descriptor.flags |= UInt32(OUTLET_F_NONBLOCKING) }
        if type is any WorkingPlugin.Type {
            descriptor.flags |= UInt32(OUTLET_F_SPAWNS)
        }
        descriptor.id = outlet_view(keeping: info.id)
        descriptor.version = outlet_view(keeping: info.version)
        descriptor.name = outlet_view(keeping: info.name)
        descriptor.summary = outlet_view(keeping: info.summary)
        descriptor.vendor = outlet_view(keeping: info.vendor)
        descriptor.url = outlet_view(keeping: info.url)
        let configured = type as? any ConfiguredPlugin.Type
        descriptor.config_schema = outlet_view(
            keeping: info.configurationSchema.isEmpty
                ? configured?.derivedSchema ?? "" : info.configurationSchema)
        let permissions = info.permissions.map { outlet_view(keeping: $0) }
        descriptor.permissions = kept(permissions)
        descriptor.permission_count = UInt64(permissions.count)
        descriptor.order = info.order.rawValue
        let services = info.requiredServices.map { outlet_view(keeping: $0) }
        descriptor.required_services = kept(services)
        descriptor.required_service_count = UInt64(services.count)
        let exports = (type as? any FunctionExporting.Type)?.exports ?? []
        descriptor.exports = keptPointers(exports.map(\.table))
        descriptor.export_count = UInt64(exports.count)
        descriptor.data = ObjectPointer.retained(PluginFactory(type))
        descriptor.create = { createInstance($0, $1, $2, $3, $4) }
        descriptor.hooks = { Instance.at($0)?.hooks }
        descriptor.quiesce = { quiesceHook($0, $1) }
        descriptor.destroy = { Instance.release($0) }

        var module = outlet_module()
        module.struct_size = UInt32(MemoryLayout<outlet_module>.size)
        module.abi_minor = UInt32(OUTLET_ABI_MINOR)
        module.descriptor_count = 1
        module.descriptors = keptPointers([descriptor])
        table = kept(module)
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
    let host = Host(table: table)
    let configuration = Configuration(host: host, call: call, json: config.pointee.json.string)
    do {
        let plugin = try factory.type.init(host: host, configuration: configuration)
        out.pointee = Instance(plugin: plugin, host: host, hooks: factory.hooks).retained()
        return OUTLET_OK
    } catch {
        return host.fail(call, error)
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
