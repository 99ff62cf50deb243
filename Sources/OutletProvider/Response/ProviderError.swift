public import FoundationEssentials
import OutletHTTP
import OutletSession

/// Why a provider's request failed.
public enum ProviderError: Error, Sendable {
    /// The body is not JSON, or has no value at a key path.
    case jsonMapping(Response)
    /// The body is not UTF-8, or the value at a key path is not a string.
    case stringMapping(Response)
    /// The body cannot be decoded.
    case objectMapping(any Error, Response)
    /// A value cannot be encoded into a body.
    case encodableMapping(any Error)
    /// The status code does not pass a filter, such as ``Response/filterSuccessfulStatusCodes()``.
    ///
    /// ``TargetType/validationType`` fails with ``underlying(_:_:)`` instead.
    case statusCode(Response)
    /// The session's error, usually a `SessionError`, and the response if one arrived.
    case underlying(any Error, Response?)
    /// The endpoint's URL, which is not absolute or not valid.
    case requestMapping(String)
    /// Parameters cannot be encoded.
    case parameterEncoding(any Error)
}

extension ProviderError {
    /// The response, if one arrived.
    public var response: Response? {
        switch self {
        case .jsonMapping(let response), .stringMapping(let response),
            .objectMapping(_, let response), .statusCode(let response):
            response
        case .underlying(_, let response): response
        case .encodableMapping, .requestMapping, .parameterEncoding: nil
        }
    }

    /// The error inside this one.
    public var underlyingError: (any Error)? {
        switch self {
        case .objectMapping(let error, _), .encodableMapping(let error), .underlying(let error, _),
            .parameterEncoding(let error):
            error
        case .jsonMapping, .stringMapping, .statusCode, .requestMapping: nil
        }
    }
}

extension ProviderError: CustomStringConvertible, LocalizedError {
    /// One line: method and address without secrets, what failed, and the fact.
    public var description: String {
        // A transfer's error names its request itself.
        let isNamed = (underlyingError as? SessionError)?.transferError != nil
        guard !isNamed, let request = response?.request else { return finding }
        return "\(request): \(finding)"
    }

    private var finding: String {
        switch self {
        case .jsonMapping(let response): "Failed to map data to JSON. (\(response))"
        case .stringMapping(let response): "Failed to map data to a String. (\(response))"
        case .objectMapping(let error, _):
            SessionError.responseSerializationFailed(reason: .decodingFailed(error: error))
                .description
        case .encodableMapping(let error): "Failed to encode Encodable object into data. \(error)"
        case .statusCode(let response):
            "Status code didn't fall within the given range: \(response.statusCode)."
        case .underlying(let error, _): "\(error)"
        case .requestMapping(let url):
            "Failed to map Endpoint to a request: "
                + "\(String(reflecting: Redaction.standard.shortAddress(url))) is not an absolute URL."
        case .parameterEncoding(let error): "Failed to encode parameters for the request. \(error)"
        }
    }

    /// Same as ``description``.
    public var errorDescription: String? { description }
}

extension ProviderError: CustomReflectable {
    /// Empty, because `dump` would show the URLs and bodies of which ``description`` hides secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
