public import FoundationEssentials
public import OutletTransport

/// A WebSocket's events, for `for await` loops, and its sending for tasks.
///
/// A loop that cannot keep up makes the peer wait. Each loop adds a handler to the request, and so
/// starts it.
public struct WebSocketTask: Sendable {
    /// Events, for a `for await` loop.
    public typealias EventStreamOf<Success: Sendable, Failure: Error> =
        StreamOf<WebSocketRequest.Event<Success, Failure>>

    private let request: WebSocketRequest

    init(_ request: WebSocketRequest) {
        self.request = request
    }

    /// What happens, messages as they come.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of events that nobody takes in time.
    public func streamingMessageEvents(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: EventStreamOf<WebSocketMessage, Never>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<WebSocketMessage, Never> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: true, WebSocketRequest.asItIs
        ) { $0 }
    }

    /// Messages as they come.
    ///
    /// The end does not tell why: ``messages(automaticallyCancelling:bufferingPolicy:)`` does.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of messages that nobody takes in time.
    public func streamingMessages(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<WebSocketMessage>.BufferingPolicy = .unbounded
    ) -> StreamOf<WebSocketMessage> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: true, WebSocketRequest.asItIs
        ) { $0.message }
    }

    /// Messages as they come, for a `for try await` loop: ends when the connection is closed in order.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of messages that nobody takes in time.
    /// - Returns: A sequence that throws the request's ``SessionError`` when it has failed, with the
    ///   server's status (``SessionError/responseCode``) where it refused the handshake.
    public func messages(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<Result<WebSocketMessage, SessionError>>.BufferingPolicy =
            .unbounded
    ) -> ThrowingStreamOf<WebSocketMessage> {
        ThrowingStreamOf(
            results: stream(
                shouldAutomaticallyCancel, bufferingPolicy, isQuick: true, WebSocketRequest.asItIs
            ) { event in
                switch event.kind {
                case .receivedMessage(let message): .success(message)
                case .completed(let completion): completion.error.map(Result.failure)
                case .connected, .disconnected: nil
                }
            })
    }

    /// What happens, messages decoded.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - decoder: Makes a value of a message's bytes.
    ///   - bufferingPolicy: What becomes of events that nobody takes in time.
    public func streamingDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: EventStreamOf<Value, any Error>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<Value, any Error> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: false, Self.read(type, decoder)
        ) { $0 }
    }

    /// Messages, decoded; those that cannot be are passed over.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - decoder: Makes a value of a message's bytes.
    ///   - bufferingPolicy: What becomes of values that nobody takes in time.
    public func streamingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: StreamOf<Value>.BufferingPolicy = .unbounded
    ) -> StreamOf<Value> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: false, Self.read(type, decoder)
        ) { $0.message }
    }

    private static func read<Value: Decodable & Sendable>(
        _ type: Value.Type, _ decoder: any DataDecoder
    ) -> WebSocketRequest.Reader<Value, any Error> {
        WebSocketRequest.decoded(by: DecodableWebSocketMessageDecoder<Value>(decoder: decoder))
    }

    private func stream<Success, Failure, Element>(
        _ shouldAutomaticallyCancel: Bool, _ bufferingPolicy: StreamOf<Element>.BufferingPolicy,
        isQuick: Bool, _ read: @escaping WebSocketRequest.Reader<Success, Failure>,
        transform:
            @escaping @Sendable (WebSocketRequest.Event<Success, Failure>) -> Element?
    ) -> StreamOf<Element> {
        let request = request
        let core = request.core
        let queue = isQuick ? core.explicitSerializationQueue : core.serializationQueue
        return StreamOf(bufferingPolicy: bufferingPolicy) {
            if shouldAutomaticallyCancel { request.cancel() }
        } subscribe: { buffer in
            request.add(
                request.pipe(on: queue, read) { event, done in
                    if let element = transform(event) {
                        buffer.yield(element, done: done)
                    } else {
                        done()
                    }
                    if case .completed = event.kind { buffer.finish() }
                })
        }
    }

    /// Sends a message, behind those sent before; starts the request, and waits until the connection
    /// is open.
    ///
    /// What the server sends before anybody listens is kept for the first loop or handler: the last
    /// ``SessionConfiguration/streamBufferSize`` bytes.
    ///
    /// - Parameter message: Text or bytes.
    /// - Throws: ``SessionError``; that of the request where the connection could not be opened, with
    ///   the server's status (``SessionError/responseCode``) where it refused the handshake.
    public func send(_ message: WebSocketMessage) async throws {
        let sent = Promise<Result<Void, any Error>>()
        request.startAutomatically()
        request.sendAtOnce(message) { sent.fulfil($0) }
        try await sent.value.get()
    }

    /// Closes the connection in order.
    public func close(sending closeCode: WebSocketCloseCode, reason: Data? = nil) {
        request.close(sending: closeCode, reason: reason)
    }

    /// Ends the request with ``SessionError/explicitlyCancelled``.
    public func cancel() { request.cancel() }
    /// Suspends the request: nothing is read or written.
    public func suspend() { request.suspend() }
    /// Resumes the request.
    public func resume() { request.resume() }
}

extension WebSocketRequest {
    /// The request's events, for `for await` loops.
    public func webSocketTask() -> WebSocketTask { WebSocketTask(self) }
}
