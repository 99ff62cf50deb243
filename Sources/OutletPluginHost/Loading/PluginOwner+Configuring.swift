import COutletPlugin
import OutletHTTP

extension PluginOwner {
    /// Passes a configuration to `create` or `reconfigure`, which `body` calls.
    ///
    /// - Parameters:
    ///   - dataDirectory: The path of the instance's data directory; `nil` for none.
    ///   - context: Receives the reason of a failure.
    ///   - body: Calls the plugin; its arguments are valid until it returns.
    func configuring(
        _ configuration: JSONValue, dataDirectory: String?,
        _ context: CallContext,
        _ body: (outlet_call, UnsafePointer<outlet_config>) -> outlet_status
    ) -> outlet_status {
        let call = HandleTable.shared.insert(context, owner: number)
        defer { HandleTable.shared.remove(call) }
        var text = configuration.text()
        var directory = dataDirectory ?? ""
        return text.withUTF8 { json in
            directory.withUTF8 { path in
                var config = outlet_config(
                    struct_size: UInt32(MemoryLayout<outlet_config>.size), reserved: 0,
                    json: outlet_view(ptr: json.baseAddress, len: UInt64(json.count)),
                    data_dir: outlet_view(ptr: path.baseAddress, len: UInt64(path.count)))
                return body(outlet_call(id: call), &config)
            }
        }
    }
}
