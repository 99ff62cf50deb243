public import FoundationEssentials
public import OutletHTTP

/// What a server said about a failure, decoded: the error of ``ErrorBodyResponseSerializer``.
public struct ErrorBody<Body: Decodable & Sendable>: Error {
    /// The status code.
    public let statusCode: Int
    /// What the server said.
    public let body: Body
}

extension ErrorBody: CustomStringConvertible {
    /// The status code; the body is the server's, and may hold anything.
    public var description: String { "the server answered \(statusCode) with an error body" }
}

extension SessionError {
    /// What a server said about a failure, if it was decoded as that type.
    public func errorBody<Body: Decodable & Sendable>(as type: Body.Type = Body.self) -> Body? {
        guard
            case .responseSerializationFailed(.customSerializationFailed(let error)) = self,
            let error = error as? ErrorBody<Body>
        else { return nil }
        return error.body
    }
}

/// Makes a value of the bodies of good responses, and an error of those of the others.
///
/// Where the status code is none of ``successCodes``, or a validator has refused it, the body is
/// decoded as the error's type and thrown as ``ErrorBody``; read it with
/// ``SessionError/errorBody(as:)``. A body that is no such thing leaves the failure as it was.
public final class ErrorBodyResponseSerializer<
    T: Decodable & Sendable, Failure: Decodable & Sendable
>: ResponseSerializer {
    private let success: DecodableResponseSerializer<T>
    /// Status codes of good responses.
    public let successCodes: Range<Int>

    /// Changes bodies first.
    public var dataPreprocessor: any DataPreprocessor { success.dataPreprocessor }
    /// Status codes whose responses may be empty.
    public var emptyResponseCodes: Set<Int> { success.emptyResponseCodes }
    /// Methods whose responses may be empty.
    public var emptyRequestMethods: Set<HTTPMethod> { success.emptyRequestMethods }

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - success: Makes the values of good responses.
    ///   - successCodes: Status codes of good responses.
    public init(
        success: DecodableResponseSerializer<T> = DecodableResponseSerializer(),
        successCodes: Range<Int> = 200..<300
    ) {
        self.success = success
        self.successCodes = successCodes
    }

    /// Returns the decoded value.
    ///
    /// - Throws: ``ErrorBody``, or what the serializer of values throws.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> T {
        let isRefused = (error as? SessionError)?.isResponseValidationError == true
        if let response, let data, !data.isEmpty, error == nil || isRefused,
            isRefused || !successCodes.contains(response.statusCode),
            let prepared = try? dataPreprocessor.preprocess(data),
            let body = try? success.decoder.decode(Failure.self, from: prepared)
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
    /// Makes a value of the bodies of good responses, and an error of those of the others.
    public static func decodable<T: Decodable & Sendable, Failure: Decodable & Sendable>(
        of type: T.Type, orError errorType: Failure.Type, decoder: any DataDecoder = JSONDecoder()
    ) -> ErrorBodyResponseSerializer<T, Failure>
    where Self == ErrorBodyResponseSerializer<T, Failure> {
        ErrorBodyResponseSerializer(success: DecodableResponseSerializer(decoder: decoder))
    }
}
