public import FoundationEssentials
public import OutletHTTP

/// Parses a body as JSON of unknown structure.
///
/// Use ``DecodableResponseSerializer`` if the structure is known. An empty body that is allowed
/// gives `null`.
public final class JSONResponseSerializer: ResponseSerializer {
    /// What is accepted as JSON.
    public struct ReadingOptions: OptionSet, Sendable {
        /// The options as a bit set.
        public let rawValue: UInt
        /// Accepts a string, a number, `true`, `false` or `null` as the root value.
        public static let fragmentsAllowed = ReadingOptions(rawValue: 1 << 2)
        /// Same as ``fragmentsAllowed``.
        public static let allowFragments = fragmentsAllowed

        /// Makes options from a bit set.
        ///
        /// - Parameter rawValue: The bits of the options.
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    /// The root value is neither an object nor an array, and ``ReadingOptions/fragmentsAllowed`` is
    /// off.
    public struct FragmentError: Error, Equatable, CustomStringConvertible {
        /// The cause, and the option that allows other values.
        public var description: String { "neither an object nor an array (see fragmentsAllowed)" }
    }

    /// Changes the body before it is parsed.
    public let dataPreprocessor: any DataPreprocessor
    /// Status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>
    /// Methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// What is accepted as JSON.
    public let options: ReadingOptions

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    ///   - options: What is accepted as JSON; any root value by default.
    public init(
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: ReadingOptions = .allowFragments
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.options = options
    }

    /// Returns the parsed body; `null` if the body is empty and may be.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: `error` if there is one; ``SessionError/responseSerializationFailed(reason:)``
    ///   with `inputDataNilOrZeroLength` when the body is empty and may not be, or with
    ///   `jsonSerializationFailed` when it is not JSON or a ``FragmentError`` applies; what the
    ///   preprocessor throws.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> JSONValue {
        let body = try body(request: request, response: response, data: data, error: error)
        guard let body else { return .null }
        do {
            let value = try JSONValue(parsing: body)
            switch value {
            case .object, .array: return value
            case _ where options.contains(.fragmentsAllowed): return value
            default: throw FragmentError()
            }
        } catch {
            throw SessionError.responseSerializationFailed(
                reason: .jsonSerializationFailed(error: error))
        }
    }
}
