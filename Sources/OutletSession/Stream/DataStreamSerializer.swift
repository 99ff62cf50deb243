public import FoundationEssentials
public import OutletHTTP

/// Serializes the pieces of a body, each on its own.
public protocol DataStreamSerializer<SerializedObject>: Sendable {
    /// The type of the values.
    associatedtype SerializedObject: Sendable

    /// Returns the value of one piece.
    ///
    /// - Parameter data: The bytes that arrived at once; their boundaries depend on the network.
    /// - Throws: A ``SessionError``, which is delivered as it is, or any other error, which is
    ///   wrapped in
    ///   ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``. The
    ///   request continues unless ``DataStreamRequest/automaticallyCancelOnStreamError`` is set.
    ///
    /// Thread: the session's serialization queue if it was given one, and for `for await` loops;
    /// else the handler's queue. Never called twice at the same time for one handler.
    func serialize(_ data: Data) throws -> SerializedObject
}

/// Decodes each piece of the body.
public struct DecodableStreamSerializer<T: Decodable & Sendable>: DataStreamSerializer {
    /// Decodes the values.
    public let decoder: any DataDecoder
    /// Changes each piece before it is decoded.
    public let dataPreprocessor: any DataPreprocessor

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - decoder: Decodes each piece; may be called on several threads at the same time.
    ///   - dataPreprocessor: Changes each piece first; by default it is kept as it is.
    public init(
        decoder: any DataDecoder = JSONTextDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) {
        self.decoder = decoder
        self.dataPreprocessor = dataPreprocessor
    }

    /// Returns the decoded value.
    ///
    /// - Parameter data: The bytes that arrived at once; their boundaries depend on the network.
    /// - Throws: ``SessionError/responseSerializationFailed(reason:)`` with `decodingFailed`; what
    ///   the preprocessor throws.
    public func serialize(_ data: Data) throws -> T {
        let data = try dataPreprocessor.preprocess(data)
        do {
            return try decoder.decodeReceived(T.self, from: data)
        } catch {
            throw SessionError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

/// Returns each piece unchanged.
public struct PassthroughStreamSerializer: DataStreamSerializer {
    /// Makes a serializer.
    public init() {}

    /// Returns `data`; never throws.
    ///
    /// - Parameter data: The bytes that arrived at once; their boundaries depend on the network.
    public func serialize(_ data: Data) throws -> Data { data }
}

/// Decodes each piece as UTF-8 text; invalid bytes become U+FFFD.
///
/// Characters that are split across two pieces become U+FFFD;
/// ``DataStreamRequest/responseStreamString(on:stream:)`` delivers them whole.
public struct StringStreamSerializer: DataStreamSerializer {
    /// Makes a serializer.
    public init() {}

    /// Returns the text; never throws.
    ///
    /// - Parameter data: The bytes that arrived at once; their boundaries depend on the network.
    public func serialize(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
}

extension DataStreamSerializer {
    /// Decodes each piece of the body.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: Decodes each piece; may be called on several threads at the same time.
    ///   - dataPreprocessor: Changes each piece first; by default it is kept as it is.
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type, decoder: any DataDecoder = JSONTextDecoder(),
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor()
    ) -> Self where Self == DecodableStreamSerializer<T> {
        DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: dataPreprocessor)
    }
}

extension DataStreamSerializer where Self == PassthroughStreamSerializer {
    /// Returns each piece unchanged.
    public static var passthrough: PassthroughStreamSerializer { PassthroughStreamSerializer() }
}

extension DataStreamSerializer where Self == StringStreamSerializer {
    /// Decodes each piece as UTF-8 text.
    public static var string: StringStreamSerializer { StringStreamSerializer() }
}
