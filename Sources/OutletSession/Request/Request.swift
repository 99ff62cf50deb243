import Dispatch
public import FoundationEssentials
import OutletHTTP
import OutletTransport
import Synchronization

/// What all kinds of requests share: a state, a pipeline, a history of attempts.
///
/// Made by a ``Session``. Starts by itself when its first response handler is added, unless the
/// session or the call says otherwise. Every method may be called from any thread.
public class Request: @unchecked Sendable {
    // because every mutable property is in `mutable`, behind its lock.

    /// What has been asked of a request.
    public enum State: Sendable {
        /// Nothing yet. May go to any other state.
        case initialized
        /// To run. May go to `suspended`, `cancelled`, `finished`.
        case resumed
        /// To wait. May go to `resumed`, `cancelled`, `finished`.
        case suspended
        /// To stop. Final.
        case cancelled
        /// Over. Final, unless another handler is added.
        case finished
    }

    /// Told how far a body has come.
    public typealias ProgressHandler = @Sendable (_ progress: TransferProgress) -> Void
    /// A validator's verdict.
    public typealias ValidationResult = Result<Void, any Error>

    let mutable: Lock<Mutable>
    let core: SessionCore
    /// Counts the requests of this process.
    let serial: UInt64
    /// What the request is made of, at each attempt.
    public let convertible: any URLRequestConvertible
    /// Whether the first handler starts the request; the session's setting if `nil`.
    public let shouldAutomaticallyResume: Bool?
    let hasOwnMonitors = Atomic(false)
    let hasOwnInterceptor: Atomic<Bool>
    private let looksAtHeads = Atomic(false)
    /// Whether heads are looked at before the end; where not, they cost nothing.
    var watchesHeads: Bool {
        get { looksAtHeads.load(ordering: .relaxed) }
        set { looksAtHeads.store(newValue, ordering: .relaxed) }
    }

    init(
        core: SessionCore, convertible: any URLRequestConvertible,
        interceptor: Boxed<any RequestInterceptor>?, shouldAutomaticallyResume: Bool?
    ) {
        self.core = core
        self.convertible = convertible
        self.shouldAutomaticallyResume = shouldAutomaticallyResume
        self.serial = core.nextSerial()
        hasOwnInterceptor = Atomic(interceptor != nil)
        mutable = Lock(Mutable(interceptor: interceptor))
    }

    /// Identifies the request; the same at every attempt.
    public var id: UUID { core.uuid(serial: serial) }

    // MARK: State

    /// What has been asked of the request.
    public var state: State { mutable.withLock { $0.machine.state } }
    /// Whether nothing was asked yet.
    public var isInitialized: Bool { state == .initialized }
    /// Whether the request is to run.
    public var isResumed: Bool { state == .resumed }
    /// Whether the request is to wait.
    public var isSuspended: Bool { state == .suspended }
    /// Whether the request was cancelled.
    public var isCancelled: Bool { state == .cancelled }
    /// Whether the request is over, and was not cancelled.
    public var isFinished: Bool { state == .finished }

    /// Starts the request, or goes on after ``suspend()``; has no effect otherwise.
    @discardableResult
    public func resume() -> Self {
        if let decision = mutable.withLock({ resume(&$0) }) { carryOut(decision) }
        return self
    }

    /// Decides about a start, under the lock; `nil` when there is nothing to do.
    func resume(_ mutable: inout Mutable) -> Decision? {
        guard let action = mutable.machine.resume() else { return nil }
        // Here and below under the lock, so that no later event comes first: all that is
        // done with an event here is to put it on its monitors' queues.
        monitors(mutable)?.observe(.didResume, of: self)
        guard action == .resumeTransfer else { return Decision(action: action, task: nil) }
        let task = mutable.currentTask
        if let task { monitors(mutable)?.observe(.didResumeTask(task), of: self) }
        return Decision(action: action, task: task)
    }

    /// Makes the request wait: no byte is read or written until ``resume()``.
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
    /// Handlers are still called, once each. No effect on a request that is over.
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

    /// Does what was decided under the lock.
    func carryOut(_ decision: Decision) { perform(decision.action, on: decision.task) }

    // MARK: What the kinds fill in

    /// Whether making the request runs no code of the user's, so that no thread is needed.
    var isMadeOfValues: Bool { isConvertibleValues }

    /// The same of what it is made of.
    final var isConvertibleValues: Bool {
        // Every request passes here: cheaper than a dynamic cast.
        let type = type(of: convertible)
        return type == HTTPRequest.self || type == PlainRequest.self
    }

    /// Makes of the adapted request what goes on the wire.
    func prepare(_ request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        core.wireRequest(from: request)
    }

    /// Begins a transfer.
    func begin(_ job: TransferJob) -> any TransferTask {
        core.stack.start(job, handler: self)
    }

    /// Whether the request is a WebSocket's handshake, of which the transport leaves more to others.
    var opensWebSocket: Bool { false }

    /// Whether adapters see the request.
    var usesAdapters: Bool { true }

    /// Where the request is finished, if not where its first completion is wanted.
    var ownFinishingQueue: DispatchQueue? { nil }

    /// Another request that has to be sent before the result counts.
    func nextHop(after result: TransferResult) -> HTTPRequest? { nil }

    /// Whether ``didTransfer(_:)`` gives what came its place.
    func placesFile(of result: TransferResult) -> Bool { false }

    /// Takes the body that the session's middleware made of a stream's; under the lock.
    func takeIntercepted(_ body: Data?) {}

    /// Goes on to the handlers with what the session's middleware made of the call.
    func finishIntercepted(at place: FinishingPlace) { finish(at: place) }

    /// Does what has to be done with the attempt's result before it is judged.
    ///
    /// Thread: where the request is being finished.
    func didTransfer(_ task: any TransferTask) {}

    /// A stream was taken back to its start, to be sent again.
    func didRewind(_ stream: any BodyStream) {}

    /// Removes what the request leaves behind, before completions are called.
    func cleanUp() {}

    /// Judges the response where the request is being finished; the first failure wins.
    func runValidators() {}

    /// What it takes to judge the response.
    ///
    /// Called under the lock; inout, because a copy would be made of all that changes.
    func validation(_ mutable: inout Mutable) -> ValidationEffort { .quick }

    /// Forgets what the last attempt brought.
    func reset(_ mutable: inout Mutable) {
        mutable.attempt.reset()
        mutable.memory = nil
        mutable.redirectBody = nil
        mutable.handlers.rewind()
        mutable.observers?.reset()
    }

    /// Decides about the head of a response that is no redirect to be followed.
    ///
    /// Thread: the transport's. Asked only where ``watchesHeads``.
    func accept(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        judge(head, from: task)
    }

    /// Takes the next bytes of the body.
    ///
    /// Thread: the transport's.
    func consume(
        _ chunk: UnsafeRawBufferPointer, from task: any TransferTask
    ) -> TransferDecision { .proceed }

    /// How many bytes of the response's body were there before this transfer.
    var bodyOffset: Int64 { 0 }

    /// Where the body of a response goes.
    func delivery() -> BodyDelivery { .collect }

    /// Takes what a transfer brought.
    ///
    /// - Returns: The body that serializers are to see.
    func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? { result.body }
}
