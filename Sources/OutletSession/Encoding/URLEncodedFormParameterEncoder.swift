import FoundationEssentials
public import OutletHTTP

/// Puts a value into the query or the body as `key=value` pairs.
///
/// A body gets the type `application/x-www-form-urlencoded; charset=utf-8` unless the request
/// names one.
open class URLEncodedFormParameterEncoder: ParameterEncoder, @unchecked Sendable {
    // because it holds constants, themselves `Sendable`.

    /// Where encoded parameters go.
    public typealias Destination = ParameterDestination

    /// The destination by the method.
    public static var `default`: URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder()
    }

    /// Makes the pairs.
    public let encoder: URLEncodedFormEncoder
    /// Where the pairs go.
    public let destination: Destination

    /// Makes an encoder.
    public init(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: Destination = .methodDependent
    ) {
        self.encoder = encoder
        self.destination = destination
    }

    /// The request with the value in its query or body.
    ///
    /// - Throws: ``SessionError/parameterEncoderFailed(reason:)``.
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
    /// The value as pairs, in the query or the body by the method.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder()
    }

    /// The value as pairs made by this encoder, where they are wanted.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
