public import Dispatch
import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension WebSocketRequest {
    /// Delivers the events of the WebSocket, with the values that a serializer makes of messages.
    ///
    /// - Parameters:
    ///   - serializer: Makes a value of each message.
    ///   - queue: Where `handler` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - handler: Called with each event; the last one is `completed`, exactly once.
    @discardableResult
    public func streamSerializer<Serializer>(
        _ serializer: Serializer, on queue: DispatchQueue? = nil,
        handler:
            @escaping @Sendable (_ event: Event<Serializer.Output, Serializer.Failure>) -> Void
    ) -> Self where Serializer: WebSocketMessageSerializer, Serializer.Failure == any Error {
        stream(on: queue, Self.decoded(by: serializer), handler)
    }

    /// Delivers the events of the WebSocket, with decoded messages.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - queue: Where `handler` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - decoder: Decodes the bytes of each message, a text as UTF-8.
    ///   - handler: Called with each event; the last one is `completed`, exactly once.
    @discardableResult
    public func streamDecodableEvents<Value>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = JSONTextDecoder(),
        handler: @escaping @Sendable (_ event: Event<Value, any Error>) -> Void
    ) -> Self where Value: Decodable & Sendable {
        streamSerializer(
            DecodableWebSocketMessageDecoder<Value>(decoder: decoder), on: queue, handler: handler)
    }

    /// Delivers the decoded messages; messages that cannot be decoded are skipped.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - queue: Where `handler` runs, one value after the other; the session's callback queue if
    ///     `nil`.
    ///   - decoder: Decodes the bytes of each message, a text as UTF-8.
    ///   - handler: Called with each value.
    @discardableResult
    public func streamDecodable<Value>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = JSONTextDecoder(),
        handler: @escaping @Sendable (_ value: Value) -> Void
    ) -> Self where Value: Decodable & Sendable {
        streamDecodableEvents(type, on: queue, using: decoder) { $0.message.map(handler) }
    }

    /// Delivers the events of the WebSocket, with unchanged messages.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - handler: Called with each event; the last one is `completed`, exactly once.
    @discardableResult
    public func streamMessageEvents(
        on queue: DispatchQueue? = nil,
        handler: @escaping @Sendable (_ event: Event<WebSocketMessage, Never>) -> Void
    ) -> Self {
        stream(on: queue, Self.asItIs, handler)
    }

    /// Delivers the messages that arrive.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs, one message after the other; the session's callback queue
    ///     if `nil`.
    ///   - handler: Called with each message.
    @discardableResult
    public func streamMessages(
        on queue: DispatchQueue? = nil,
        handler: @escaping @Sendable (_ message: WebSocketMessage) -> Void
    ) -> Self {
        streamMessageEvents(on: queue) { $0.message.map(handler) }
    }

    // MARK: Pipes

    /// Returns the event for a message.
    typealias Reader<Success: Sendable, Failure: Error> =
        @Sendable (_ message: WebSocketMessage) -> Event<Success, Failure>.Kind

    static func asItIs(_ message: WebSocketMessage) -> Event<WebSocketMessage, Never>.Kind {
        .receivedMessage(message)
    }

    static func decoded<Serializer: WebSocketMessageSerializer>(
        by serializer: Serializer
    ) -> Reader<Serializer.Output, any Error> {
        { message in
            do {
                return .receivedMessage(try serializer.decode(message))
            } catch {
                return .serializerFailed(error)
            }
        }
    }

    /// Adds a handler: serializes messages on the session's serialization queue if it was given
    /// one, else on the handler's queue, and calls the handler on its queue.
    private func stream<Success, Failure>(
        on queue: DispatchQueue?, _ read: @escaping Reader<Success, Failure>,
        _ handler: @escaping @Sendable (Event<Success, Failure>) -> Void
    ) -> Self {
        let wanted = queue ?? (core.deliversInline ? nil : core.callbackQueue)
        let call: @Sendable (WebSocketRequest, Event<Success, Failure>, Receipt?) -> Void = {
            request, event, receipt in
            handler(event)
            request.consumed(receipt)
        }
        guard let reading = core.explicitSerializationQueue, let wanted else {
            add(pipe(on: core.explicitSerializationQueue ?? wanted, read, deliver: call))
            return self
        }
        // A pipe of its own, because the handler's queue may be concurrent.
        let calls = StreamPipe<WebSocketRequest, Call<Success, Failure>>(on: wanted) {
            call($0, $1.event, $1.receipt)
        }
        add(
            pipe(on: reading, read) { request, event, receipt in
                calls.offer(Call(event: event, receipt: receipt), of: request)
            })
        return self
    }

    /// A call of a handler that waits for the handler's queue.
    private struct Call<Success: Sendable, Failure: Error>: Sendable {
        let event: Event<Success, Failure>
        let receipt: Receipt?
    }

    /// Makes a pipe that makes events on `queue`, and passes them to `deliver` with what they count
    /// in the backlog: it must call ``consumed(_:)`` when an event was processed.
    func pipe<Success, Failure>(
        on queue: DispatchQueue?, _ read: @escaping Reader<Success, Failure>,
        deliver:
            @escaping @Sendable (
                _ request: WebSocketRequest, _ event: Event<Success, Failure>, _ receipt: Receipt?
            ) -> Void
    ) -> Pipe {
        Pipe(on: queue) { request, item in
            var counted: Receipt?
            let kind: Event<Success, Failure>.Kind
            switch item {
            case .connected(let name): kind = .connected(protocol: name)
            case .message(let message, let receipt):
                counted = receipt
                kind = read(message)
            case .disconnected(let code, let reason):
                kind = .disconnected(closeCode: code, reason: reason)
            case .completion: kind = .completed(request.completion)
            }
            deliver(request, Event(socket: request, kind: kind), counted)
        }
    }
}
