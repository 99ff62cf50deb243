import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// The steps before a transfer: makes, adapts and sends the request.
extension Request {
    /// Performs an action of the state machine.
    ///
    /// - Parameters:
    ///   - action: What to do.
    ///   - task: The current transfer; `nil` also while one is being started, which then reads the
    ///     request's state itself.
    func perform(_ action: RequestMachine.Action, on task: (any TransferTask)? = nil) {
        switch action {
        case .nothing: break
        case .setUp(let attempt): setUp(attempt: attempt)
        case .startTransfer: startTransfer()
        case .resumeTransfer, .suspendTransfer: if let task { settle(task) }
        case .cancelTransfer:
            task?.cancel()
            // Between two hops there is no transfer to cancel, but a redirect handler may be
            // running.
            let wait = mutable.withLock { $0.wait }
            wait?.cancel(.explicitlyCancelled)
        case .endWait:
            // Waiting code gets this error.
            let wait = mutable.withLock { $0.wait }
            wait?.cancel(.explicitlyCancelled)
        case .finish: finishOnQueue()
        }
    }

    private func setUp(attempt: Int) {
        if let error = core.register(self) {
            fail(with: error, attempt: attempt, mayRetry: false)
            return
        }
        let adapters = currentAdapters
        if isMadeOfValues, mayAdaptHere(adapters) {
            return make(attempt: attempt, adapters: adapters)
        }
        enqueueSetup(of: attempt) { self.make(attempt: attempt, adapters: adapters) }
    }

    /// The adapters of this request.
    private var currentAdapters: [AdapterStep] {
        hasInterceptors ? core.adapters(for: interceptor) : []
    }

    /// Whether the adapters can run on the thread that starts the request, because all of them
    /// return at once.
    ///
    /// Not for retries, which start on the session's root queue.
    private func mayAdaptHere(_ adapters: [AdapterStep]) -> Bool {
        // By index, as the calls.
        for index in adapters.indices where adapters[index].adaptAtOnce == nil { return false }
        return adapters.isEmpty || retryCount == 0
    }

    /// Runs the setup of an attempt on the request queue.
    private func enqueueSetup(of attempt: Int, _ body: @escaping @Sendable () -> Void) {
        // Retains the session until the request is made.
        let session = core.session
        core.requestQueue.async {
            // Skips a request that was cancelled while it was queued.
            let isWanted = self.mutable.withLock { $0.machine.isCurrent(attempt, in: .settingUp) }
            if isWanted { withExtendedLifetime(session) { body() } }
        }
    }

    /// Sets up an attempt with the request that the middleware passed to `next`.
    func setUp(_ request: HTTPRequest, attempt: Int) {
        let adapters = currentAdapters
        if mayAdaptHere(adapters) {
            return adapt(request, attempt: attempt, adapters: adapters)
        }
        enqueueSetup(of: attempt) {
            self.adapt(request, attempt: attempt, adapters: adapters)
        }
    }

    private func make(attempt: Int, adapters: [AdapterStep]) {
        if core.hasMiddleware, let request = mutable.withLock({ $0.interception?.request }) {
            return adapt(request, attempt: attempt, adapters: adapters)
        }
        var initial: HTTPRequest
        do {
            initial = try convertible.asURLRequest()
            if initial.hasContext { initial.beginCall(id) }
            try initial.validate()
        } catch {
            let error = error.asSessionError { .createURLRequestFailed(error: $0) }
            note(error)
            monitors?.observe(.didFailToCreateURLRequest(error: error), of: self)
            notifyMade()
            fail(with: error, attempt: attempt, mayRetry: true)
            return
        }
        if core.hasMiddleware { return beginIntercepting(initial, attempt: attempt) }
        if core.hasOutcomeMiddleware, !expectJudgement(of: &initial, attempt: attempt) { return }
        adapt(initial, attempt: attempt, adapters: adapters)
    }

