public import Dispatch
public import FoundationEssentials
public import OutletHTTP

extension DataStreamRequest {
    /// Delivers the pieces of the body as they arrive.
    ///
    /// - Parameters:
    ///   - queue: Where `stream` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - stream: Called with each piece, then exactly once with the completion. If it throws, the
    ///     request ends (see ``Handler``).
    @discardableResult
    public func responseStream(
        on queue: DispatchQueue? = nil, stream: @escaping Handler<Data, Never>
    ) -> Self {
        parse(on: queue, stream) { PassthroughParser() }
    }

    /// Serializes each piece of the body, and delivers the values.
    ///
    /// - Parameters:
    ///   - serializer: Makes a value of each piece.
    ///   - queue: Where `stream` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - stream: Called with each value or error, then exactly once with the completion. If it
    ///     throws, the request ends (see ``Handler``).
    @discardableResult
    public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue? = nil,
        stream: @escaping Handler<Serializer.SerializedObject, SessionError>
    ) -> Self {
        parse(on: queue, stream) { SerializingParser(serializer: serializer) }
    }

    /// Delivers the body as UTF-8 text; invalid bytes become U+FFFD.
    ///
    /// A character that is split across two pieces is delivered whole, with the second.
    ///
    /// - Parameters:
    ///   - queue: Where `stream` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - stream: Called with each text, then exactly once with the completion. If it throws, the
    ///     request ends (see ``Handler``).
    @discardableResult
    public func responseStreamString(
        on queue: DispatchQueue? = nil, stream: @escaping Handler<String, Never>
    ) -> Self {
        parse(on: queue, stream) { TextParser() }
    }

    /// Decodes each piece of the body, and delivers the values.
    ///
    /// A piece is what arrived at once: only for servers that send each value in a piece of its
    /// own.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - queue: Where `stream` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - decoder: Decodes each piece; may be called on several threads at the same time.
    ///   - preprocessor: Changes each piece first; by default it is kept as it is.
    ///   - stream: Called with each value or error, then exactly once with the completion. If it
    ///     throws, the request ends (see ``Handler``).
    @discardableResult
    public func responseStreamDecodable<T: Decodable & Sendable>(
        of type: T.Type = T.self, on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = JSONTextDecoder(),
        preprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        stream: @escaping Handler<T, SessionError>
    ) -> Self {
        responseStream(
            using: DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: preprocessor),
            on: queue, stream: stream)
    }

    /// Delivers server-sent events, one at a time, independent of the pieces of the body.
    ///
    /// A response that is not an event stream (its status is not 200, or its type not
    /// `text/event-stream`) ends the request with
    /// ``ServerSentEventError/notAnEventStream(statusCode:contentType:)`` inside a custom
    /// validation failure. An event of more than 16 MiB ends it with
    /// ``ServerSentEventError/tooLarge(limit:)`` inside a custom serialization failure, which
    /// `stream` gets before the completion as well.
    ///
    /// - Parameters:
    ///   - queue: Where `stream` runs, one event after the other; the session's callback queue if
    ///     `nil`.
    ///   - stream: Called with each event or error, then exactly once with the completion. If it
    ///     throws, the request ends (see ``Handler``).
    @discardableResult
    public func responseStreamServerSentEvents(
        on queue: DispatchQueue? = nil, stream: @escaping Handler<ServerSentEvent, SessionError>
    ) -> Self {
        parse(on: queue, stream) { ServerSentEventParser() }
    }

    // MARK: Pipes

    /// Delivers an event; must call `done` when the event was processed.
    typealias Deliver<Value: Sendable, Failure: Error> =
        @Sendable (
            _ request: DataStreamRequest, _ stream: Stream<Value, Failure>,
            _ done: @escaping @Sendable () -> Void
        ) -> Void

    /// Adds a handler: parses pieces on the session's serialization queue if it was given one, else
    /// on the handler's queue, and calls the handler on its queue.
    private func parse<Parser: StreamParser>(
        on queue: DispatchQueue?, _ handler: @escaping Handler<Parser.Value, Parser.Failure>,
        _ make: @escaping @Sendable () -> Parser
    ) -> Self {
        let wanted = queue ?? (core.deliversInline ? nil : core.callbackQueue)
        guard let parsing = core.explicitSerializationQueue, let wanted else {
            add(
                pipe(on: core.explicitSerializationQueue ?? wanted, make) { request, stream, done in
                    request.handOver(stream, to: handler, done)
                }, refusal: Parser.refusal)
            return self
        }
        // A pipe of its own, because the handler's queue may be concurrent.
        let calls = StreamPipe<DataStreamRequest, Call<Parser.Value, Parser.Failure>>(
            on: wanted
        ) { request, call in
            var stream = call.stream
            // Made when it is delivered: until then the handler may fail the request.
            if stream.completion != nil {
                stream = Stream(event: .complete(request.complete()), token: stream.token)
            } else if request.isEnded {
                return call.done()
            }
            request.handOver(stream, to: handler, call.done)
        }
        add(
            pipe(on: parsing, make, passesOn: true) { request, stream, done in
                calls.offer(Call(stream: stream, done: done), of: request)
            }, refusal: Parser.refusal)
        return self
    }

    /// A call of a handler that waits for the handler's queue.
    private struct Call<Value: Sendable, Failure: Error>: Sendable {
        let stream: Stream<Value, Failure>
        let done: @Sendable () -> Void
    }

    private func handOver<Value, Failure>(
        _ stream: Stream<Value, Failure>, to handler: Handler<Value, Failure>,
        _ done: @Sendable () -> Void
    ) {
        do {
            try handler(stream)
        } catch {
            end(
                with: .responseSerializationFailed(
                    reason: .customSerializationFailed(error: error)))
        }
        done()
    }

    /// Makes a pipe that parses pieces on `queue` and passes the values to `deliver`; `done` comes
    /// with the last value of a piece.
    ///
    /// With `passesOn`, `deliver` passes the values to another queue, and has to call ``complete()``
    /// for the completion.
    func pipe<Parser: StreamParser>(
        on queue: DispatchQueue?, _ make: @escaping @Sendable () -> Parser, passesOn: Bool = false,
        deliver: @escaping Deliver<Parser.Value, Parser.Failure>
    ) -> Pipe {
        let parser = ParserBox(make, passesOn: passesOn)
        let token = CancellationToken(self)
        return Pipe(on: queue) { request, item in
            request.parse(item, with: parser, token, deliver: deliver)
        }
    }

    private func parse<Parser: StreamParser>(
        _ item: Item, with parser: ParserBox<Parser>, _ token: CancellationToken,
        deliver: Deliver<Parser.Value, Parser.Failure>
    ) {
        let done: @Sendable () -> Void = { self.consumed(item) }
        // Delivered when it is known whether another one follows.
        var last: Result<Parser.Value, Parser.Failure>?
        if !isEnded, !parser.hasEnded {
            parser.parse(item) { result in
                if let former = last.take() { self.deliver(former, of: parser, token, {}, deliver) }
                last = result
            }
        }
        let isLastDelivered =
            last.take().map { self.deliver($0, of: parser, token, done, deliver) } ?? false
        if case .completion = item {
            let stream = Stream<Parser.Value, Parser.Failure>(
                event: .complete(parser.passesOn ? completion : complete()), token: token)
            deliver(self, stream) {}
        }
        if !isLastDelivered { done() }
    }

    /// Delivers a value, unless no further one is delivered.
    ///
    /// - Returns: Whether the value was delivered.
    @discardableResult
    private func deliver<Parser: StreamParser>(
        _ result: consuming Result<Parser.Value, Parser.Failure>, of parser: ParserBox<Parser>,
        _ token: CancellationToken, _ done: @escaping @Sendable () -> Void,
        _ deliver: Deliver<Parser.Value, Parser.Failure>
    ) -> Bool {
        guard !isEnded, !parser.hasEnded else { return false }
        notifyMonitors(of: result)
        let stream = Stream<Parser.Value, Parser.Failure>(event: .stream(result), token: token)
        guard let failure = stream.error, let end = end(after: failure, of: Parser.self) else {
            deliver(self, stream, done)
            return true
        }
        parser.hasEnded = true
        guard parser.passesOn else {
            deliver(self, stream, done)
            self.end(with: end)
            return true
        }
        // Ends the request behind this value and those before it, which wait for the handler's queue.
        deliver(self, stream) {
            self.end(with: end)
            done()
        }
        return true
    }

    /// The error with which the request ends after a failure; `nil` if it goes on.
    private func end<Parser: StreamParser>(
        after failure: Parser.Failure, of parser: Parser.Type
    ) -> SessionError? {
        if automaticallyCancelOnStreamError { return .explicitlyCancelled }
        return Parser.endsAtFailure ? failure.asStreamError : nil
    }

    func notifyMonitors<Value: Sendable, Failure>(of result: Result<Value, Failure>) {
        guard let monitors = core.monitors else { return }
        let parsed = result.mapError(\.asStreamError)
        monitors.observe(
            .didParseStream(.init(parsed) { $0.request(self, didParseStream: parsed) }), of: self)
    }
}

extension Error {
    /// The error as one of a stream's values.
    fileprivate var asStreamError: SessionError {
        asSessionError {
            .responseSerializationFailed(reason: .customSerializationFailed(error: $0))
        }
    }
}
