public import FoundationEssentials

/// A streaming request's events, for `for await` loops.
///
/// A loop that cannot keep up makes the transfer wait. Each loop adds a handler to the request, and
/// so starts it.
public struct DataStreamTask: Sendable {
    /// A stream's events, for a `for await` loop.
    public typealias Stream<Success: Sendable, Failure: Error> =
        StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let request: DataStreamRequest

    init(_ request: DataStreamRequest) {
        self.request = request
    }

    /// The body as it comes.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of pieces that nobody takes in time.
    public func streamingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { PassthroughParser() }
    }

    /// The body as text in UTF-8; what is not is replaced by U+FFFD.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of pieces that nobody takes in time.
    public func streamingStrings(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { TextParser() }
    }

    /// A value of each piece of the body.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - decoder: Makes a value of a piece.
    ///   - bufferingPolicy: What becomes of values that nobody takes in time.
    public func streamingDecodables<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: Stream<T, SessionError>.BufferingPolicy = .unbounded
    ) -> Stream<T, SessionError> {
        streamingResponses(
            serializedUsing: DecodableStreamSerializer<T>(decoder: decoder),
            automaticallyCancelling: shouldAutomaticallyCancel, bufferingPolicy: bufferingPolicy)
    }

    /// A value of each piece of the body.
    ///
    /// - Parameters:
    ///   - serializer: Makes a value of a piece.
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of values that nobody takes in time.
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

    /// Server-sent events, one at a time.
    ///
    /// A response that is no event stream (its status is not 200, or its type not `text/event-stream`)
    /// ends the request with ``ServerSentEventError/notAnEventStream(statusCode:contentType:)``.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether leaving the loop early cancels the request.
    ///   - bufferingPolicy: What becomes of events that nobody takes in time.
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
                    buffer.yield(stream, done: done)
                    if stream.completion != nil { buffer.finish() }
                }, refusal: Parser.refusal)
        }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }
    /// Suspends the request.
    public func suspend() { request.suspend() }
    /// Resumes the request.
    public func resume() { request.resume() }
}

extension DataStreamRequest {
    /// The request's events, for `for await` loops.
    public func streamTask() -> DataStreamTask { DataStreamTask(self) }
}
