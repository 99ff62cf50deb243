import FoundationEssentials
import OutletHTTP

/// A request whose parameters a ``ParameterEncoding`` puts in, at every attempt.
struct ParameterRequest: URLRequestConvertible {
    let base: any URLRequestConvertible
    let parameters: Parameters?
    let encoding: any ParameterEncoding

    func asURLRequest() throws -> HTTPRequest {
        try encoding.encode(base.asURLRequest(), with: parameters)
    }
}

/// A request whose value a ``ParameterEncoder`` puts in, at every attempt.
struct EncodableRequest<Value: Encodable & Sendable>: URLRequestConvertible {
    let base: any URLRequestConvertible
    let parameters: Value?
    let encoder: any ParameterEncoder

    func asURLRequest() throws -> HTTPRequest {
        try encoder.encode(parameters, into: base.asURLRequest())
    }
}

/// What factories make of their arguments: address, method and headers, then the modifier's
/// changes, then the parameters.
enum RequestParts {
    static func base(
        _ url: any URLConvertible, _ method: HTTPMethod, _ headers: HTTPHeaders?,
        _ modifier: (@Sendable (inout HTTPRequest) throws -> Void)?
    ) -> any URLRequestConvertible {
        guard let modifier else { return plain(url, method, headers) }
        return ModifiedRequest(
            base: PlainRequest(url: url, method: method, headers: headers), modifier: modifier)
    }

    /// Text and addresses stay what they are, so they are made into a request once.
    private static func plain(
        _ url: any URLConvertible, _ method: HTTPMethod, _ headers: HTTPHeaders?
    ) -> any URLRequestConvertible {
        let type = type(of: url)
        if type == String.self || type == URL.self, let url = try? url.asURL() {
            return HTTPRequest(url: url, method: method, headers: headers ?? HTTPHeaders())
        }
        return PlainRequest(url: url, method: method, headers: headers)
    }

    /// Without parameters the base is left as it is: a plain request then needs no thread.
    static func adding(
        _ parameters: Parameters?, _ encoding: (any ParameterEncoding)?,
        to base: any URLRequestConvertible
    ) -> any URLRequestConvertible {
        if parameters == nil, encoding.map(leavesRequestsWithoutParameters) ?? true { return base }
        return ParameterRequest(
            base: base, parameters: parameters, encoding: encoding ?? URLEncoding.default)
    }

    static func adding<Value: Encodable & Sendable>(
        _ parameters: Value?, _ encoder: any ParameterEncoder, to base: any URLRequestConvertible
    ) -> any URLRequestConvertible {
        if parameters == nil, leavesRequestsWithoutParameters(encoder) { return base }
        return EncodableRequest(base: base, parameters: parameters, encoder: encoder)
    }

    /// Encodings of the user's may have something to put in even so.
    private static func leavesRequestsWithoutParameters(_ encoding: any ParameterEncoding) -> Bool {
        let type = type(of: encoding)
        return type == URLEncoding.self || type == JSONEncoding.self
            || type == PropertyListEncoding.self
    }

    private static func leavesRequestsWithoutParameters(_ encoder: any ParameterEncoder) -> Bool {
        type(of: encoder) == URLEncodedFormParameterEncoder.self
            || type(of: encoder) == JSONParameterEncoder.self
    }
}
