public import FoundationEssentials
public import OutletHTTP

/// Puts an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    /// The request with the value in it.
    ///
    /// - Parameters:
    ///   - parameters: The value; `nil` leaves the request as it is.
    ///   - request: What to put it into.
    /// - Throws: ``SessionError/parameterEncoderFailed(reason:)``,
    ///   ``SessionError/parameterEncodingFailed(reason:)``, or any error of the encoder's own.
    ///
    /// Thread: the session's request queue; again at every attempt.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest
}

/// Puts a value into the body as JSON.
///
/// The body gets the type `application/json` unless the request names one.
open class JSONParameterEncoder: ParameterEncoder, @unchecked Sendable {
    // because it holds one constant, itself `Sendable`.

    /// Encodes as `JSONEncoder` does by default.
    public static var `default`: JSONParameterEncoder { JSONParameterEncoder() }

    /// Encodes with a line for each member and element.
    public static var prettyPrinted: JSONParameterEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        return JSONParameterEncoder(encoder: encoder)
    }

    /// Encodes with the members of each object sorted by name.
    public static var sortedKeys: JSONParameterEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return JSONParameterEncoder(encoder: encoder)
    }

    /// Makes the JSON.
    public let encoder: JSONEncoder

    /// Makes an encoder.
    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    /// The request with the value as its body.
    ///
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `jsonEncodingFailed`.
    open func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest {
        guard let parameters else { return request }
        var request = request
        do {
            request.httpBody = try encoder.encode(parameters)
        } catch {
            throw SessionError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
        }
        request.setMissingContentType(HTTPRequest.jsonContentType)
        return request
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// The value as JSON in the body.
    public static var json: JSONParameterEncoder { JSONParameterEncoder() }

    /// The value as JSON in the body, made by this encoder.
    public static func json(encoder: JSONEncoder = JSONEncoder()) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}
