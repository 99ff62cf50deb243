import FoundationEssentials
public import OutletHTTP

/// Puts parameters into the query or the body as `key=value` pairs.
///
/// Keys are sorted, those of nested dictionaries (`key[nested]=value`) too; arrays keep their
/// order. `nil`, and the nulls of `JSONValue` and of full Foundation's `JSONSerialization`, are left
/// out. A body gets the type `application/x-www-form-urlencoded; charset=utf-8` unless the request
/// names one.
public struct URLEncoding: ParameterEncoding {
    /// Where encoded parameters go.
    public typealias Destination = ParameterDestination
    /// How the keys of array elements are spelt.
    public typealias ArrayEncoding = URLEncodedFormEncoder.ArrayEncoding
    /// How truth values are spelt.
    public typealias BoolEncoding = URLEncodedFormEncoder.BoolEncoding

    /// The destination by the method.
    public static var `default`: URLEncoding { URLEncoding() }
    /// Always the query.
    public static var queryString: URLEncoding { URLEncoding(destination: .queryString) }
    /// Always the body.
    public static var httpBody: URLEncoding { URLEncoding(destination: .httpBody) }

    // This order keeps the value within an existential's own storage.

    /// How the keys of array elements are spelt.
    public let arrayEncoding: ArrayEncoding
    /// Where the parameters go.
    public let destination: Destination
    /// How truth values are spelt.
    public let boolEncoding: BoolEncoding

    /// Makes an encoding.
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) {
        self.destination = destination
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
    }

    /// The request with the parameters in its query or body.
    ///
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `missingURL`.
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
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

    /// The pairs that a value becomes, escaped; several for arrays and dictionaries.
    public func queryComponents(fromKey key: String, value: Any) -> [(String, String)] {
        switch FoundationScalar(value) {
        case .null?: return []
        case .bool(let value)?: return [(escape(key), escape(boolEncoding.encode(value)))]
        case .number(let text)?: return [(escape(key), escape(text))]
        case nil: break
        }
        return switch value {
        case let value as String: [(escape(key), escape(value))]
        // Before the cast to a truth value, which looks into an optional.
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

    /// A text as it may stand in a key or a value (RFC 3986 §3.4); `/` and `?` stay.
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
