public import FoundationEssentials

/// Makes a value of one piece of a body.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// What is made.
    associatedtype SerializedObject: Sendable

    /// Makes the value.
    ///
    /// - Throws: ``SessionError``, or any error; it is wrapped in
    ///   ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
    ///
    /// Thread: where the handler runs, or the session's serialization queue if it was given one.
    func serialize(_ data: Data) throws -> SerializedObject
}

/// Decodes each piece.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    /// Makes the value.
    public let decoder: any DataDecoder
    /// Changes a piece first.
    public let dataPreprocessor: any DataPreprocessor

    /// Makes a serializer.
    public init(
        decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// Returns the decoded value.
    public func serialize(_ data: Data) throws -> T {
        let data = try dataPreprocessor.preprocess(data)
        do {
            return try decoder.decode(T.self, from: data)
        } catch {
            throw SessionError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

/// Hands each piece over as it is.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Makes a serializer.
    public init() {}

    /// Returns `data`.
    public func serialize(_ data: Data) throws -> Data { data }
}

/// Makes text of each piece, as UTF-8; what is not is replaced by U+FFFD.
///
/// ``DataStreamRequest/responseStreamString(on:stream:)`` keeps characters whole that lie across two
/// pieces; this cannot.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Makes a serializer.
    public init() {}

    /// Returns the text.
    public func serialize(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

extension DataStreamSerializer {
    /// Decodes each piece.
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type, decoder: any DataDecoder = JSONDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) -> Self where Self == DecodableStreamSerializer<T> {
        DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// Hands each piece over as it is.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Makes text of each piece.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}
