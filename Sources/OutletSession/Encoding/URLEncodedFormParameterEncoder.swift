import FoundationEssentials
public import OutletHTTP

/// Encodes a value into the query or the body as `key=value` pairs.
///
/// With a body, sets `Content-Type: application/x-www-form-urlencoded; charset=utf-8` unless the
/// request has a `Content-Type`.
open class URLEncodedFormParameterEncoder: ParameterEncoder, @unchecked Sendable {
    // because it holds constants, themselves `Sendable`.

    /// Where encoded parameters go.
    public typealias Destination = ParameterDestination

    /// An encoder whose destination depends on the method.
    public static var `default`: URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder()
    }

    /// Encodes the values as pairs.
    public let encoder: URLEncodedFormEncoder
    /// Where the pairs go.
    public let destination: Destination

    /// Makes an encoder.
    ///
    /// - Parameters:
    ///   - encoder: Encodes the values as pairs, and decides how arrays, dates and the like are
    ///     written.
    ///   - destination: Where the pairs go; by default the query for `GET`, `HEAD` and `DELETE`,
    ///     else the body.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: Destination = .methodDependent
    ) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Returns the request with the value in its query or body; unchanged if the value is `nil`.
    ///
    /// - Parameters:
    ///   - parameters: The value to encode; `nil` should leave the request unchanged.
    ///   - request: The request before encoding, changed by the request modifier if there is one.
    /// - Throws: ``SessionError/parameterEncoderFailed(reason:)`` with `missingRequiredComponent`
    ///   when the request has no URL or an empty method, or with `encoderFailed` when ``encoder``
    ///   throws.
    open func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest {
        guard let parameters else { return request }
        var request = request
        guard let url = request.url else { throw missing(.url) }
        guard !request.method.rawValue.isEmpty else {
            throw missing(.httpMethod(rawValue: request.method.rawValue))
        }
        if destination.encodesParametersInURL(for: request.method) {
            guard let url = url.appending(encodedQuery: try form(parameters)) else {
                throw missing(.url)
            }
            request.url = url
        } else {
            request.httpBody = Data(try form(parameters).utf8)
            request.setMissingContentType(HTTPRequest.formContentType)
        }
        return request
    }

    private func form(_ parameters: some Encodable) throws -> String {
        do {
            return try encoder.encode(parameters)
        } catch {
            throw SessionError.parameterEncoderFailed(reason: .encoderFailed(error: error))
        }
    }

    private func missing(
        _ component: SessionError.ParameterEncoderFailureReason.RequiredComponent
    ) -> SessionError {
        .parameterEncoderFailed(reason: .missingRequiredComponent(component))
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// Encodes the value as pairs, into the query or the body depending on the method.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder()
    }

    /// Encodes the value as pairs, with a given encoder and destination.
    ///
    /// - Parameters:
    ///   - encoder: Encodes the values as pairs.
    ///   - destination: Where the pairs go; by default the query for `GET`, `HEAD` and `DELETE`,
    ///     else the body.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
