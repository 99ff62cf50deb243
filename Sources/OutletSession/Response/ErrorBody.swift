public import FoundationEssentials
public import OutletHTTP

/// The decoded body of an error response, thrown by ``ErrorBodyResponseSerializer``.
public struct ErrorBody<Body: Decodable & Sendable>: Error {
    /// The status code.
    public let statusCode: Int
    /// The decoded body.
    public let body: Body
}

extension ErrorBody: CustomStringConvertible {
    /// The status code; without the body, which may contain anything.
    public var description: String { "the server answered \(statusCode) with an error body" }
}

extension SessionError {
    /// Returns the decoded body of the error response.
    ///
    /// - Parameter type: The error type of the ``ErrorBodyResponseSerializer``.
    /// - Returns: The body; `nil` if this error has another cause, or its body another type.
    public func errorBody<Body: Decodable & Sendable>(as type: Body.Type = Body.self) -> Body? {
        guard
            case .responseSerializationFailed(.customSerializationFailed(let error)) = self,
            let error = error as? ErrorBody<Body>
        else { return nil }
        return error.body
    }
}

/// Decodes the body of a successful response as a value, and that of an error response as an error.
///
/// If the status code is not in ``successCodes``, or a validator has refused the response, the body
/// is decoded as `Failure` and thrown inside ``ErrorBody``; read it with
/// ``SessionError/errorBody(as:)``. If it cannot be decoded, the request fails with the validator's
/// error, or without one with `unacceptableStatusCode`.
public final class ErrorBodyResponseSerializer<
    T: Decodable & Sendable, Failure: Decodable & Sendable
>: ResponseSerializer {
    private let success: DecodableResponseSerializer<T>
    /// Status codes of successful responses.
    public let successCodes: Range<Int>

    /// Changes the body before it is decoded, in both cases.
    public var dataPreprocessor: any DataPreprocessor { success.dataPreprocessor }
    /// Status codes whose responses may have an empty body.
    public var emptyResponseCodes: Set<Int> { success.emptyResponseCodes }
    /// Methods whose responses may have an empty body.
    public var emptyRequestMethods: Set<HTTPMethod> { success.emptyRequestMethods }

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - success: Serializes successful responses; its preprocessor and decoder are also used for
    ///     error bodies.
    ///   - successCodes: Status codes of successful responses.
    public init(
        success: DecodableResponseSerializer<T> = DecodableResponseSerializer(),
        successCodes: Range<Int> = 200..<300
    ) {
        self.success = success
        self.successCodes = successCodes
    }

    /// Returns the decoded value.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: ``SessionError/responseSerializationFailed(reason:)`` with
    ///   `customSerializationFailed` and an ``ErrorBody`` inside;
    ///   ``SessionError/responseValidationFailed(reason:)`` with `unacceptableStatusCode` when the
    ///   status code is not in ``successCodes`` and the body cannot be decoded; `error` if there is
    ///   one; what ``DecodableResponseSerializer`` throws.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> T {
        let isRefused = (error as? SessionError)?.isResponseValidationError == true
        if let response, let data, !data.isEmpty, error == nil || isRefused,
            isRefused || !successCodes.contains(response.statusCode),
            let prepared = try? dataPreprocessor.preprocess(data),
            let body = try? success.decoder.decodeReceived(Failure.self, from: prepared)
        {
            throw SessionError.responseSerializationFailed(
                reason: .customSerializationFailed(
                    error: ErrorBody(statusCode: response.statusCode, body: body)))
        }
        if error == nil, let response, !successCodes.contains(response.statusCode) {
            throw SessionError.responseValidationFailed(
                reason: .unacceptableStatusCode(code: response.statusCode))
        }
        return try success.serialize(
            request: request, response: response, data: data, error: error)
    }
}

extension ResponseSerializer {
    /// Decodes the body of a successful response as a value, and that of an error response as an
    /// error.
    ///
    /// - Parameters:
    ///   - type: The type of successful bodies, with status codes from 200 to 299.
    ///   - errorType: The type of error bodies; read them with ``SessionError/errorBody(as:)``.
    ///   - decoder: Decodes both; may be called on several threads at the same time.
    public static func decodable<T: Decodable & Sendable, Failure: Decodable & Sendable>(
        of type: T.Type, orError errorType: Failure.Type,
        decoder: any DataDecoder = JSONTextDecoder()
    ) -> ErrorBodyResponseSerializer<T, Failure>
    where Self == ErrorBodyResponseSerializer<T, Failure> {
        ErrorBodyResponseSerializer(success: DecodableResponseSerializer(decoder: decoder))
    }
}
