import COutletPlugin

/// The configuration of a plugin instance: a JSON object that the program or its user set.
///
/// A key names a top-level member; `a.b` names the member `b` of the object `a`. Settings are
/// readable only until `init` of the plugin returns; afterwards all are `nil`. ``json`` stays
/// readable.
public struct Configuration {
    private let host: Host
    private let call: outlet_call
    /// The whole object as JSON; `{}` if nothing was configured.
    public let json: String

    package init(host: Host, call: outlet_call, json: String) {
        self.host = host
        self.call = call
        self.json = json
    }

    /// Returns a setting as text.
    ///
    /// - Parameter key: The key, at most 1,024 bytes; `a.b` names a member of an object.
    /// - Returns: A string unescaped, any other value as its JSON text; `nil` if the key is not
    ///   set.
    public func string(_ key: String) -> String? {
        withView(key) { key in
            var value = outlet_view()
            guard host.table.pointee.config_value(host.table, call, key, &value) == OUTLET_OK
            else { return nil }
            return value.string
        }
    }

    /// Returns a setting as an integer.
    ///
    /// - Parameter key: As for ``string(_:)``.
    /// - Returns: The value; `nil` if the key is not set.
    /// - Throws: ``PluginError`` that names the key when the value is not an integer; a string of
    ///   digits is accepted.
    public func integer(_ key: String) throws(PluginError) -> Int? {
        try parse(key, "a whole number", Int.init)
    }

    /// Returns a setting as a number.
    ///
    /// - Parameter key: As for ``string(_:)``.
    /// - Returns: The value; `nil` if the key is not set.
    /// - Throws: ``PluginError`` that names the key when the value is not a number; a string that
    ///   contains one is accepted.
    public func number(_ key: String) throws(PluginError) -> Double? {
        try parse(key, "a number") { Double($0) }
    }

    /// Returns a setting as a Boolean.
    ///
    /// - Parameter key: As for ``string(_:)``.
    /// - Returns: The value; `nil` if the key is not set.
    /// - Throws: ``PluginError`` that names the key when the value is neither `true` nor `false`; a
    ///   string of that text is accepted.
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
