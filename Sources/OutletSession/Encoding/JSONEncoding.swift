import FoundationEssentials
public import OutletHTTP

/// Encodes parameters into the body as JSON.
///
/// Members of dictionaries are sorted by name. Sets `Content-Type: application/json` unless the
/// request has a `Content-Type`.
public struct JSONEncoding: ParameterEncoding {
    /// A value that cannot be written as JSON; all these errors are equal, whatever their
    /// description.
    public struct Error: Swift.Error, Equatable, CustomStringConvertible {
        /// The value is neither a dictionary nor an array, or contains a value that JSON cannot
        /// hold.
        public static let invalidJSONObject = Error(
            description: "not a JSON object: use a dictionary or an array")

        /// The path and the type of the value.
        public let description: String

        /// Always `true`: there is one kind of error.
        public static func == (a: Error, b: Error) -> Bool { true }
    }

    /// How JSON is laid out.
    public struct WritingOptions: OptionSet, Sendable {
        /// The options as a bit set.
        public let rawValue: UInt
        /// Writes each member and element on a line of its own, indented by two spaces per level.
        public static let prettyPrinted = WritingOptions(rawValue: 1 << 0)
        /// Sorts the members of `JSONValue` objects by name too.
        public static let sortedKeys = WritingOptions(rawValue: 1 << 1)
        /// Accepts a string, a number, a Boolean or `null` as the root value.
        public static let fragmentsAllowed = WritingOptions(rawValue: 1 << 2)
        /// Writes `/` as it is, not as `\/`.
        public static let withoutEscapingSlashes = WritingOptions(rawValue: 1 << 3)

        /// Makes options from a bit set.
        ///
        /// - Parameter rawValue: The bits of the options.
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    /// JSON on one line.
    public static var `default`: JSONEncoding { JSONEncoding() }
    /// JSON with each member and element on a line of its own.
    public static var prettyPrinted: JSONEncoding { JSONEncoding(options: .prettyPrinted) }

    /// How the JSON is laid out.
    public let options: WritingOptions

    /// Makes an encoding.
    ///
    /// - Parameter options: How the JSON is laid out; by default on one line, objects and arrays
    ///   only.
    public init(options: WritingOptions = []) {
        self.options = options
    }

    /// Returns the request with the parameters as its body.
    ///
    /// - Parameters:
    ///   - urlRequest: The request; a `Content-Type` that it has is kept.
    ///   - parameters: The members of the JSON object; `nil` leaves the request unchanged.
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `jsonEncodingFailed` when a
    ///   value cannot be written as JSON; what `urlRequest` throws.
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest {
        try encode(urlRequest, withJSONObject: parameters)
    }

    /// Returns the request with an array or a dictionary as its body.
    ///
    /// - Parameters:
    ///   - urlRequest: The request; a `Content-Type` that it has is kept.
    ///   - jsonObject: The root value, an array or a dictionary, or any JSON value with
    ///     ``WritingOptions/fragmentsAllowed``; `nil` leaves the request unchanged.
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
