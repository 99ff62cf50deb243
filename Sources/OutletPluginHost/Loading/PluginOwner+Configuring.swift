import COutletPlugin
import OutletHTTP

extension PluginOwner {
    /// Passes a configuration to `create` or `reconfigure`, which `body` calls.
    ///
    /// - Parameters:
    ///   - dataDirectory: The path of the instance's data directory; `nil` for none.
    ///   - context: Receives the reason of a failure; keeps the texts of the configuration.
    ///   - body: Calls the plugin; its arguments are valid until it returns.
    func configuring(
        _ configuration: JSONValue, dataDirectory: String?,
        _ context: CallContext,
        _ body: (outlet_call, UnsafePointer<outlet_config>) -> outlet_status
    ) -> outlet_status {
        let call = HandleTable.shared.insert(context, owner: number)
        defer { HandleTable.shared.remove(call) }
        var config = outlet_config(
            struct_size: UInt32(MemoryLayout<outlet_config>.size), reserved: 0,
            json: context.copy(configuration.text()).view,
            data_dir: context.copy(dataDirectory ?? "").view)
        return body(outlet_call(id: call), &config)
    }
}
