public import FoundationEssentials
public import OutletHTTP

/// Encodes an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the value in it.
    ///
    /// - Parameters:
    ///   - parameters: The value to encode; `nil` should leave the request unchanged.
    ///   - request: The request before encoding, changed by the request modifier if there is one.
    /// - Throws: ``SessionError/parameterEncoderFailed(reason:)``,
    ///   ``SessionError/parameterEncodingFailed(reason:)``, or any error of the encoder's own.
    ///
    /// Thread: the session's request queue; called again for every attempt.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest
}

/// Encodes a value into the body as JSON.
///
/// Sets `Content-Type: application/json` unless the request has a `Content-Type`.
open class JSONParameterEncoder: ParameterEncoder, @unchecked Sendable {
    // because it holds one constant, itself `Sendable`.

    /// Encodes as `JSONEncoder` does by default.
    public static var `default`: JSONParameterEncoder { JSONParameterEncoder() }

    /// Encodes each member and element on a line of its own.
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

    /// Encodes the values.
    public let encoder: JSONEncoder

    /// Makes an encoder.
    ///
    /// - Parameter encoder: Encodes the values, on the session's request queue; several requests
    ///   may use it at the same time, so its settings must not be changed any more.
    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    /// Returns the request with the value as its body; unchanged if the value is `nil`.
    ///
    /// - Parameters:
    ///   - parameters: The value to encode; `nil` should leave the request unchanged.
    ///   - request: The request before encoding, changed by the request modifier if there is one.
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `jsonEncodingFailed` when
    ///   ``encoder`` throws.
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
    /// Encodes the value into the body as JSON.
    public static var json: JSONParameterEncoder { JSONParameterEncoder() }

    /// Encodes the value into the body as JSON, with a given `JSONEncoder`.
    ///
    /// - Parameter encoder: Encodes the values; its settings must not be changed any more.
    public static func json(encoder: JSONEncoder = JSONEncoder()) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}
