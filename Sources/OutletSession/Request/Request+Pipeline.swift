import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// From a convertible to a transfer: make, adapt, send.
extension Request {
    /// Does what the machine has decided.
    ///
    /// - Parameter task: The transfer under way; a transfer that is just being started finds out
    ///   afterwards what was decided meanwhile.
    func perform(_ action: RequestMachine.Action, on task: (any TransferTask)? = nil) {
        switch action {
        case .nothing: break
        case .setUp(let attempt): setUp(attempt: attempt)
        case .startTransfer: startTransfer()
        case .resumeTransfer: if mutable.withLock({ $0.holds.isEmpty }) { task?.resume() }
        case .suspendTransfer: task?.suspend()
        case .cancelTransfer:
            task?.cancel()
            // Between two hops there is no transfer to end, but a redirect handler at work.
            let wait = mutable.withLock { $0.wait }
            wait?.callOff(.explicitlyCancelled)
        case .endWait:
            // Whoever waits goes on with this error.
            let wait = mutable.withLock { $0.wait }
            wait?.callOff(.explicitlyCancelled)
        case .finish: finishOnQueue()
        }
    }

    private func setUp(attempt: Int) {
        if let error = core.register(self) {
            fail(with: error, attempt: attempt, mayRetry: false)
            return
        }
        let adapters = hasInterceptors && usesAdapters ? core.adapters(for: interceptor) : []
        if adapters.isEmpty, isPlain ? isConvertibleValues : isMadeOfValues {
            // Values only: no code of the user's runs, no thread is needed.
            make(attempt: attempt, adapters: [])
        } else {
            // A session that is dropped meanwhile still sees the request made.
            let session = core.session
            core.requestQueue.async {
                // Whoever was cancelled meanwhile is not made any more.
                let isWanted = self.mutable.withLock {
                    $0.machine.isCurrent(attempt, in: .settingUp)
                }
                guard isWanted else { return }
                withExtendedLifetime(session) { self.make(attempt: attempt, adapters: adapters) }
            }
        }
    }

    private func make(attempt: Int, adapters: [any RequestAdapter]) {
        let initial: HTTPRequest
        do {
            initial = try convertible.asURLRequest()
            try initial.validate()
        } catch {
            let error = error.asSessionError { .createURLRequestFailed(error: $0) }
            note(error)
            monitors?.request(self, didFailToCreateURLRequestWithError: error)
            tellMade()
            fail(with: error, attempt: attempt, mayRetry: true)
            return
        }
        if !hasInterceptors, !isMonitored {
            return send(initial, attempt: attempt, isNoted: false)
        }
        mutable.withLock { $0.requests.append(initial) }
        monitors?.request(self, didCreateInitialURLRequest: initial)
        guard !adapters.isEmpty else {
            // An interceptor that only retries was passed over, and has adapted all the same.
            if hasInterceptors, usesAdapters {
                mutable.withLock { $0.requests.append(initial) }
                monitors?.request(self, didAdaptInitialRequest: initial, to: initial)
            }
            send(initial, attempt: attempt)
            return
        }
        guard let session = core.session else {
            fail(with: .sessionDeinitialized, attempt: attempt, mayRetry: false)
            return
        }
        let state = RequestAdapterState(
            requestID: id, session: session, retryCount: retryCount)
        adapt(initial, with: adapters[...], using: state, attempt: attempt, in: .settingUp) {
            self.didAdapt(initial, $0, attempt: attempt)
        }
    }

    private func didAdapt(
        _ initial: HTTPRequest, _ result: Result<HTTPRequest, any Error>, attempt: Int
    ) {
        do {
            let adapted = try result.get()
            try adapted.validate()
            mutable.withLock { $0.requests.append(adapted) }
            monitors?.request(self, didAdaptInitialRequest: initial, to: adapted)
            send(adapted, attempt: attempt)
        } catch {
            let error = SessionError.requestAdaptationFailed(error: error)
            note(error)
            monitors?.request(self, didFailToAdaptURLRequest: initial, withError: error)
            tellMade()
            fail(with: error, attempt: attempt, mayRetry: true)
        }
    }

    /// Sees to it that a request is sent that needs no more adapting.
    ///
    /// - Parameter isNoted: Whether it is among those of the request.
    private func send(_ request: HTTPRequest, attempt: Int, isNoted: Bool = true) {
        let prepared: HTTPRequest
        do {
            prepared = isPlain ? core.wireRequest(from: request) : try prepare(request)
            if prepared.hasBody { try rewind(prepared) }
        } catch {
            if !isNoted { mutable.withLock { $0.requests.append(request) } }
            fail(with: error, attempt: attempt, mayRetry: true)
            return
        }
        if isMonitored { monitors?.request(self, didCreateURLRequest: request) }
        let (action, observers) = mutable.withLock { mutable in
            if !isNoted { mutable.requests.append(request) }
            mutable.prepared = prepared
            return (mutable.machine.didSetUp(attempt: attempt), mutable.observers?.takeMade())
        }
        if let observers { tell(observers, of: request) }
        if action == .nothing { announceAhead(request, attempt: attempt) }
        perform(action)
    }

    /// Takes a stream that was read already back to its start.
    func rewind(_ request: HTTPRequest) throws(SessionError) {
        guard case .stream(let stream) = request.body,
            mutable.withLock({ !$0.performedRequests.allSatisfy { $0.body != request.body } })
        else { return }
        if let task = lastTask {
            core.monitors?.urlSession(core.transport, taskNeedsNewBodyStream: task)
        }
        do {
            try stream.rewindForTransfer()
        } catch {
            throw .sessionTaskFailed(error: error)
        }
        didRewind(stream)
    }

