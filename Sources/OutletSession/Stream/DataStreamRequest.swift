import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A request whose response body is handed over piece by piece, and never collected.
///
/// Handlers that cannot keep up make the transfer wait: once
/// ``SessionConfiguration/streamBufferSize`` bytes lie before them, no more is read from the peer.
public final class DataStreamRequest: Request, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// Takes the events of a stream; throwing ends the request.
    public typealias Handler<Success: Sendable, Failure: Error> =
        @Sendable (Stream<Success, Failure>) throws -> Void

    /// Judges the head of a response; answering a failure refuses it.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) -> ValidationResult

    /// What goes to a handler.
    enum Item: Sendable {
        case chunk(Data, attempt: Int)
        /// The last.
        case completion
    }

    /// A handler's way.
    typealias Pipe = StreamPipe<DataStreamRequest, Item>

    /// Says why the body of a response is not for a handler.
    typealias Refusal = @Sendable (_ head: HTTPResponse) -> SessionError?

    /// A validation, and whether it is one of this library's.
    struct Validator: Sendable {
        let isQuick: Bool
        let validation: Validation
    }

    /// What changes besides what changes in every request.
    private struct State: Sendable {
        var pipes: [Pipe] = []
        var validators = InlineFirst<Validator>()
        /// What handlers cannot read.
        var refusals: [Refusal] = []
        var backlog = HandlerBacklog()
        /// A redirect's body that turned out to be the response's.
        var collected: Data?
        /// Handlers that have not seen the end.
        var openPipes = 0
        /// A handler or a serializer wants no more.
        var isEnded = false
    }

    /// Whether a piece that cannot be serialized ends the request.
    public let automaticallyCancelOnStreamError: Bool
    private let stream = Lock(State())

    init(
        core: SessionCore, convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool, interceptor: Boxed<any RequestInterceptor>?,
        shouldAutomaticallyResume: Bool?
    ) {
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        watchesHeads = true
    }

    // MARK: Steps

    override func delivery() -> BodyDelivery { core.collectsStreams ? .collect : .chunks }

    override func accept(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        // The head is judged with the body, as the session's middleware leaves both.
        guard !core.collectsStreams else { return .proceed }
        let decision = super.accept(head, from: task)
        guard let refusal = refusal(of: head) else { return decision }
        note(refusal)
        return .cancel
    }

    /// Why a handler cannot read the body of a response, or `nil` if it can.
    private func refusal(of head: HTTPResponse) -> SessionError? {
        stream.withLock { $0.refusals }.lazy.compactMap { $0(head) }.first
    }

    override func consume(
        _ chunk: UnsafeRawBufferPointer, from task: any TransferTask
    ) -> TransferDecision {
        let attempt = mutable.withLock { $0.machine.attempt }
        let pipes = stream.withLock { state -> [Pipe] in
            state.backlog.add(chunk.count, handlers: state.pipes.count, attempt: attempt)
            return state.pipes
        }
        guard !pipes.isEmpty else { return .proceed }
        offer(Data(chunk), to: pipes, from: task, attempt: attempt)
        return makePeerWait { stream.withLock { $0.backlog.isFull(core.configuration) } }
    }

    private func offer(
        _ data: Data, to pipes: [Pipe], from task: (any TransferTask)?, attempt: Int
    ) {
        for pipe in pipes {
            pipe.offer(.chunk(data, attempt: attempt), of: self) {
                if let task { self.consumed(data.count, of: task, attempt: attempt) }
            }
        }
    }

    /// A handler is done with so many bytes.
    private func consumed(_ count: Int, of task: any TransferTask, attempt: Int) {
        letPeerGoOn(on: task, attempt: attempt) {
            stream.withLock { state in
                state.backlog.remove(count, attempt: attempt)
                    && state.backlog.isLow(core.configuration)
            }
        }
    }

    override func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? {
        guard !core.collectsStreams else { return result.body }
        stream.withLock { $0.collected = result.body }
        return nil
    }

    override func takeIntercepted(_ body: Data?) { stream.withLock { $0.collected = body } }

    override func finishIntercepted(at place: FinishingPlace) {
        guard core.collectsStreams || stream.withLock({ $0.collected != nil }), error == nil,
            let response
        else { return finish(at: place) }
        judgeLate(response) { request in
            guard let request = request as? DataStreamRequest else { return }
            if !request.isCancelled { request.offerCollected(from: request.lastTask) }
            request.onFinishingQueue { request.finish(at: $0) }
        }
    }

    override func didTransfer(_ task: any TransferTask) { offerCollected(from: task) }

    /// Hands over a body that came as a whole.
    private func offerCollected(from task: (any TransferTask)?) {
        let (data, pipes) = stream.withLock { state in
            defer { state.collected = nil }
            return (state.collected, state.pipes)
        }
        guard let data, response.flatMap({ refusal(of: $0) }) == nil else { return }
        offer(data, to: pipes, from: task, attempt: .min)
    }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        stream.withLock { state in
            state.backlog.forget()
            state.collected = nil
        }
    }

    override func cleanUp() {
        // What handlers hold, often the request itself, is let go of outside the lock.
        _ = stream.withLock { state in
            defer { state.pipes = [] }
            return state.pipes
        }
    }

    // MARK: Validation

    override func validation(_ mutable: inout Mutable) -> ValidationEffort {
        stream.withLock { $0.validators.allSatisfy(\.isQuick) ? .quick : .slow }
    }

    override func runValidators() {
        let validators = stream.withLock { $0.validators }
        let (request, response) = mutable.withLock {
            ($0.history.requests.last, $0.attempt.response)
        }
        guard let response else { return }
        // Of a response whose head nobody could look at before, or a handler that came later.
        if let refusal = refusal(of: response) { note(refusal) }
        validators.forEach { validator in
            guard error == nil else { return }
            let result = validator.validation(request, response)
            refuse(result)
            monitors?.observe(
                .didValidate(.init(request: request, response: response, result: result)),
                of: self)
        }
    }

    @discardableResult
    func add(_ validator: Validator) -> Self {
        stream.withLock { $0.validators.append(validator) }
        return self
    }

    // MARK: Handlers

    /// Adds a handler's way; starts the request.
    func add(_ pipe: Pipe, refusal: Refusal? = nil) {
        stream.withLock { state in
            state.pipes.append(pipe)
            if let refusal { state.refusals.append(refusal) }
            state.openPipes += 1
        }
        append(
            ResponseHandler(destination: .anywhere, isQuick: true) { request, _ in
                ResponseHandler.Serialized(failure: nil) { _ in
                    guard let request = request as? DataStreamRequest else { return }
                    pipe.offer(.completion, of: request, isLast: true) {}
                }
            })
    }

    /// What a handler gets at the end.
    func complete() -> Completion {
        stream.withLock { $0.openPipes -= 1 }
        return mutable.withLock { mutable in
            Completion(
                request: mutable.history.requests.last, response: mutable.attempt.response,
                metrics: mutable.attempt.lastMetrics, error: mutable.attempt.error)
        }
    }

    /// A handler or a serializer wants no more, so that no other piece is handed over.
    ///
    /// The transfer may be over by then, but to its handlers the request is not.
    func end(with error: SessionError) {
        let isOpen = stream.withLock { state in
            guard state.openPipes > 0 else { return false }
            state.isEnded = true
            return true
        }
        guard isOpen else { return }
        note(error)
        cancel()
    }

    /// Whether no other piece is wanted.
    var isEnded: Bool { stream.withLock { $0.isEnded } || isCancelled }
}
