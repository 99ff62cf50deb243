public import FoundationEssentials
public import OutletHTTP

/// The events of a streaming request, for `for await` loops.
///
/// Each loop adds a handler to the request, and so starts it. The transfer is paused while too many
/// bytes wait for a loop.
public struct DataStreamTask: Sendable {
    /// The events of a stream, for a `for await` loop.
    public typealias Stream<Success: Sendable, Failure: Error> =
        StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let request: DataStreamRequest

    init(_ request: DataStreamRequest) {
        self.request = request
    }

    /// Returns the pieces of the body.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { PassthroughParser() }
    }

    /// Returns the body as UTF-8 text; invalid bytes become U+FFFD.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingStrings(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { TextParser() }
    }

    /// Returns a decoded value of each piece of the body.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - decoder: Decodes each piece; may be called on several threads at the same time.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingDecodables<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONTextDecoder(),
        bufferingPolicy: Stream<T, SessionError>.BufferingPolicy = .unbounded
    ) -> Stream<T, SessionError> {
        streamingResponses(
            serializedUsing: DecodableStreamSerializer<T>(decoder: decoder),
            automaticallyCancelling: shouldAutomaticallyCancel, bufferingPolicy: bufferingPolicy)
    }

    /// Returns the value of a serializer for each piece of the body.
    ///
    /// - Parameters:
    ///   - serializer: Makes a value of each piece.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Serializer.SerializedObject, SessionError>
            .BufferingPolicy =
            .unbounded
    ) -> Stream<Serializer.SerializedObject, SessionError> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) {
            SerializingParser(serializer: serializer)
        }
    }

    /// Returns server-sent events, one at a time.
    ///
    /// Responses that are not event streams, and events that are too large, fail as with
    /// ``DataStreamRequest/responseStreamServerSentEvents(on:stream:)``.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: How many events are kept for a slow loop; all by default. Dropped
    ///     events do not pause the transfer.
    public func streamingServerSentEvents(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<ServerSentEvent, SessionError>.BufferingPolicy =
            .unbounded
    ) -> Stream<ServerSentEvent, SessionError> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { ServerSentEventParser() }
    }

    private func stream<Parser: StreamParser>(
        _ shouldAutomaticallyCancel: Bool,
        _ bufferingPolicy: Stream<Parser.Value, Parser.Failure>.BufferingPolicy,
        _ make: @escaping @Sendable () -> Parser
    ) -> Stream<Parser.Value, Parser.Failure> {
        let request = request
        let core = request.core
        let queue = Parser.isQuick ? core.explicitSerializationQueue : core.serializationQueue
        return StreamOf(bufferingPolicy: bufferingPolicy) {
            if shouldAutomaticallyCancel { request.cancel() }
        } subscribe: { buffer in
            request.add(
                request.pipe(on: queue, make) { _, stream, done in
                    let isLast = stream.completion != nil
                    buffer.yield(stream, isLast: isLast, done: done)
                    if isLast { buffer.finish() }
                }, refusal: Parser.refusal)
        }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }
    /// Suspends the request, as ``Request/suspend()``.
    public func suspend() { request.suspend() }
    /// Starts or resumes the request, as ``Request/resume()``.
    public func resume() { request.resume() }
}

extension DataStreamRequest {
    /// Returns the request's events, for `for await` loops; does not start the request.
    public func streamTask() -> DataStreamTask { DataStreamTask(self) }
}
