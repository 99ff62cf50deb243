import FoundationEssentials
public import OutletHTTP
public import OutletSession

extension Response {
    /// Parses the body as JSON.
    ///
    /// Keeps members with equal names; a look-up by name finds the last one.
    ///
    /// - Parameter failsOnEmptyData: Whether an empty body throws; if not, `null` is returned for
    ///   it.
    /// - Throws: ``ProviderError/jsonMapping(_:)`` when the body is not JSON.
    public func mapJSON(failsOnEmptyData: Bool = true) throws -> JSONValue {
        if data.isEmpty, !failsOnEmptyData { return .null }
        do {
            return try JSONValue(parsing: data)
        } catch {
            throw ProviderError.jsonMapping(self)
        }
    }

    /// Returns the body as text, or a string in its JSON.
    ///
    /// Of members with equal names, `keyPath` finds the last one.
    ///
    /// - Parameter keyPath: Names of JSON members, joined by dots; the whole body, which must be
    ///   UTF-8, if `nil`.
    /// - Throws: ``ProviderError/stringMapping(_:)`` when the body is not UTF-8 or there is no
    ///   string at `keyPath`, ``ProviderError/jsonMapping(_:)`` when there is a `keyPath` and the
    ///   body is not JSON.
    public func mapString(atKeyPath keyPath: String? = nil) throws -> String {
        if let keyPath {
            guard let text = try mapJSON().value(atKeyPath: keyPath)?.stringValue else {
                throw ProviderError.stringMapping(self)
            }
            return text
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw ProviderError.stringMapping(self)
        }
        return text
    }

    /// Decodes the body, or a value in its JSON.
    ///
    /// Of members with equal names, `keyPath` finds the last one, but `decoder` decides which one it
    /// decodes: `JSONTextDecoder` and Foundation's `JSONDecoder` take the first one.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - keyPath: Names of JSON members, joined by dots; the whole body if `nil`.
    ///   - decoder: Decodes the JSON; set its strategies before.
    ///   - failsOnEmptyData: Whether an empty body, and a `keyPath` without a value, throw. If not,
    ///     an empty body is decoded as `{}` or `[{}]`, and with a `keyPath` without a value the
    ///     whole body is decoded.
    /// - Throws: ``ProviderError/objectMapping(_:_:)`` when the value cannot be decoded,
    ///   ``ProviderError/jsonMapping(_:)`` when there is a `keyPath` and the body is not JSON or
    ///   has no value there.
    public func map<Value: Decodable>(
        _ type: Value.Type, atKeyPath keyPath: String? = nil,
        using decoder: any DataDecoder = JSONTextDecoder(), failsOnEmptyData: Bool = true
    ) throws -> Value {
        var json = data
        if let keyPath {
            if let member = try mapJSON(failsOnEmptyData: failsOnEmptyData)
                .value(atKeyPath: keyPath)
            {
                json = member.serialized()
            } else if failsOnEmptyData {
                throw ProviderError.jsonMapping(self)
            }
        }
        if json.isEmpty, !failsOnEmptyData {
            for stand in ["{}", "[{}]"] {
                if let value = try? decoder.decode(type, from: Data(stand.utf8)) { return value }
            }
        }
        do {
            return try decoder.decodeReceived(type, from: json)
        } catch {
            throw ProviderError.objectMapping(error, self)
        }
    }
}

extension JSONValue {
    /// The value at a path of member names, joined by dots; `nil` if there is none.
    fileprivate func value(atKeyPath keyPath: String) -> JSONValue? {
        var value: JSONValue? = self
        for name in keyPath.parts(separatedBy: ".") {
            value = value?[String(name)]
        }
        return value
    }
}
