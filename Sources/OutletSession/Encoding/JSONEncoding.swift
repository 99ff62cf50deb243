import FoundationEssentials
public import OutletHTTP

/// Puts parameters into the body as JSON.
///
/// Members of dictionaries are sorted by name. The body gets the type `application/json` unless
/// the request names one.
public struct JSONEncoding: ParameterEncoding {
    /// Why a value is not JSON; errors of one kind are equal, whatever their evidence.
    public struct Error: Swift.Error, Equatable, CustomStringConvertible {
        /// The value, or one within it, has no JSON.
        public static let invalidJSONObject = Error(
            description: "not a JSON object: use a dictionary or an array")

        /// Where the value is, and what it is.
        public let description: String

        /// The same kind of error.
        public static func == (a: Error, b: Error) -> Bool { true }
    }

    /// How JSON is laid out.
    public struct WritingOptions: OptionSet, Sendable {
        /// The options as bits.
        public let rawValue: UInt
        /// A line for each member and element, two blanks for each level.
        public static let prettyPrinted = WritingOptions(rawValue: 1 << 0)
        /// Members of `JSONValue` objects are sorted by name too.
        public static let sortedKeys = WritingOptions(rawValue: 1 << 1)
        /// The whole may be a string, a number, a truth value or `null`.
        public static let fragmentsAllowed = WritingOptions(rawValue: 1 << 2)
        /// `/` is not written as `\/`.
        public static let withoutEscapingSlashes = WritingOptions(rawValue: 1 << 3)

        /// Makes options of bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    /// JSON on one line.
    public static var `default`: JSONEncoding { JSONEncoding() }
    /// JSON with a line for each member and element.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

    /// How the JSON is laid out.
    public let options: WritingOptions

    /// Makes an encoding.
    public init(options: WritingOptions = []) {
        self.options = options
    }

    /// The request with the parameters as its body.
    ///
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `jsonEncodingFailed` when
    ///   a value is not JSON.
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest {
        try encode(urlRequest, withJSONObject: parameters)
    }

    /// The request with an array or a dictionary as its body.
    ///
    /// - Throws: As ``encode(_:with:)``.
    public func encode(
        _ urlRequest: any URLRequestConvertible, withJSONObject jsonObject: Any? = nil
    ) throws -> HTTPRequest {
        var request = try urlRequest.asURLRequest()
        guard let jsonObject else { return request }
        do {
            let data = try data(jsonObject)
            request.setMissingContentType(HTTPRequest.jsonContentType)
            request.httpBody = data
        } catch {
            throw SessionError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
        }
        return request
    }

    private func data(_ jsonObject: Any) throws(Error) -> Data {
        let value: JSONValue
        do {
            value = try JSONValue(converting: jsonObject)
        } catch {
            throw Error(description: error.description)
        }
        switch value {
        case .object, .array: break
        case _ where options.contains(.fragmentsAllowed): break
        default: throw .invalidJSONObject
        }
        return value.serialized(
            JSONFormat(
                indent: options.contains(.prettyPrinted) ? 2 : nil,
                sortsMembers: options.contains(.sortedKeys),
                escapesSlashes: !options.contains(.withoutEscapingSlashes)))
    }
}
