public import Dispatch
public import FoundationEssentials
public import OutletTransport

extension WebSocketRequest {
    /// Hands over what happens, messages through a serializer.
    ///
    /// - Parameters:
    ///   - serializer: Makes a value of a message.
    ///   - queue: Where `handler` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - handler: Called with each event; the last is the completion, exactly once.
    @discardableResult
    public func streamSerializer<Serializer>(
        _ serializer: Serializer, on queue: DispatchQueue? = nil,
        handler:
            @escaping @Sendable (_ event: Event<Serializer.Output, Serializer.Failure>) -> Void
    ) -> Self where Serializer: WebSocketMessageSerializer, Serializer.Failure == any Error {
        stream(on: queue, Self.decoded(by: serializer), handler)
    }

    /// Hands over what happens, messages decoded.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - queue: Where `handler` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - decoder: Makes a value of a message's bytes.
    ///   - handler: Called with each event; the last is the completion, exactly once.
    @discardableResult
    public func streamDecodableEvents<Value>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ event: Event<Value, any Error>) -> Void
    ) -> Self where Value: Decodable & Sendable {
        streamSerializer(
            DecodableWebSocketMessageDecoder<Value>(decoder: decoder), on: queue, handler: handler)
    }

    /// Hands over messages, decoded; those that cannot be are passed over.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - queue: Where `handler` runs, one value after the other; the session's callback queue if
    ///     `nil`.
    ///   - decoder: Makes a value of a message's bytes.
    ///   - handler: Called with each value.
    @discardableResult
    public func streamDecodable<Value>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ value: Value) -> Void
    ) -> Self where Value: Decodable & Sendable {
        streamDecodableEvents(type, on: queue, using: decoder) { $0.message.map(handler) }
    }

    /// Hands over what happens, messages as they come.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - handler: Called with each event; the last is the completion, exactly once.
    @discardableResult
    public func streamMessageEvents(
        on queue: DispatchQueue? = nil,
        handler: @escaping @Sendable (_ event: Event<WebSocketMessage, Never>) -> Void
    ) -> Self {
        stream(on: queue, Self.asItIs, handler)
    }

    /// Hands over messages as they come.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs, one message after the other; the session's callback queue if
    ///     `nil`.
    ///   - handler: Called with each message.
    @discardableResult
    public func streamMessages(
        on queue: DispatchQueue? = nil,
        handler: @escaping @Sendable (_ message: WebSocketMessage) -> Void
    ) -> Self {
        streamMessageEvents(on: queue) { $0.message.map(handler) }
    }

    // MARK: Ways

    /// Makes an event of a message.
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

    /// A handler's way: read and handed over on its queue.
    private func stream<Success, Failure>(
        on queue: DispatchQueue?, _ read: @escaping Reader<Success, Failure>,
        _ handler: @escaping @Sendable (Event<Success, Failure>) -> Void
    ) -> Self {
        let wanted = queue ?? (core.deliversInline ? nil : core.callbackQueue)
        let reading = core.explicitSerializationQueue
        add(
            pipe(on: reading ?? wanted, read) { event, done in
                guard reading != nil, let wanted else {
                    handler(event)
                    return done()
                }
                wanted.async {
                    handler(event)
                    done()
                }
            })
        return self
    }

    /// A way that ends wherever `deliver` puts the events; `done` is to be called for each of them.
    func pipe<Success, Failure>(
        on queue: DispatchQueue?, _ read: @escaping Reader<Success, Failure>,
        deliver:
            @escaping @Sendable (
                _ event: Event<Success, Failure>, _ done: @escaping @Sendable () -> Void
            ) -> Void
    ) -> Pipe {
        Pipe(on: queue) { request, item, done in
            let kind: Event<Success, Failure>.Kind =
                switch item {
                case .connected(let name): .connected(protocol: name)
                case .message(let message): read(message)
                case .disconnected(let code, let reason):
                    .disconnected(closeCode: code, reason: reason)
                case .completion: .completed(request.completion)
                }
            deliver(Event(socket: request, kind: kind), done)
        }
    }
}
