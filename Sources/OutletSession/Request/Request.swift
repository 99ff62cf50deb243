import Dispatch
public import FoundationEssentials
import OutletHTTP
import OutletTransport
import Synchronization

/// The base class of all requests: state, pipeline and history of attempts.
///
/// Made by a ``Session``. Starts when its first response handler is added, unless
/// `startRequestsImmediately` or `shouldAutomaticallyResume` is `false`. All methods may be called
/// from any thread.
///
/// Validators and serializers run one after the other on the request's finishing queue: the
/// serialization queue that the session was made with; without one, for downloads a queue for file
/// work, for other requests the queue of the first response handler or, if that belongs to a task,
/// the session's ``Session/serializationQueue``. With ``Session/CallbackDelivery/inline`` they
/// usually run on the transport's thread.
public class Request: @unchecked Sendable {
    // because every mutable property is in `mutable`, behind its lock.

    /// The state of a request, as set by its methods.
    public enum State: Sendable {
        /// Not started. May change to any other state.
        case initialized
        /// Started. May change to `suspended`, `cancelled` or `finished`.
        case resumed
        /// Paused. May change to `resumed`, `cancelled` or `finished`.
        case suspended
        /// Cancelled. Final.
        case cancelled
        /// Ended without a cancel. Final, unless another handler is added.
        case finished
    }

    /// A closure that gets the progress of a body.
    public typealias ProgressHandler = @Sendable (_ progress: TransferProgress) -> Void
    /// The result of a validator; a failure becomes the request's error.
    public typealias ValidationResult = Result<Void, any Error>

    let mutable: Lock<Mutable>
    let core: SessionCore
    /// The number of this request among those of the process.
    let serial: UInt64
    /// Converted to the request at each attempt.
    public let convertible: any URLRequestConvertible
    /// Whether ``convertible`` is a request, or a URL, a method and headers.
    private let isPlain: Bool
    /// Whether the first handler starts the request; the session's setting if `nil`.
    public let shouldAutomaticallyResume: Bool?
    /// The index in the session's registry.
    let place = RegistryPlace()
    let hasOwnMonitors = Atomic(false)
    /// Whether there are validators in ``mutable``.
    let hasDataValidators = Atomic(false)
    let hasOwnInterceptor: Atomic<Bool>
    private let looksAtHeads = Atomic(false)
    /// Whether heads are handled before the transfer ends; if not, they cost nothing.
    var watchesHeads: Bool {
        get { looksAtHeads.load(ordering: .relaxed) }
        set { looksAtHeads.store(newValue, ordering: .relaxed) }
    }

    init(
        core: SessionCore, convertible: consuming any URLRequestConvertible,
        interceptor: Boxed<any RequestInterceptor>?, shouldAutomaticallyResume: Bool?
    ) {
        self.core = core
        isPlain = Self.isPlain(convertible)
        self.convertible = convertible
        self.shouldAutomaticallyResume = shouldAutomaticallyResume
        self.serial = core.nextSerial()
        hasOwnInterceptor = Atomic(interceptor != nil)
        mutable = Lock(Mutable(interceptor: interceptor))
    }

    /// Whether a value is a request, or a URL, a method and headers.
    ///
    /// Compares types, which is cheaper than a dynamic cast; in a function, because the initializer
    /// would copy the value to find its type.
    private static func isPlain(_ convertible: any URLRequestConvertible) -> Bool {
        let type = type(of: convertible)
        return type == HTTPRequest.self || type == PlainRequest.self
    }

    /// Identifies the request, unique among processes; the same at every attempt.
    public var id: UUID { core.uuid(serial: serial) }
    /// The session; `nil` if it no longer exists.
    package var session: Session? { core.session }

    // MARK: State

    /// The current state.
    public var state: State { mutable.withLock { $0.machine.state } }
    /// Whether the request was not started yet.
    public var isInitialized: Bool { state == .initialized }
    /// Whether the request was started and is not paused.
    public var isResumed: Bool { state == .resumed }
    /// Whether the request is paused.
    public var isSuspended: Bool { state == .suspended }
    /// Whether the request was cancelled.
    public var isCancelled: Bool { state == .cancelled }
    /// Whether the request has ended and was not cancelled.
    public var isFinished: Bool { state == .finished }

    /// Starts the request, or continues it after ``suspend()``; has no effect otherwise.
    @discardableResult
    public func resume() -> Self {
        if let decision = mutable.withLock({ resume(&$0) }) { carryOut(decision) }
        return self
    }

    /// Decides under the lock how to start or continue; `nil` when there is nothing to do.
    func resume(_ mutable: inout Mutable) -> Decision? {
        guard let action = mutable.machine.resume() else { return nil }
        // Events are reported under the lock, here and below, so that they stay in order: they are
        // only enqueued on the monitors' queues.
        monitors(mutable)?.observe(.didResume, of: self)
        guard action == .resumeTransfer else { return Decision(action: action, task: nil) }
        let task = mutable.currentTask
        if let task { monitors(mutable)?.observe(.didResumeTask(task), of: self) }
        return Decision(action: action, task: task)
    }

    /// Pauses the request: no byte is read or written until ``resume()``.
    ///
    /// A response handler that is added later calls ``resume()``, as in Alamofire, unless
    /// `startRequestsImmediately` or `shouldAutomaticallyResume` is `false`. Has no effect on a request
    /// that has ended or was cancelled.
    @discardableResult
    public func suspend() -> Self {
        let decision = mutable.withLock { mutable -> Decision? in
            guard let action = mutable.machine.suspend() else { return nil }
            let monitors = monitors(mutable)
            monitors?.observe(.didSuspend, of: self)
            let task = mutable.currentTask
            if action == .suspendTransfer || mutable.history.isTaskAhead, let task {
                monitors?.observe(.didSuspendTask(task), of: self)
            }
            return Decision(action: action, task: task)
        }
        if let decision { carryOut(decision) }
        return self
    }

