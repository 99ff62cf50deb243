public import Dispatch
public import FoundationEssentials
public import OutletHTTP
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

    /// Everything that changes.
    struct Mutable: Sendable {
        var machine = RequestMachine()
        /// The requests of all attempts, before and after adaptation, in order.
        var requests = InlineFirst<HTTPRequest>()
        /// What went on the wire, in order.
        var performedRequests = InlineFirst<HTTPRequest>()
        /// The transfers of all attempts, of redirects the last, in order.
        var tasks = InlineFirst<any TransferTask>()
        /// Whether the last of ``tasks`` stands for a transfer that nobody has asked to run yet.
        var isTaskAhead = false
        /// The transfer that was told to end, be it at once or in order.
        var endingTask: UInt64?
        /// The attempt whose transfer is the last of ``tasks``.
        var begunAttempt = 0
        /// The measures of all attempts, in order.
        var metrics = InlineFirst<TransferMetrics>()
        /// The last response.
        var response: HTTPResponse?
        /// Why the request failed.
        var error: SessionError?
        /// How many redirects this attempt has followed.
        var redirects = 0
        /// Whether the transfer under way goes on with the one before, after a redirect for instance.
        var isHop = false
        /// Whether the transfer under way reads a file of this machine.
        var readsFile = false
        /// How long those redirects took, µs.
        var redirectDuration: Int64 = 0
        var credential: Credential?
        /// The stored credential that the transfer under way was begun with.
        var authentication: AuthenticationRound?
        /// Challenges that were answered in this attempt.
        var answeredChallenges: UInt8 = 0
        var redirectHandler: (any RedirectHandler)?
        var cachedResponseHandler: (any CachedResponseHandler)?
        var interceptor: (any RequestInterceptor)?
        /// Those that have not had their values delivered.
        var responseHandlers = InlineFirst<ResponseHandler>()
        /// The next of ``responseHandlers`` to serialize.
        var nextHandler = 0
        /// What the serializers that are done want delivered.
        var deliveries = InlineFirst<Delivery>()
        /// The answer or the time this is waiting for, between its steps.
        var wait: (any PendingWait)?
        /// The request that is ready to be sent.
        var prepared: HTTPRequest?
        /// The body of the last response, kinds that collect it only.
        var data: Data?
        var dataValidators = InlineFirst<DataRequest.Validator>()
        /// Who else watches; most requests have nobody.
        var observers: RequestObservers?
        /// Why the transfer waits besides the user's own suspending.
        var holds: TransferHolds = []
        /// Whether transfers may be shared, if it was said for this request.
        var coalesces: Bool?
        /// Those whose transfer this request shares.
        var flight: Flight?
        /// Whether another request's result was taken as this one's.
        var sharesResult = false
        /// Which of several waiting requests goes first, if it was said for this request.
        var priority: TransferPriority?
    }

    let mutable: Lock<Mutable>
    let core: SessionCore
    /// Counts the requests of this process.
    let serial: UInt64
    /// Where the request stands in its session's registry, -1 when it is not there.
    ///
    /// Unchecked, because the registry alone reads and writes it, under its lock.
    @exclusivity(unchecked) var place = -1
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
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
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
        let monitors = monitors
        if let decision = mutable.withLock({ resume(&$0, monitors) }) { carryOut(decision) }
        return self
    }

    /// Decides about a start, under the lock; `nil` when there is nothing to do.
    func resume(_ mutable: inout Mutable, _ monitors: CompositeEventMonitor?) -> Decision? {
        guard let action = mutable.machine.resume() else { return nil }
        // Here and below under the lock, so that no later event comes first: all that is
        // done with an event here is to put it on its monitors' queues.
        monitors?.requestDidResume(self)
        guard action == .resumeTransfer else { return Decision(action: action, task: nil) }
        let task = mutable.currentTask
        if let task { monitors?.request(self, didResumeTask: task) }
        return Decision(action: action, task: task)
    }

    /// Makes the request wait: no byte is read or written until ``resume()``.
    @discardableResult
    public func suspend() -> Self {
        let monitors = monitors
        let decision = mutable.withLock { mutable -> Decision? in
            guard let action = mutable.machine.suspend() else { return nil }
            monitors?.requestDidSuspend(self)
            let task = mutable.currentTask
            if action == .suspendTransfer || mutable.isTaskAhead, let task {
                monitors?.request(self, didSuspendTask: task)
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
        let monitors = monitors
        let decision = mutable.withLock { mutable -> Decision? in
            guard let action = mutable.machine.cancel() else { return nil }
            mutable.error = mutable.error ?? .explicitlyCancelled
            monitors?.requestDidCancel(self)
            let task = mutable.currentTask
            mutable.endingTask = task?.identifier
            if action == .cancelTransfer, let task {
                monitors?.request(self, didCancelTask: task)
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

    // MARK: Settings of this request

    /// Where the request's own work runs: the session's root queue.
    public var underlyingQueue: DispatchQueue { core.rootQueue }
    /// Where the request's responses are serialized for tasks: the session's queue.
    public var serializationQueue: DispatchQueue { core.serializationQueue }

    /// What answers authentication challenges.
    public var credential: Credential? { mutable.withLock { $0.credential } }

    /// Answers authentication challenges with a name and a password.
    @discardableResult
    public func authenticate(
        username: String, password: String, persistence: Credential.Persistence = .forSession
    ) -> Self {
        authenticate(
            with: Credential(user: username, password: password, persistence: persistence))
    }

    /// Answers authentication challenges with a credential.
    @discardableResult
    public func authenticate(with credential: Credential) -> Self {
        mutable.withLock { $0.credential = credential }
        return self
    }

    /// What decides about redirects, if it was set for this request.
    public var redirectHandler: (any RedirectHandler)? { mutable.withLock { $0.redirectHandler } }

    /// Decides about redirects of this request; the last one set counts.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        mutable.withLock { $0.redirectHandler = handler }
        return self
    }

    /// Which of several requests that wait for a connection goes first: what was set here, else what
    /// the request that was made says.
    public var priority: TransferPriority {
        mutable.withLock { $0.priority ?? $0.requests.last?.priority ?? .normal }
    }

    /// Lets this request go before or after others that wait for a connection to the same host.
    ///
    /// Counts from the next transfer on. A lower priority waits longer, but not for ever.
    @discardableResult
    public func priority(_ priority: TransferPriority) -> Self {
        mutable.withLock { $0.priority = priority }
        return self
    }

    /// What decides about storing the response, if it was set for this request.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        mutable.withLock { $0.cachedResponseHandler }
    }

    /// Decides about storing this request's response; the last one set counts.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        mutable.withLock { $0.cachedResponseHandler = handler }
        return self
    }

    /// This request's own interceptor.
    public var interceptor: (any RequestInterceptor)? { mutable.withLock { $0.interceptor } }

    // MARK: What the kinds fill in

    /// Whether making the request runs no code of the user's, so that no thread is needed.
    var isMadeOfValues: Bool {
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
        core.begin(job, for: self, handler: self)
    }

    /// Whether the request is a WebSocket's handshake, of which the transport leaves more to others.
    var opensWebSocket: Bool { false }

    /// Whether adapters see the request.
    var usesAdapters: Bool { true }

    /// Where the request is finished, if not where its first completion is wanted.
    var ownFinishingQueue: DispatchQueue? { nil }

    /// The body comes from a file, without a head.
    func willReadFile() {}

    /// Another request that has to be sent before the result counts.
    func nextHop(after result: TransferResult) -> HTTPRequest? { nil }

    /// Whether ``didTransfer(_:)`` gives what came its place.
    func placesFile(of result: TransferResult) -> Bool { false }

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
        mutable.error = nil
        mutable.response = nil
        mutable.data = nil
        mutable.redirects = 0
        mutable.redirectDuration = 0
        mutable.authentication = nil
        mutable.answeredChallenges = 0
        mutable.readsFile = false
        mutable.nextHandler = 0
        mutable.deliveries = InlineFirst()
        mutable.prepared = nil
        mutable.holds = []
        mutable.sharesResult = false
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
    func take(_ result: TransferResult, _ mutable: inout Mutable) {
        mutable.data = result.body
    }
}

extension Request: Equatable, Hashable {
    /// The same request.
    public static func == (a: Request, b: Request) -> Bool { a === b }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Request: CustomStringConvertible {
    /// Method and address, as last sent, and, once known, status.
    public var description: String {
        let (request, response) = mutable.withLock {
            ($0.performedRequests.last ?? $0.requests.last, $0.response)
        }
        guard let request, let url = request.url else { return "No request created yet." }
        let status = response.map { " (\($0.statusCode))" } ?? ""
        return "\(request.method) \(url.absoluteString)\(status)"
    }
}