    private func adapt(_ request: HTTPRequest, attempt: Int, adapters: [AdapterStep]) {
        if !hasInterceptors, !isMonitored {
            return send(request, attempt: attempt, isNoted: false)
        }
        let id = id
        var initial = request
        if !adapters.isEmpty { initial.describe(as: id, attempt: retryCount + 1) }
        let isWanted = mutable.withLock { mutable in
            // Adapters of a request that has ended would not be told how it ended.
            guard mutable.machine.isCurrent(attempt, in: .settingUp) else { return false }
            mutable.history.add(initial)
            return true
        }
        guard isWanted else { return }
        monitors?.observe(.didCreateInitialURLRequest(initial), of: self)
        guard !adapters.isEmpty else {
            // Interceptors that only retry are skipped, but monitors expect the event all the same.
            if hasInterceptors {
                mutable.withLock { $0.history.add(initial) }
                monitors?.observe(.didAdaptInitialRequest(initial, to: initial), of: self)
            }
            send(initial, attempt: attempt)
            return
        }
        guard let session = core.session else {
            fail(with: .sessionDeinitialized, attempt: attempt, mayRetry: false)
            return
        }
        if !core.hasMiddleware { willChange(initial) }
        let state = adapterState(in: session)
        // Makes no closure unless an adapter answers later: 400 instructions of a request with
        // adapters (`Benchmarks/count plugin-1-hook`).
        switch adapt(initial, with: adapters[...], using: state, in: .settingUp) {
        case .finished(let result): didAdapt(initial, result, attempt: attempt)
        case .waiting(let pending):
            wait(for: pending, using: state, attempt: attempt, in: .settingUp) { [initial] in
                self.didAdapt(initial, $0, attempt: attempt)
            }
        }
    }

    private func didAdapt(
        _ initial: HTTPRequest, _ result: Result<HTTPRequest, any Error>, attempt: Int
    ) {
        do {
            let adapted = try result.get()
            try adapted.validate()
            mutable.withLock { $0.history.add(adapted) }
            monitors?.observe(.didAdaptInitialRequest(initial, to: adapted), of: self)
            send(adapted, attempt: attempt)
        } catch {
            let error = SessionError(failedAdaptation: error)
            note(error)
            monitors?.observe(.didFailToAdaptURLRequest(initial, error: error), of: self)
            notifyMade()
            fail(with: error, attempt: attempt, mayRetry: true)
        }
    }

    /// Prepares and sends an adapted request.
    ///
    /// - Parameter isNoted: Whether the history has it already.
    private func send(_ request: HTTPRequest, attempt: Int, isNoted: Bool = true) {
        var prepared: HTTPRequest
        do {
            prepared = try prepare(request)
            if core.hasOwnLayers { prepared.describe(as: id, attempt: retryCount + 1) }
            if prepared.hasBody { try rewind(prepared) }
        } catch {
            if !isNoted { mutable.withLock { $0.history.add(request) } }
            fail(with: error, attempt: attempt, mayRetry: true)
            return
        }
        if isMonitored { monitors?.observe(.didCreateURLRequest(request), of: self) }
        let (action, isObserved) = mutable.withLock { mutable in
            if !isNoted { mutable.history.add(request) }
            mutable.attempt.prepare(prepared)
            return (mutable.machine.didSetUp(attempt: attempt), mutable.observers != nil)
        }
        if isObserved, let observers = mutable.withLock({ $0.observers?.takeMade() }) {
            notify(observers, of: request)
        }
        if action == .nothing { announceAhead(request, attempt: attempt) }
        perform(action)
    }

    /// Rewinds the body stream if it was sent before.
    func rewind(_ request: HTTPRequest) throws(SessionError) {
        guard case .stream(let stream) = request.body,
            mutable.withLock({
                !$0.history.performedRequests.allSatisfy { $0.body != request.body }
            })
        else { return }
        if let task = lastTask {
            core.monitors?.observe(.taskNeedsNewBodyStream(task), of: self)
        }
        do {
            try stream.rewindForTransfer()
        } catch {
            throw .sessionTaskFailed(error: error)
        }
        didRewind(stream)
    }

    /// Starts the transfer of the prepared request.
    private func startTransfer() {
        transfer(isHop: false)
    }

    /// Starts the transfer of the prepared request as the next hop of a redirect.
    func continueTransfer() {
        transfer(isHop: true)
    }

    /// Whether a request that the transport refuses is answered from a local file.
    enum FileAnswer {
        case read
        /// The session's configuration does not allow it.
        case refused
        /// The request's own URL is not a `file:` URL, or the file was read already.
        case noFile
    }

    func fileAnswer() -> FileAnswer {
        let isFile = mutable.withLock { mutable in
            mutable.machine.redirects == 0 && !mutable.attempt.readsFile
                && mutable.machine.phase == .transferring && mutable.machine.state != .cancelled
                && mutable.attempt.prepared?.url?.isFileURL == true
        }
        guard isFile else { return .noFile }
        return core.configuration.allowsFileURLs ? .read : .refused
    }