    /// Ends the request with ``SessionError/explicitlyCancelled``; it is not retried.
    ///
    /// A request that has failed before the serializers, and about which a retrier decides, ends with
    /// its failure.
    /// Response handlers are still called, once each. Has no effect on a request that has ended.
    @discardableResult
    public func cancel() -> Self {
        let decision = mutable.withLock { mutable -> Decision? in
            guard let action = mutable.machine.cancel() else { return nil }
            let monitors = monitors(mutable)
            mutable.attempt.fail(.explicitlyCancelled)
            monitors?.observe(.didCancel, of: self)
            let task = mutable.currentTask
            mutable.endingTask = task?.identifier
            if action == .cancelTransfer, let task {
                monitors?.observe(.didCancelTask(task), of: self)
            }
            return Decision(action: action, task: task)
        }
        if let decision { carryOut(decision) }
        return self
    }

    /// What to do, and to which transfer.
    struct Decision: Sendable {
        let action: RequestMachine.Action
        let task: (any TransferTask)?
    }

    /// Performs a decision, outside the lock.
    func carryOut(_ decision: Decision) { perform(decision.action, on: decision.task) }

    // MARK: Overridden by subclasses

    /// Whether the request can be made on the thread that starts it, without the request queue.
    var isMadeOfValues: Bool { isPlain }

    /// Whether ``addBody(to:)`` adds a body.
    var makesBody: Bool { false }

    /// Returns the request with the body of an upload.
    ///
    /// The body is made at the first call in an attempt; later calls return the request as it is,
    /// because adapters may have replaced the body since.
    func addBody(to request: HTTPRequest) throws(SessionError) -> HTTPRequest { request }

    /// Returns the request to send for an adapted request.
    func prepare(_ request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        core.wireRequest(from: request)
    }

    /// Starts a transfer.
    func begin(_ job: TransferJob) -> any TransferTask {
        core.stack.start(job, handler: self)
    }

    /// Whether the request is a WebSocket handshake.
    var opensWebSocket: Bool { false }

    /// Called with the application's request before the session's middleware or the request's
    /// adapters, if there are any.
    func willChange(_ initial: HTTPRequest) {}

    /// Whether retriers are asked about a serializer's failure.
    var mayRunAgain: Bool { true }

    /// The finishing queue of this kind of request; `nil` for that of the first completion handler.
    var ownFinishingQueue: DispatchQueue? { nil }

    /// Another request to send before the result counts; `nil` if there is none.
    func nextHop(after result: TransferResult) -> HTTPRequest? { nil }

    /// Whether ``didTransfer(_:)`` moves a downloaded file to its destination.
    func placesFile(of result: TransferResult) -> Bool { false }

    /// Sets the body returned by the session's middleware for a stream; called under the lock.
    ///
    /// - Parameters:
    ///   - body: The body; `nil` for none.
    ///   - isUnchanged: Whether the middleware has left the response of the attempts as it is.
    func takeIntercepted(_ body: Data?, isUnchanged: Bool) {}

    /// Finishes the request with the result of the session's middleware.
    func finishIntercepted(at place: FinishingPlace) { finish(at: place) }

    /// Processes the attempt's result before validation.
    ///
    /// Thread: the request's finishing queue.
    func didTransfer(_ task: any TransferTask) {}

    /// Keeps what the program may use later of an attempt that has failed before its transfer, or
    /// of a request that ends without another transfer.
    ///
    /// - Parameter isAbandoned: Whether the session has ended the request, perhaps during a transfer.
    ///
    /// Thread: the request's finishing queue.
    func willEndEarly(isAbandoned: Bool) {}

    /// Called after a body stream was rewound to be sent again.
    func didRewind(_ stream: any BodyStream) {}

    /// Removes temporary files, before completion handlers are called.
    func cleanUp() {}

    /// Runs the validators until the first failure.
    ///
    /// Thread: the request's finishing queue.
    func runValidators() {}

    /// The cost of validating the response.
    ///
    /// Called under the lock.
    func validation(_ mutable: inout Mutable) -> ValidationCost { .quick }

    /// Resets the state for another attempt.
    func reset(_ mutable: inout Mutable) {
        mutable.attempt.reset()
        mutable.memory = nil
        mutable.redirectBody = nil
        mutable.handlers.rewind()
        mutable.observers?.reset()
    }

    /// Decides from the head whether to read the body, and where to; not for redirects to follow.
    ///
    /// Thread: the transport's. Called only if ``watchesHeads`` is set.
    func accept(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        requestDisposition(of: head, from: task)
    }

    /// Processes a chunk of the body.
    ///
    /// Thread: the transport's.
    func consume(
        _ chunk: UnsafeRawBufferPointer, from task: any TransferTask
    ) -> TransferDecision { .proceed }

    /// The place of the body of this transfer within the content.
    var bodyPlace: BodyPlace { BodyPlace(offset: 0, total: nil) }

    /// How the transport delivers the body of the response.
    func delivery() -> BodyDelivery { .collect }

    /// Processes the result of the attempt's last transfer; called under the lock.
    ///
    /// - Returns: The body for the serializers.
    func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? { result.body }
}
