public import FoundationEssentials
public import OutletHTTP

/// Decodes values from bytes; `JSONTextDecoder`, `JSONDecoder` and `PropertyListDecoder` conform.
///
/// Responses that are nested deeper than 512 levels are errors with all three of them, and so are
/// binary property lists that contain themselves.
public protocol DataDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: The body after the preprocessor; in a stream, one piece of it.
    /// - Throws: Any error; the response fails with it inside
    ///   ``SessionError/ResponseSerializationFailureReason/decodingFailed(error:)``.
    ///
    /// Thread: the serializer's; one decoder may be called on several threads at the same time.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONTextDecoder: DataDecoder {}
extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {}

/// A type with a value that stands for an empty body.
public protocol EmptyResponse: Sendable {
    /// Returns the value that stands for an empty body.
    static func emptyValue() -> Self
}

/// The value of an empty body, for requests whose responses have no content.
public struct Empty: Codable, Hashable, Sendable, EmptyResponse {
    /// The only value of this type.
    public static let value = Empty()

    /// The only value of this type.
    public static func emptyValue() -> Empty { value }
}

/// Decodes the body with a decoder.
///
/// An empty body that is allowed gives ``EmptyResponse/emptyValue()`` if `T` is an
/// ``EmptyResponse``, and an error if not.
public final class DecodableResponseSerializer<T: Decodable & Sendable>: ResponseSerializer {
    /// Changes the body before it is decoded.
    public let dataPreprocessor: any DataPreprocessor
    /// Decodes the value.
    public let decoder: any DataDecoder
    /// Status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>
    /// Methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - decoder: Decodes the value; may be called on several threads at the same time.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONTextDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.decoder = decoder
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    /// Returns the decoded value.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: `error` if there is one; ``SessionError/responseSerializationFailed(reason:)``
    ///   with `inputDataNilOrZeroLength` when the body is empty and may not be, with
    ///   `invalidEmptyResponse` when it may be but `T` has no value for it, or with
    ///   `decodingFailed`; what the preprocessor throws.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> T {
        let body = try body(request: request, response: response, data: data, error: error)
        guard let body else {
            guard let type = T.self as? any EmptyResponse.Type,
                let value = type.emptyValue() as? T
            else {
                throw SessionError.responseSerializationFailed(
                    reason: .invalidEmptyResponse(type: "\(T.self)"))
            }
            return value
        }
        do {
            return try decoder.decodeReceived(T.self, from: body)
        } catch {
            throw SessionError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// Returns the body unchanged.
    public static var data: DataResponseSerializer { DataResponseSerializer() }

    /// Returns the body unchanged.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public static func data(
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DataResponseSerializer {
        DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// Decodes the body as text.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// Decodes the body as text.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - encoding: The charset; if `nil`, the one in `Content-Type`, else ISO 8859-1.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public static func string(
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> StringResponseSerializer {
        StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods)
    }
}

extension ResponseSerializer {
    /// Decodes the body with a decoder.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - decoder: Decodes the value; may be called on several threads at the same time.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONTextDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DecodableResponseSerializer<T> where Self == DecodableResponseSerializer<T> {
        DecodableResponseSerializer<T>(
            dataPreprocessor: dataPreprocessor, decoder: decoder,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods)
    }
}