    func transfer(isHop: Bool, readsFile: Bool = false) {
        let mayChange = core.layersMayChangeRequests
        let made = mutable.withLock { mutable -> TransferJob? in
            guard let request = mutable.attempt.prepared else { return nil }
            mutable.attempt.beginTransfer(readsFile: readsFile)
            mutable.history.beginTransfer(of: request, isHop: isHop, mayChange: mayChange)
            let delivery = delivery()
            var isCounted = mutable.observers?.startCounting() == true
            if core.isMonitored, request.hasBody || delivery.isFile {
                isCounted = true
                mutable.watched().counts = TransferCounts()
            }
            return TransferJob(
                request: request, delivery: delivery,
                priority: mutable.priority ?? request.priority, reportsProgress: isCounted,
                // Inline completion handlers are user code. Stored redirects are followed inside of
                // each other's calls: a chain of any length would overflow the stack.
                mayRunOnCaller: !core.deliversInline && mutable.machine.redirects % 16 < 15,
                answers: answers(for: request, &mutable))
        }
        // Consumed, because the compiler would otherwise copy the job.
        guard let job = consume made else { return }
        let task =
            readsFile
            ? FileReading.start(job, core.configuration.transport, core.deadlines, handler: self)
            : begin(job)
        control(task, reportsProgress: job.reportsProgress)
    }

    /// Stores a transfer that a layer sends later, and suspends or cancels it if that is wanted.
    ///
    /// - Parameter task: The transfer.
    public func transferIsPending(_ task: any TransferTask) {
        control(task, reportsProgress: false)
    }

    /// Stores a transfer, and brings it into the wanted state.
    ///
    /// Calls of `cancel()` and `suspend()`, and progress observers, may have found no task
    /// meanwhile.
    private func control(_ task: any TransferTask, reportsProgress: Bool) {
        let (calls, state, wantsProgress, isEnding) = mutable.withLock { mutable in
            (
                keep(task, &mutable), mutable.machine.state,
                mutable.observers?.wantsProgress == true,
                mutable.endingTask.map { $0 == task.identifier } ?? false
            )
        }
        for call in calls { call() }
        if wantsProgress, !reportsProgress { task.reportProgress() }
        switch state {
        // With `endingTask` set, the task was cancelled or closed already.
        case .cancelled where !isEnding: task.cancel()
        case .suspended: settle(task)
        default: break
        }
    }

    /// Suspends or resumes a transfer according to the request's state.
    ///
    /// Loops until the wanted state is unchanged after the call: a concurrent `suspend()` and
    /// `resume()` may reach the transfer in the wrong order.
    func settle(_ task: any TransferTask) {
        var done: RequestMachine.WantedTransferState?
        while true {
            let wanted = mutable.withLock { $0.machine.wantedTransferState }
            guard done != wanted else { return }
            switch wanted {
            case .run: task.resume()
            case .wait: task.suspend()
            case .none: break
            }
            done = wanted
        }
    }

    /// Additional data for the transfer of a request; `nil` if there is none.
    private func answers(
        for request: HTTPRequest, _ mutable: inout Mutable
    ) -> Boxed<TransferJob.Answers>? {
        let shares = sharesTransfer(mutable)
        guard
            core.answersAlways || shares || mutable.overrides != nil
                || mutable.machine.redirects > 0
        else { return nil }
        let hasStorage = core.configuration.urlCredentialStorage != nil
        var answers = TransferJob.Answers()
        answers.trustManager = core.trustDecider?.decider(for: request)
        answers.addressPolicy = core.addressPolicy
        answers.sharesTransfer = shares
        answers.cachedResponseHandler = mutable.cachedResponseHandler
        if mutable.machine.redirects > 0 { answers.firstURL = mutable.history.firstRequest?.url }
        if keepsCredential(for: request, mutable) { answers.credential = mutable.credential }
        if answers.credential != nil || hasStorage {
            let memory = mutable.memory ?? AttemptMemory()
            mutable.memory = memory
            answers.memory = memory
        }
        return Boxed(answers)
    }

    /// Whether the request's own credential may be sent: not after a redirect to another origin.
    private func keepsCredential(for request: HTTPRequest, _ mutable: borrowing Mutable) -> Bool {
        mutable.machine.redirects == 0
            || Origin.isSame(
                core.wireURL(of: mutable.history.lastRequest), core.wireURL(of: request))
    }

    private func notify(_ observers: RequestObservers.Made, of request: HTTPRequest) {
        core.notify(observers.urlRequest, request)
        if let observer = observers.observer { core.notify(observer, self) }
        for stream in observers.streams { stream.yield(self) }
    }
}
