import FoundationEssentials

/// A plugin whose configuration is decoded to a type of its own.
///
/// The host validates the configuration by a JSON Schema before it makes the plugin: by
/// ``PluginInfo/configurationSchema``, or, if that is empty, by one derived from the type. The
/// derived schema has the type's keys and allows no others, and gives for each whether it is
/// required and its type. The values of an enumeration with raw values are listed, also in the
/// host's error for another one, if it is `CaseIterable`. A key is optional if its property is, or if
/// `init(from:)` decodes it by `decodeIfPresent` or asks whether the container `contains` it.
/// Dictionaries, and types that ask for `allKeys`, allow any keys. Types may contain themselves.
///
/// To derive it, the type is decoded from placeholders when the library is loaded, such as `""`, 0
/// and empty arrays. So an `init(from:)` of your own may throw for these, but must not end the
/// process: a trap there makes the plugin unusable with any configuration. If decoding a property
/// fails, as for enumerations with associated values, the keys after it are not known, and others
/// are allowed. ``PluginInfo/configurationSchema`` avoids both.
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
    /// The type to which the configuration is decoded.
    associatedtype Settings: Decodable

    /// Makes an instance; the host keeps it until it unloads the plugin.
    ///
    /// - Parameters:
    ///   - host: The functions of the host; valid as long as the instance.
    ///   - settings: The decoded configuration.
    /// - Throws: Any error; the host refuses the plugin and shows the error's text.
    ///
    /// Thread: one of the host's; several instances may be made at the same time.
    init(host: Host, settings: Settings) throws
}

extension ConfiguredPlugin {
    /// Decodes the configuration and calls ``init(host:settings:)``.
    ///
    /// - Parameters:
    ///   - host: The functions of the host; valid as long as the instance.
    ///   - configuration: The configuration of the instance; readable until this returns.
    /// - Throws: ``PluginError`` that names the key when the configuration cannot be decoded, and
    ///   what ``init(host:settings:)`` throws.
    public init(host: Host, configuration: Configuration) throws {
        try self.init(host: host, settings: configuration.decoded(as: Settings.self))
    }

    /// The JSON Schema derived from ``Settings``; empty if none can be derived.
    static var derivedSchema: String { DerivedSchema.text(of: Settings.self) }
}

/// Replaces the settings of the plugin while it runs.
///
/// Without it, a program must load the plugin again to give it other settings.
///
/// ```swift
/// final class Stamp: Reconfiguring, RequestPreparing {
///     ...
///     private let settings: Mutex<Settings>
///
///     func reconfigure(settings: Settings) throws { self.settings.withLock { $0 = settings } }
/// }
/// ```
public protocol Reconfiguring: ConfiguredPlugin {
    /// Replaces the settings of the instance.
    ///
    /// Hooks may run at the same time: they see the former settings or these.
    ///
    /// - Parameter settings: The whole new configuration, which the host has validated by the schema
    ///   as that for ``ConfiguredPlugin/init(host:settings:)``.
    /// - Throws: Any error, also one of decoding; the program receives its text. The plugin must then
    ///   go on with its former settings.
    ///
    /// Thread: one of the program's, which waits until this returns; calls may overlap.
    func reconfigure(settings: Settings) throws
}

extension Reconfiguring {
    /// Decodes the configuration and calls ``reconfigure(settings:)``.
    package func reconfigure(_ configuration: Configuration) throws {
        try reconfigure(settings: configuration.decoded(as: Settings.self))
    }
}

extension Configuration {
    /// Decodes the whole object.
    ///
    /// - Parameter type: The type to decode.
    /// - Throws: ``PluginError`` that names the key and not its value, which may be a secret.
    public func decoded<Value: Decodable>(as type: Value.Type) throws(PluginError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(json.utf8))
        } catch {
            let (path, fact): ([any CodingKey], String) =
                switch error as? DecodingError {
                case .keyNotFound(let key, let context)?:
                    (context.codingPath + [key], "it is missing")
                case .typeMismatch(let type, let context)?:
                    (context.codingPath, "it is not \(Self.name(of: type))")
                case .valueNotFound(_, let context)?: (context.codingPath, "it is null")
                case .dataCorrupted(let context)?:
                    (context.codingPath, "it is none of the values that the plugin accepts")
                default: ([], PluginError.text(of: error))
                }
            let place = path.map { "/\($0.intValue.map(String.init) ?? $0.stringValue)" }.joined()
            throw PluginError("configuration: \(place.isEmpty ? "/" : place): \(fact)")
        }
    }
    /// What JSON calls the values of a type.
    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "a whole number in the range that the plugin accepts"
        case is any BinaryFloatingPoint.Type: "a number"
        case is [Any].Type: "an array"
        case is [String: Any].Type: "an object"
        default: "a \(type)"
        }
    }
}
