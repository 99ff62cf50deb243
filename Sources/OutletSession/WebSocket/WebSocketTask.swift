public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// The events of a WebSocket, for `for await` loops, and its methods to send, for tasks.
///
/// Each loop adds a handler to the request, and so starts it. Reading from the connection is paused
/// while too many bytes wait for a loop: see ``SessionConfiguration/streamBufferSize``.
public struct WebSocketTask: Sendable {
    /// The events of a WebSocket, for a `for await` loop.
    public typealias EventStreamOf<Success: Sendable, Failure: Error> =
        StreamOf<WebSocketRequest.Event<Success, Failure>>

    private let request: WebSocketRequest

    init(_ request: WebSocketRequest) {
        self.request = request
    }

    /// Returns the events of the WebSocket, with unchanged messages.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingMessageEvents(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: EventStreamOf<WebSocketMessage, Never>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<WebSocketMessage, Never> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: true, WebSocketRequest.asItIs
        ) { $0 }
    }

    /// Returns the messages that arrive.
    ///
    /// The sequence ends without an error, also when the request failed:
    /// ``messages(automaticallyCancelling:bufferingPolicy:)`` throws then.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many messages are kept for a slow loop; all by default. Dropped
    ///     messages do not pause the transfer.
    public func streamingMessages(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<WebSocketMessage>.BufferingPolicy = .unbounded
    ) -> StreamOf<WebSocketMessage> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: true, WebSocketRequest.asItIs
        ) { $0.message }
    }

    /// Returns the messages that arrive, for a `for try await` loop.
    ///
    /// The sequence ends without an error when either end has closed the connection with a close
    /// frame.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many messages are kept for a slow loop; all by default. Dropped
    ///     messages do not pause the transfer.
    /// - Returns: A sequence that throws the request's ``SessionError`` if that fails. If the
    ///   server refused the handshake, its ``SessionError/responseCode`` is the status.
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

    /// Returns the events of the WebSocket, with decoded messages.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - decoder: Decodes the bytes of each message, a text as UTF-8.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONTextDecoder(),
        bufferingPolicy: EventStreamOf<Value, any Error>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<Value, any Error> {
        stream(
            shouldAutomaticallyCancel, bufferingPolicy, isQuick: false, Self.read(type, decoder)
        ) { $0 }
    }

    /// Returns the decoded messages; messages that cannot be decoded are skipped.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - decoder: Decodes the bytes of each message, a text as UTF-8.
    ///   - bufferingPolicy: How many values are kept for a slow loop; all by default. Dropped
    ///     values do not pause the transfer.
    public func streamingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONTextDecoder(),
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
                request.pipe(on: queue, read) { request, event, receipt in
                    let isLast = if case .completed = event.kind { true } else { false }
                    if let element = transform(event) {
                        buffer.yield(element, isLast: isLast) { request.consumed(receipt) }
                    } else {
                        request.consumed(receipt)
                    }
                    if isLast { buffer.finish() }
                })
        }
    }

    /// Sends a message, after the messages sent before; starts the request.
    ///
    /// Returns when the last byte was written to the connection, which may have to be opened first.
    /// Messages that arrive before the first loop or handler are kept for it: the last
    /// ``SessionConfiguration/streamBufferSize`` bytes of them.
    ///
    /// If the current task is cancelled, this throws at once. The connection stays open, and the
    /// message may still be sent: half a message cannot be taken back.
    ///
    /// - Parameter message: The message to send.
    /// - Throws: ``SessionError/explicitlyCancelled`` if the current task is cancelled. The ``SessionError`` of the request if the connection could not be opened, or was
    ///   lost; its ``SessionError/responseCode`` is the status if the server refused the handshake.
    ///   ``SessionError/sessionTaskFailed(error:)`` if the message could not be sent for another
    ///   reason.
    public func send(_ message: WebSocketMessage) async throws {
        guard !Task.isCancelled else { throw SessionError.explicitlyCancelled }
        let sent = Promise<Result<Void, any Error>>()
        request.startAutomatically()
        request.sendAtOnce(message) { sent.fulfil($0) }
        try await withTaskCancellationHandler {
            try await sent.value.get()
        } onCancel: {
            sent.fulfil(.failure(SessionError.explicitlyCancelled))
        }
    }

    /// Closes the connection with a close frame, after the messages sent before.
    ///
    /// Messages that arrive from now on are dropped: wait for answers before. See
    /// ``WebSocketRequest/close(sending:reason:)``.
    ///
    /// - Parameters:
    ///   - closeCode: The reason as a number.
    ///   - reason: The reason as UTF-8 text of at most 123 bytes, cut off beyond; `nil` for none.
    public func close(sending closeCode: WebSocketCloseCode, reason: Data? = nil) {
        request.close(sending: closeCode, reason: reason)
    }

    /// Ends the request with ``SessionError/explicitlyCancelled``.
    public func cancel() { request.cancel() }
    /// Suspends the request: no byte is read or written until ``resume()``.
    public func suspend() { request.suspend() }
    /// Starts the request, or continues it after ``suspend()``.
    public func resume() { request.resume() }
}

extension WebSocketRequest {
    /// Returns the request's events and methods for tasks; does not start the request.
    public func webSocketTask() -> WebSocketTask { WebSocketTask(self) }
}
