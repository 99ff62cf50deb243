import FoundationEssentials
public import OutletHTTP

/// Encodes parameters into the query or the body as `key=value` pairs.
///
/// Keys are sorted, those of nested dictionaries (`key[nested]=value`) too; arrays keep their
/// order. `nil`, and the nulls of `JSONValue` and of full Foundation's `JSONSerialization`, are
/// left out. With a body, sets `Content-Type: application/x-www-form-urlencoded; charset=utf-8`
/// unless the request has a `Content-Type`.
public struct URLEncoding: ParameterEncoding {
    /// Where encoded parameters go.
    public typealias Destination = ParameterDestination
    /// How the keys of array elements are written.
    public typealias ArrayEncoding = URLEncodedFormEncoder.ArrayEncoding
    /// How Booleans are written.
    public typealias BoolEncoding = URLEncodedFormEncoder.BoolEncoding

    /// An encoding whose destination depends on the method.
    public static var `default`: URLEncoding { URLEncoding() }
    /// Always the query.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }
    /// Always the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    // This order of properties lets the value fit into an existential's inline buffer.

    /// How the keys of array elements are written.
    public let arrayEncoding: ArrayEncoding
    /// Where the parameters go.
    public let destination: Destination
    /// How Booleans are written.
    public let boolEncoding: BoolEncoding

    /// Makes an encoding.
    ///
    /// - Parameters:
    ///   - destination: Where the parameters go; by default the query for `GET`, `HEAD` and
    ///     `DELETE`, else the body.
    ///   - arrayEncoding: How the keys of array elements are written; by default `key[]`.
    ///   - boolEncoding: How Booleans are written; by default `1` and `0`.
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) {
        self.destination = destination
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
    }

    /// Returns the request with the parameters in its query or body.
    ///
    /// - Parameters:
    ///   - urlRequest: The request; an existing query is kept and extended, an existing body
    ///     replaced.
    ///   - parameters: The names and values; `nil` leaves the request unchanged.
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `missingURL` when the
    ///   parameters go into the query and the request has no URL, and with `customEncodingFailed`
    ///   when they have more than 512 levels of arrays and dictionaries; what `urlRequest` throws.
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        let deepest = parameters.first { Self.exceeds(Self.mostLevels, $0.value) }
        if let name = deepest?.key {
            throw SessionError.parameterEncodingFailed(
                reason: .customEncodingFailed(error: TooManyLevels(parameter: name)))
        }
        if destination.encodesParametersInURL(for: request.method) {
            guard let url = request.url?.appending(encodedQuery: query(parameters)) else {
                throw SessionError.parameterEncodingFailed(reason: .missingURL)
            }
            request.url = url
        } else {
            request.setMissingContentType(HTTPRequest.formContentType)
            request.httpBody = Data(query(parameters).utf8)
        }
        return request
    }

    /// Returns the percent-encoded pairs of a value.
    ///
    /// - Parameters:
    ///   - key: The key, not percent-encoded; those of elements and members are derived from it.
    ///   - value: Any value; types without a form of their own are written by their description.
    /// - Returns: One pair for a scalar, several for arrays and dictionaries, none for `nil` and
    ///   null.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        switch FoundationScalar(value) {
        case .null?: return []
        case .bool(let value)?: return [(escape(key), escape(boolEncoding.encode(value)))]
        case .number(let text)?: return [(escape(key), escape(text))]
        case nil: break
        }
        return switch value {
        case let value as String: [(escape(key), escape(value))]
        // Before the cast to `Bool`, which also succeeds for an optional `Bool`.
        case let value as any AnyOptional:
            value.wrapped.map { queryComponents(fromKey: key, value: $0) } ?? []
        case let value as Bool: [(escape(key), escape(boolEncoding.encode(value)))]
        case .null as JSONValue: []
        case .number(let number) as JSONValue: [(escape(key), escape(number.text))]
        case let value as JSONValue: queryComponents(fromKey: key, value: value.anyValue)
        case let members as [String: Any]:
            members.sorted { $0.key < $1.key }.flatMap {
                queryComponents(fromKey: "\(key)[\($0.key)]", value: $0.value)
            }
        case let elements as [Any]:
            elements.enumerated().flatMap {
                queryComponents(
                    fromKey: arrayEncoding.encode(key, atIndex: $0.offset), value: $0.element)
            }
        default: [(escape(key), escape("\(value)"))]
        }
    }

    /// The most levels of arrays and dictionaries of a parameter, as in JSON.
    private static let mostLevels = 512

    /// Whether a value has more levels of arrays and dictionaries.
    private static func exceeds(_ levels: Int, _ value: Any) -> Bool {
        guard levels >= 0 else { return true }
        return switch value {
        case let value as any AnyOptional: value.wrapped.map { exceeds(levels, $0) } ?? false
        case let value as JSONValue:
            switch value {
            case .array(let elements): elements.contains { exceeds(levels - 1, $0) }
            case .object(let object): object.members.contains { exceeds(levels - 1, $0.value) }
            case .null, .bool, .number, .string: false
            }
        case is String: false
        case let members as [String: Any]: members.values.contains { exceeds(levels - 1, $0) }
        case let elements as [Any]: elements.contains { exceeds(levels - 1, $0) }
        default: false
        }
    }

    /// A parameter has too many levels of arrays and dictionaries.
    private struct TooManyLevels: Error, CustomStringConvertible {
        let parameter: String
        var description: String {
            "parameter \(parameter): more than \(mostLevels) levels of arrays and dictionaries"
        }
    }

    /// Percent-encodes a text for use in a key or a value (RFC 3986 §3.4); keeps `/` and `?`.
    ///
    /// - Parameter string: The text, not percent-encoded.
    public func escape(_ string: String) -> String {
        string.percentEncoded(allowing: .urlQueryComponentAllowed)
    }

    private func query(_ parameters: Parameters) -> String {
        parameters.sorted { $0.key < $1.key }
            .flatMap { queryComponents(fromKey: $0.key, value: $0.value) }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
    }
}
