import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Makes a value of each message of a WebSocket.
public protocol WebSocketMessageSerializer<Output, Failure>: Sendable {
    /// The type of the values.
    associatedtype Output: Sendable
    /// The type of the errors.
    associatedtype Failure: Error = any Error

    /// Returns the value of a message.
    ///
    /// - Parameter message: The message that has arrived.
    /// - Throws: Any error; handlers get it with a `serializerFailed` event, and the connection
    ///   stays open.
    ///
    /// Thread: the session's serialization queue if it was given one, and for `for await` loops;
    /// else the handler's queue. Never called twice at the same time for one handler.
    func decode(_ message: WebSocketMessage) throws -> Output
}

extension WebSocketMessageSerializer {
    /// Returns a serializer that decodes each message as JSON with `decoder`.
    public static func json<Value>(
        decoding _: Value.Type = Value.self, using decoder: any DataDecoder = JSONTextDecoder()
    ) -> DecodableWebSocketMessageDecoder<Value>
    where Self == DecodableWebSocketMessageDecoder<Value> {
        Self(decoder: decoder)
    }
}

/// Decodes each message; a text as its UTF-8 bytes.
public struct DecodableWebSocketMessageDecoder<Value: Decodable & Sendable>:
    WebSocketMessageSerializer
{
    /// Why a message was not decoded.
    public enum Error: Swift.Error {
        /// The decoder threw this error.
        case decoding(any Swift.Error)
        /// The message is of an unknown kind; not thrown at present.
        case unknownMessage(description: String)
    }

    /// Decodes the bytes of a message.
    public let decoder: any DataDecoder

    /// Makes a serializer.
    ///
    /// - Parameter decoder: Decodes the bytes of each message.
    public init(decoder: any DataDecoder) {
        self.decoder = decoder
    }

    /// Returns the decoded value of a message.
    ///
    /// - Parameter message: The message that has arrived.
    /// - Throws: ``Error/decoding(_:)`` when ``decoder`` throws.
    public func decode(_ message: WebSocketMessage) throws -> Value {
        let data: Data
        switch message {
        case .data(let bytes): data = bytes
        case .string(let text): data = Data(text.utf8)
        }
        do {
            return try decoder.decodeReceived(Value.self, from: data)
        } catch {
            throw Error.decoding(error)
        }
    }
}
