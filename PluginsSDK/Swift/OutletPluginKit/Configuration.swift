import COutletPlugin

/// How an instance is to behave: the JSON object that the host was given for it.
///
/// Keys are top-level ones; `a.b` descends. Readable until `init` of the plugin returns.
public struct Configuration {
    private let host: Host
    private let call: outlet_call
    /// The whole object as JSON.
    public let json: String

    package init(host: Host, call: outlet_call, json: String) {
        self.host = host
        self.call = call
        self.json = json
    }

    /// A setting as text: a string as it is, anything else as its JSON text; `nil` when not set.
    public func string(_ key: String) -> String? {
        withView(key) { key in
            var value = outlet_view()
            guard host.table.pointee.config_value(host.table, call, key, &value) == OUTLET_OK
            else { return nil }
            return value.string
        }
    }

    /// A whole number; `nil` when not set.
    ///
    /// - Throws: ``PluginError`` when it is something else.
    public func integer(_ key: String) throws(PluginError) -> Int? {
        try parse(key, "a whole number", Int.init)
    }

    /// A number; `nil` when not set.
    ///
    /// - Throws: ``PluginError`` when it is something else.
    public func number(_ key: String) throws(PluginError) -> Double? {
        try parse(key, "a number") { Double($0) }
    }

    /// A truth value; `nil` when not set.
    ///
    /// - Throws: ``PluginError`` when it is something else.
    public func boolean(_ key: String) throws(PluginError) -> Bool? {
        try parse(key, "true or false", Bool.init)
    }

    private func parse<Value>(
        _ key: String, _ kind: String, _ parse: (String) -> Value?
    ) throws(PluginError) -> Value? {
        guard let text = string(key) else { return nil }
        guard let value = parse(text) else {
            // The value itself may be a secret.
            throw PluginError("configuration: \"\(key)\": not \(kind)")
        }
        return value
    }
}
