public import OutletHTTP
import OutletTransport

/// Names and values to encode into a request.
public typealias Parameters = [String: any Any & Sendable]

/// Encodes parameters into a request.
public protocol ParameterEncoding: Sendable {
    /// Returns the request with the parameters in it.
    ///
    /// - Parameters:
    ///   - urlRequest: The request before encoding, changed by the request modifier if there is
    ///     one.
    ///   - parameters: The names and values; `nil` should leave the request unchanged.
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)``, or any error of the
    ///   encoding's own.
    ///
    /// Thread: the session's request queue; called again for every attempt.
    func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest
}

/// Where encoded parameters go.
public enum ParameterDestination: Sendable {
    /// Into the query for `GET`, `HEAD` and `DELETE`; into the body for other methods.
    case methodDependent
    /// Into the query, after the items that it has already.
    case queryString
    /// Into the body.
    case httpBody

    func encodesParametersInURL(for method: HTTPMethod) -> Bool {
        switch self {
        case .methodDependent: [.get, .head, .delete].contains(method)
        case .queryString: true
        case .httpBody: false
        }
    }
}

extension HTTPRequest {
    /// Sets `Content-Type` unless the request has one.
    mutating func setMissingContentType(_ type: String) {
        if headers["Content-Type"] == nil { headers.update(.contentType(type)) }
    }

    static let formContentType = "application/x-www-form-urlencoded; charset=utf-8"
    static let jsonContentType = "application/json"
}
