import FoundationEssentials
public import OutletHTTP
import OutletTransport
import Synchronization

/// A request whose response body is delivered piece by piece, without collecting it.
///
/// The transfer is paused while more than ``SessionConfiguration/streamBufferSize`` bytes wait for
/// handlers, counted once for each handler, and continues at a quarter of that. With middleware
/// that sets ``Middleware/needsStreamedBodies``, the body is collected and delivered as one piece.
///
/// Pieces that arrive before the first handler is added are kept for it, and count as well: a request
/// with a large body waits for a handler. To read a body without using it, add a handler that ignores
/// the pieces; only the time limit of the whole request ends the wait. A handler that is added later
/// gets only the pieces that arrive from then on. As the first handler starts the request, start it by
/// ``Request/resume()`` after several have been added (`shouldAutomaticallyResume: false`).
public final class DataStreamRequest: Request, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// Receives the events of a stream.
    ///
    /// If it throws, the request ends with the error inside
    /// ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
    public typealias Handler<Success: Sendable, Failure: Error> =
        @Sendable (Stream<Success, Failure>) throws -> Void

    /// Validates a response without its body; returning a failure refuses it.
    ///
    /// `request` is the last request, as adapted.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) -> ValidationResult

    /// An item for a handler.
    enum Item: Sendable {
        /// - Parameter task: `nil` for a body that does not count in the backlog.
        case chunk(Data, attempt: Int, task: (any TransferTask)?)
        /// The last item.
        case completion
    }

    /// The queue of items of one handler.
    typealias Pipe = StreamPipe<DataStreamRequest, Item>

    /// Returns why a handler cannot read the body of a response; `nil` if it can.
    typealias Refusal = @Sendable (_ head: HTTPResponse) -> SessionError?

    /// A validation closure.
    struct Validator: Sendable {
        /// Whether it belongs to this library, and so calls no user code.
        let isQuick: Bool
        let validation: Validation
    }

    /// The mutable state besides that of every request.
    private struct State: Sendable {
        var pipes: [Pipe] = []
        /// The pieces that arrived before the first handler was added; `nil` afterwards.
        var unheard: [Item]? = []
        /// Whether pieces of this attempt are dropped, because the first handler cannot read them.
        var isRefused = false
        var validators = InlineFirst<Validator>()
        /// Checks whether handlers can read a response.
        var refusals: [Refusal] = []
        var backlog: HandlerBacklog
        /// A body that was received as a whole: of a redirect not followed, or for middleware.
        var collected: Data?
        /// Whether middleware has left the response of the attempts as it is.
        var isUnchanged = false
        /// The number of handlers that have not got the completion.
        var openPipes = 0
    }

    /// Whether a serialization error of a piece cancels the request.
    public let automaticallyCancelOnStreamError: Bool
    private let stream: Lock<State>
    /// Whether a handler or a serialization error has ended the request; read for each value.
    private let hasEnded = Atomic(false)

    init(
        core: SessionCore, convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool, interceptor: Boxed<any RequestInterceptor>?,
        shouldAutomaticallyResume: Bool?
    ) {
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        stream = Lock(State(backlog: HandlerBacklog(limit: core.configuration.streamBufferSize)))
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        watchesHeads = true
    }

    // MARK: Steps

    // Its handlers serialize nothing that could fail at the end.
    override var mayRunAgain: Bool { false }

    override func delivery() -> BodyDelivery { core.collectsStreams ? .collect : .chunks }

    override func accept(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        // With collecting middleware, the head is checked later, together with the body.
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
        let (pipes, isFull) = stream.withLock { state -> ([Pipe], Bool) in
            let isKept = state.unheard != nil
            guard isKept || !state.pipes.isEmpty, !state.isRefused else { return ([], false) }
            state.backlog.add(
                chunk.count + HandlerBacklog.itemOverhead, handlers: isKept ? 1 : state.pipes.count,
                attempt: attempt)
            state.unheard?.append(.chunk(Data(chunk), attempt: attempt, task: task))
            return (state.pipes, state.backlog.isFull)
        }
        if !pipes.isEmpty { offer(Data(chunk), to: pipes, from: task, attempt: attempt) }
        return isFull ? makePeerWait { stream.withLock { $0.backlog.isFull } } : .proceed
    }

    private func offer(
        _ data: Data, to pipes: [Pipe], from task: (any TransferTask)?, attempt: Int
    ) {
        for pipe in pipes {
            let item = Item.chunk(data, attempt: attempt, task: task)
            if !pipe.offer(item, of: self) { consumed(item) }
        }
    }

    /// A handler has processed an item.
    func consumed(_ item: Item) {
        guard case .chunk(let data, let attempt, let task?) = item else { return }
        let size = data.count + HandlerBacklog.itemOverhead
        guard stream.withLock({ $0.backlog.remove(size, attempt: attempt) }) else { return }
        letPeerGoOn(on: task, attempt: attempt) { stream.withLock { $0.backlog.isFull } }
    }

    override func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? {
        guard !core.collectsStreams else { return result.body }
        stream.withLock { $0.collected = result.body }
        return nil
    }

    override func takeIntercepted(_ body: Data?, isUnchanged: Bool) {
        stream.withLock { state in
            state.collected = body
            state.isUnchanged = isUnchanged
        }
    }

    override func finishIntercepted(at place: FinishingPlace) {
        let (isCollected, isUnchanged) = stream.withLock { ($0.collected != nil, $0.isUnchanged) }
        // As without middleware, handlers get the body that a validator has refused.
        let isShown =
            error.map { isUnchanged && !isCancelled && $0.isResponseValidationError } ?? true
        guard core.collectsStreams || isCollected, isShown, let response else {
            return finish(at: place)
        }
        requestLateDisposition(of: response) { request in
            guard let request = request as? DataStreamRequest else { return }
            if !request.isCancelled { request.offerCollected(from: request.lastTask) }
            request.onFinishingQueue { request.finish(at: $0) }
        }
    }

    override func didTransfer(_ task: any TransferTask) { offerCollected(from: task) }

    /// Delivers a body that was received as a whole, or keeps it for the first handler.
    private func offerCollected(from task: (any TransferTask)?) {
        let (data, pipes) = stream.withLock { state in
            defer { state.collected = nil }
            if let data = state.collected {
                state.unheard?.append(.chunk(data, attempt: .min, task: task))
            }
            return (state.collected, state.pipes)
        }
        guard let data, response.flatMap({ refusal(of: $0) }) == nil else { return }
        offer(data, to: pipes, from: task, attempt: .min)
    }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        stream.withLock { state in
            state.backlog.forget()
            if state.unheard != nil { state.unheard = [] }
            state.isRefused = false
            state.collected = nil
            state.isUnchanged = false
        }
    }

    override func cleanUp() {
        // Captures of closures, often the request itself, are released outside the lock.
        _ = stream.withLock { state in
            defer {
                state.pipes = []
                state.validators = InlineFirst()
            }
            return (state.pipes, state.validators)
        }
    }

    // MARK: Validation

    override func validation(_ mutable: inout Mutable) -> ValidationCost {
        stream.withLock { $0.validators.allSatisfy(\.isQuick) ? .quick : .slow }
    }

    override func runValidators() {
        let validators = stream.withLock { $0.validators }
        let (request, response) = mutable.withLock {
            ($0.history.lastRequest, $0.attempt.response)
        }
        guard let response else { return }
        // For a response whose head was not checked, and for handlers added after the head.
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

    /// Adds a handler's pipe; starts the request.
    ///
    /// The first pipe gets the pieces that arrived before, unless its handler cannot read the body of
    /// the response, which ends the attempt.
    ///
    /// - Returns: Whether it is the first pipe.
    @discardableResult
    func add(_ pipe: Pipe, refusal: Refusal? = nil) -> Bool {
        // Under both locks: the head comes before this, or meets the refusal.
        let (missed, error) = mutable.withLock { mutable in
            stream.withLock { state -> ([Item]?, SessionError?) in
                let missed = state.unheard.take()
                let error = missed == nil ? nil : mutable.attempt.response.flatMap { refusal?($0) }
                state.isRefused = error != nil
                if error == nil { pipe.put(missed ?? [], of: self) }
                state.pipes.append(pipe)
                if let refusal { state.refusals.append(refusal) }
                state.openPipes += 1
                return (missed, error)
            }
        }
        if let error {
            note(error)
            mutable.withLock { $0.currentTask }?.cancel()
        } else if let missed {
            pipe.letOut(missed.count)
        }
        append(
            ResponseHandler(destination: .anywhere, isQuick: true) { request, _ in
                ResponseHandler.Serialized(failure: nil) { _ in
                    guard let request = request as? DataStreamRequest else { return }
                    pipe.offer(.completion, of: request, isLast: true)
                }
            })
        return missed != nil
    }

    /// Returns the completion for a handler, which can no longer fail the request.
    func complete() -> Completion {
        stream.withLock { $0.openPipes -= 1 }
        return completion
    }

    /// The completion as of now.
    var completion: Completion {
        mutable.withLock { mutable in
            Completion(
                request: mutable.history.lastRequest, response: mutable.attempt.response,
                metrics: mutable.attempt.lastMetrics, error: mutable.attempt.error)
        }
    }

    /// Ends the request for a handler or a serialization error: no further piece is delivered.
    ///
    /// Also works after the transfer has ended, until all handlers have got the completion.
    func end(with error: SessionError) {
        let isOpen = stream.withLock { state in
            guard state.openPipes > 0 else { return false }
            hasEnded.store(true, ordering: .releasing)
            return true
        }
        guard isOpen else { return }
        note(error)
        cancel()
    }

    /// Whether no further piece is delivered.
    var isEnded: Bool { hasEnded.load(ordering: .acquiring) || isCancelled }
}

extension DataStreamRequest: EarlyResponseRequest {}
