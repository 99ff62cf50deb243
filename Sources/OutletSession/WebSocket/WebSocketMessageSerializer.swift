public import FoundationEssentials
public import OutletTransport

/// Makes a value of a WebSocket's message.
public protocol WebSocketMessageSerializer<Output, Failure>: Sendable {
    /// What a message becomes.
    associatedtype Output: Sendable
    /// How that may fail.
    associatedtype Failure: Error = any Error

    /// Makes a value of a message.
    ///
    /// Thread: that of the handler, or the session's queue for serialization.
    func decode(_ message: WebSocketMessage) throws -> Output
}

extension WebSocketMessageSerializer {
    /// Decodes JSON.
    public static func json<Value>(
        decoding _: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder()
    ) -> DecodableWebSocketMessageDecoder<Value>
    where Self == DecodableWebSocketMessageDecoder<Value> {
        Self(decoder: decoder)
    }
}

/// Decodes messages, a text by its UTF-8 bytes.
public struct DecodableWebSocketMessageDecoder<Value: Decodable & Sendable>:
    WebSocketMessageSerializer
{
    /// Why a message was not decoded.
    public enum Error: Swift.Error {
        /// The decoder failed.
        case decoding(any Swift.Error)
        /// The message is of a kind that is not known here.
        case unknownMessage(description: String)
    }

    /// Makes a value of a message's bytes.
    public let decoder: any DataDecoder

    /// Makes a decoder of messages.
    public init(decoder: any DataDecoder) {
        self.decoder = decoder
    }

    /// Decodes a message.
    ///
    /// - Throws: ``Error``.
    public func decode(_ message: WebSocketMessage) throws -> Value {
        let data: Data
        switch message {
        case .data(let bytes): data = bytes
        case .string(let text): data = Data(text.utf8)
        }
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            throw Error.decoding(error)
        }
    }
}
