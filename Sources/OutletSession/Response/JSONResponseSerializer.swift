public import FoundationEssentials
public import OutletHTTP

/// Reads a body as JSON whose shape is not known beforehand.
///
/// Use ``DecodableResponseSerializer`` where it is. An allowed empty body is `null`.
public final class JSONResponseSerializer: ResponseSerializer {
    /// How much is taken for JSON.
    public struct ReadingOptions: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// A string, a number, `true`, `false` or `null` alone will do.
        public static let fragmentsAllowed = ReadingOptions(rawValue: 1 << 2)
        /// Same as ``fragmentsAllowed``.
        public static let allowFragments = fragmentsAllowed

        /// Makes options of bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    /// The body is neither an object nor an array, and nothing else was allowed.
    public struct FragmentError: Error, Equatable, CustomStringConvertible {
        /// What is wrong.
        public var description: String { "neither an object nor an array (see fragmentsAllowed)" }
    }

    /// Runs on the body before it is read.
    public let dataPreprocessor: any DataPreprocessor
    /// The status codes whose responses may have no body.
    public let emptyResponseCodes: Set<Int>
    /// The methods whose responses may have no body.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// How much is taken for JSON.
    public let options: ReadingOptions

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Runs on the body before it is read.
    ///   - emptyResponseCodes: The status codes whose responses may have no body.
    ///   - emptyRequestMethods: The methods whose responses may have no body.
    ///   - options: How much is taken for JSON.
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

    /// The body as JSON.
    ///
    /// - Throws: ``SessionError/responseSerializationFailed(reason:)``.
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