    private func start(_ job: TransferJob) -> any TransferTask {
        isPlain ? core.stack.start(job, handler: self) : begin(job)
    }

    /// Begins the transfer of the prepared request; the machine has said so.
    private func startTransfer() {
        transfer(isHop: false)
    }

    /// Begins the transfer of the prepared request, a redirect's next hop.
    func continueTransfer() {
        transfer(isHop: true)
    }

    /// Whether a request that the transport refuses is answered from a file of this machine.
    enum FileReading {
        case read
        /// The session's configuration does not allow it.
        case refused
        /// Its own address names no file, or the file was read already.
        case noFile
    }

    func fileReading() -> FileReading {
        let isFile = mutable.withLock { mutable in
            mutable.redirects == 0 && !mutable.readsFile
                && mutable.machine.phase == .transferring && mutable.machine.state != .cancelled
                && mutable.prepared?.url?.isFileURL == true
        }
        guard isFile else { return .noFile }
        return core.configuration.allowsFileURLs ? .read : .refused
    }

    func transfer(isHop: Bool, readsFile: Bool = false) {
        let mayChange = core.layersMayChangeRequests
        let job = mutable.withLock { mutable -> TransferJob? in
            guard let request = mutable.prepared else { return nil }
            mutable.isHop = isHop
            mutable.readsFile = readsFile
            mutable.performedRequests.append(request)
            mutable.awaitsWireRequest = mayChange
            let delivery = isPlain ? .collect : delivery()
            var isCounted = mutable.observers?.startCounting() == true
            if core.isMonitored, request.hasBody || delivery.isFile {
                isCounted = true
                mutable.watched().counts = TransferCounts()
            }
            return TransferJob(
                request: request, delivery: delivery,
                priority: mutable.priority ?? request.priority, reportsProgress: isCounted,
                // Inline completions are the user's.
                mayRunOnCaller: !core.deliversInline,
                answers: answers(for: request, &mutable))
        }
        guard let job else { return }
        if readsFile { willReadFile() }
        let task =
            readsFile
            ? FileTask.start(
                job, limit: core.configuration.transport.maximumResponseSize, handler: self)
            : start(job)
        // Whoever cancelled, suspended or wanted to watch meanwhile found no task to tell.
        let (calls, state, wantsProgress, isEnding) = mutable.withLock { mutable in
            (
                keep(task, &mutable), mutable.machine.state,
                mutable.observers?.wantsProgress == true,
                mutable.endingTask.map { $0 == task.identifier } ?? false
            )
        }
        for call in calls { call() }
        if wantsProgress, !job.reportsProgress { task.reportProgress() }
        switch state {
        // One that learnt of the task from the transport has told it, perhaps to close in order.
        case .cancelled where !isEnding: task.cancel()
        case .suspended: task.suspend()
        default: break
        }
    }

    /// What the transfer of a request takes along, where there is anything besides the request.
    private func answers(
        for request: HTTPRequest, _ mutable: inout Mutable
    ) -> TransferJob.Answers? {
        let trustManager = core.serverTrustManager
        let hasStorage = core.configuration.urlCredentialStorage != nil
        let shares = sharesTransfer(mutable)
        guard
            mutable.specials != nil || mutable.redirects > 0 || hasStorage || shares
                || trustManager != nil || core.hasAddressPolicy
        else { return nil }
        var answers = TransferJob.Answers()
        answers.trustManager = trustManager
        answers.addressPolicy = core.addressPolicy
        answers.sharesTransfer = shares
        answers.cachedResponseHandler = mutable.cachedResponseHandler
        if mutable.redirects > 0 { answers.firstURL = mutable.requests.first?.url }
        if keepsCredential(for: request, mutable) { answers.credential = mutable.credential }
        if answers.credential != nil || hasStorage {
            let memory = mutable.memory ?? AttemptMemory()
            mutable.memory = memory
            answers.memory = memory
        }
        return answers
    }

    /// Whether a request's own credential goes along: not to another origin that a redirect leads to.
    private func keepsCredential(for request: HTTPRequest, _ mutable: borrowing Mutable) -> Bool {
        mutable.redirects == 0
            || Origin.isSame(
                core.wireURL(of: mutable.requests.last), core.wireURL(of: request))
    }

    private func tell(_ observers: RequestObservers.Made, of request: HTTPRequest) {
        core.tell(observers.urlRequest, request)
        if let observer = observers.observer { core.tell(observer, self) }
        for stream in observers.streams { stream.yield(self) }
    }
}

extension Request.Mutable {
    /// Keeps a transfer, which may be over before whoever has begun it comes to keep it.
    ///
    /// - Returns: Whether it has to be told of: not if it was already, nor as a part of one that was.
    mutating func note(_ task: any TransferTask) -> Bool {
        if isTaskAhead {
            isTaskAhead = false
            tasks.replaceLast(task)
            return true
        }
        guard let last = tasks.last else {
            tasks.append(task)
            return true
        }
        guard last !== task, last.identifier < task.identifier else { return false }
        if isHop { tasks.replaceLast(task) } else { tasks.append(task) }
        return !isHop
    }

    /// What the layers have made of the request.
    mutating func noteWireRequest(of task: any TransferTask) {
        guard awaitsWireRequest else { return }
        awaitsWireRequest = false
        if let request = task.currentRequest { performedRequests.replaceLast(request) }
    }
}
