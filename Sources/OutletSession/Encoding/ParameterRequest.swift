import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A request with parameters that a ``ParameterEncoding`` encodes at every attempt.
struct ParameterRequest: URLRequestConvertible {
    let base: any URLRequestConvertible
    let parameters: Parameters?
    let encoding: any ParameterEncoding

    func asURLRequest() throws -> HTTPRequest {
        try encoding.encode(base.asURLRequest(), with: parameters)
    }
}

/// A request with a value that a ``ParameterEncoder`` encodes at every attempt.
struct EncodableRequest<Value: Encodable & Sendable>: URLRequestConvertible {
    let base: any URLRequestConvertible
    let parameters: Value?
    let encoder: any ParameterEncoder

    func asURLRequest() throws -> HTTPRequest {
        try encoder.encode(parameters, into: base.asURLRequest())
    }
}

/// Builds the convertibles of the session's request methods: URL, method and headers, then the
/// request modifier, then the parameters.
///
/// Belongs to a session, and remembers its last request.
struct RequestParts: ~Copyable, Sendable {
    /// The last request that was made of a URL, a method and fields.
    ///
    /// Many programs repeat a request; what the session and its layers know of the last one is found
    /// faster, too, if both share their storage: 2 % of the instructions of a stored response
    /// (`Benchmarks/count stored`).
    private let last = Lock(HTTPRequest(url: nil))

    func base(
        _ url: any URLConvertible, _ method: HTTPMethod, _ headers: HTTPHeaders?,
        _ modifier: (@Sendable (inout HTTPRequest) throws -> Void)?
    ) -> any URLRequestConvertible {
        guard let modifier else { return plain(url, method, headers) }
        return ModifiedRequest(
            base: PlainRequest(url: url, method: method, headers: headers), modifier: modifier)
    }

    /// Makes the request at once from a `String` or a `URL`, which give the same URL every time.
    ///
    /// Not inlined, because the caller would copy the value to find its type.
    @inline(never)
    private func plain(
        _ url: any URLConvertible, _ method: HTTPMethod, _ headers: HTTPHeaders?
    ) -> any URLRequestConvertible {
        let type = type(of: url)
        if type == String.self || type == URL.self, let url = try? url.asURL() {
            return made(url, method, headers ?? HTTPHeaders())
        }
        return PlainRequest(url: url, method: method, headers: headers)
    }

    private func made(
        _ url: URL, _ method: HTTPMethod, _ headers: HTTPHeaders
    ) -> HTTPRequest {
        let known = last.withLock { last in
            let isSame =
                last.hasCopies(of: url, headers)
                && last.method.rawValue.hasSameBytes(as: method.rawValue)
            return isSame ? last : nil
        }
        if let known { return known }
        let request = HTTPRequest(url: url, method: method, headers: headers)
        if ParsedURLCache.isKept(url.absoluteString) { last.withLock { $0 = request } }
        return request
    }

    /// Returns the base without parameters unchanged, so that a plain request needs no queue.
    static func adding(
        _ parameters: Parameters?, _ encoding: (any ParameterEncoding)?,
        to base: consuming any URLRequestConvertible
    ) -> any URLRequestConvertible {
        // Compared first: mapping would copy the existential even if it is `nil`.
        if parameters == nil,
            encoding == nil || encoding.map(leavesRequestsWithoutParameters) == true
        {
            return base
        }
        return ParameterRequest(
            base: base, parameters: parameters, encoding: encoding ?? URLEncoding.default)
    }

    static func adding<Value: Encodable & Sendable>(
        _ parameters: Value?, _ encoder: any ParameterEncoder,
        to base: consuming any URLRequestConvertible
    ) -> any URLRequestConvertible {
        if parameters == nil, leavesRequestsWithoutParameters(encoder) { return base }
        return EncodableRequest(base: base, parameters: parameters, encoder: encoder)
    }

    /// Whether an encoding is known to ignore `nil` parameters; custom encodings may not.
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
