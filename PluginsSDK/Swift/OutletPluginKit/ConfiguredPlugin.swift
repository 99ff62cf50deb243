import FoundationEssentials

/// A plugin whose configuration is a value of its own type.
///
/// The host holds the configuration against a JSON Schema before the plugin is made: the one of
/// ``PluginInfo/configurationSchema``, or, where that is empty, one that follows from the type: its keys and no
/// others, which of them must be there, and what each may be. A key is optional if its property is, or if
/// `init(from:)` asks for it by `decodeIfPresent`.
///
/// ```swift
/// struct Stamp: ConfiguredPlugin, RequestPreparing {
///     struct Settings: Decodable {
///         var header: String
///         var count: UInt8?
///     }
///     ...
///     init(host: Host, settings: Settings) throws { self.settings = settings }
/// }
/// ```
public protocol ConfiguredPlugin: Plugin {
    /// What the configuration is decoded as.
    associatedtype Settings: Decodable

    /// Makes an instance; it lives until the host is done with it.
    ///
    /// - Throws: Any error; the host refuses the plugin and shows the error's text.
    init(host: Host, settings: Settings) throws
}

extension ConfiguredPlugin {
    /// Decodes the configuration.
    ///
    /// - Throws: ``PluginError`` that names the key, where the configuration is not of the type.
    public init(host: Host, configuration: Configuration) throws {
        try self.init(host: host, settings: configuration.decoded(as: Settings.self))
    }

    /// The schema that follows from the type.
    static var derivedSchema: String { DerivedSchema.text(of: Settings.self) }
}

extension Configuration {
    /// The whole object as a value.
    ///
    /// - Throws: ``PluginError`` that names the key; what is there is left out, it may be a secret.
    public func decoded<Value: Decodable>(as type: Value.Type) throws(PluginError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(json.utf8))
        } catch {
            let (path, fact): ([any CodingKey], String) =
                switch error as? DecodingError {
                case .keyNotFound(let key, let context)?:
                    (context.codingPath + [key], "it is missing")
                case .typeMismatch(_, let context)?: (context.codingPath, "it is of another kind")
                case .valueNotFound(_, let context)?: (context.codingPath, "it is null")
                case .dataCorrupted(let context)?: (context.codingPath, "it cannot be used")
                default: ([], "\(error)")
                }
            let place = path.map { "/\($0.intValue.map(String.init) ?? $0.stringValue)" }.joined()
            throw PluginError("configuration: \(place.isEmpty ? "/" : place): \(fact)")
        }
    }
}
