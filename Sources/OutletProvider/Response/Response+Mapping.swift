public import FoundationEssentials
public import OutletHTTP

extension Response {
    /// Parses the body as JSON, of whatever kind.
    ///
    /// - Parameter failsOnEmptyData: Whether no body is an error, and not `null`.
    /// - Throws: ``ProviderError/jsonMapping(_:)``.
    public func mapJSON(failsOnEmptyData: Bool = true) throws -> JSONValue {
        if data.isEmpty, !failsOnEmptyData { return .null }
        do {
            return try JSONValue(parsing: data)
        } catch {
            throw ProviderError.jsonMapping(self)
        }
    }

    /// Makes text of the body, which must be UTF-8, or of a member of the JSON in it.
    ///
    /// - Parameter keyPath: Names of members, joined by dots; the whole body if `nil`.
    /// - Throws: ``ProviderError/stringMapping(_:)`` for what is no text, and
    ///   ``ProviderError/jsonMapping(_:)`` when there is a path, but no JSON.
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

    /// Decodes the body, or a member of the JSON in it.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - keyPath: Names of members, joined by dots; the whole body if `nil`.
    ///   - decoder: Decodes.
    ///   - failsOnEmptyData: Whether no body is an error, and a path that leads nowhere; if not, no
    ///     body is decoded as an empty object or a list of one, and such a path as the whole body.
    /// - Throws: ``ProviderError/objectMapping(_:_:)`` when it cannot be decoded, and
    ///   ``ProviderError/jsonMapping(_:)`` when there is a path that leads nowhere, or no JSON.
    public func map<Value: Decodable>(
        _ type: Value.Type, atKeyPath keyPath: String? = nil,
        using decoder: JSONDecoder = JSONDecoder(), failsOnEmptyData: Bool = true
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
            return try decoder.decode(type, from: json)
        } catch {
            throw ProviderError.objectMapping(error, self)
        }
    }
}

extension JSONValue {
    /// The member that a path of names leads to.
    fileprivate func value(atKeyPath keyPath: String) -> JSONValue? {
        var value: JSONValue? = self
        for name in keyPath.parts(separatedBy: ".") {
            value = value?[String(name)]
        }
        return value
    }
}
