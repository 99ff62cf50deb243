import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTransport
import Synchronization

extension Request {
    /// Whether anybody watches; where not, an event costs this test.
    var isMonitored: Bool { core.isMonitored || hasOwnMonitors.load(ordering: .acquiring) }

    /// Who watches this request: the session's monitors, then its own; `nil` without any.
    var monitors: CompositeEventMonitor? {
        isMonitored ? mutable.withLock { monitors($0) } : nil
    }

    /// The same under the lock.
    func monitors(_ mutable: borrowing Mutable) -> CompositeEventMonitor? {
        isMonitored ? mutable.observers?.monitors ?? core.monitors : nil
    }

    /// Who watches this request, as one; `nil` without anybody.
    public var eventMonitor: (any EventMonitor)? { monitors }

    /// Adds a monitor for this request's own events, behind the session's.
    ///
    /// Events that have been are not told again: add it before the start.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        mutable.withLock { mutable in
            let observers = mutable.watched()
            let former =
                observers.monitors ?? core.monitors
                ?? CompositeEventMonitor(monitors: [], defaultQueue: core.callbackQueue)
            observers.monitors = former.adding(monitor)
        }
        hasOwnMonitors.store(true, ordering: .releasing)
        return self
    }

    /// Tells the session's monitors that the transfer waits for a network.
    package func tellWaitingForConnectivity() {
        guard let task else { return }
        core.monitors?.observe(.taskIsWaitingForConnectivity(task), of: self)
    }

    /// Keeps a transfer, and tells of it if it is new.
    func announce(_ task: any TransferTask) {
        for call in mutable.withLock({ keep(task, &$0) }) { call() }
    }

    /// Keeps a transfer that was begun; the monitors are told before anything else about it.
    ///
    /// A transport may deliver a result before the code that asked for the transfer has finished
    /// storing it, so the first of the two calls this. The monitors are told under the
    /// lock, so that nobody overtakes: they only put the event on their queues.
    ///
    /// - Returns: What is to be called once the lock is released.
    func keep(_ task: any TransferTask, _ mutable: inout Mutable) -> LaterCalls {
        let wasAnnounced = mutable.history.isTaskAhead
        guard mutable.history.note(task, attempt: mutable.machine.attempt) else { return [] }
        var calls: LaterCalls = []
        if !wasAnnounced, let channel = mutable.observers?.task {
            // Under the lock too: a later event would otherwise find the streams ended.
            for stream in channel.streams { stream.yield(task) }
            if let observer = channel.observer { calls = [{ self.core.tell(observer, task) }] }
        }
        guard let monitors = monitors(mutable) else { return calls }
        if !wasAnnounced { monitors.observe(.didCreateTask(task), of: self) }
        let state = mutable.machine.state
        // A task that was made ahead and is cancelled before its start only ever ends.
        if !wasAnnounced || state != .cancelled {
            monitors.observe(.didResumeTask(task), of: self)
        }
        // Earlier calls found no transfer to apply this to.
        switch state {
        case .cancelled: monitors.observe(.didCancelTask(task), of: self)
        case .suspended: monitors.observe(.didSuspendTask(task), of: self)
        case .initialized, .resumed, .finished: break
        }
        return calls
    }
}

/// What a transport tells, passed on to the session's monitors.
extension Request {
    /// The head of a response has come; one that only leads somewhere else is not told.
    func tellHead(_ head: HTTPResponse, of task: any TransferTask) {
        guard let monitors = core.monitors else { return }
        announce(task)
        tellChallenges(of: head, to: task)
        guard case .response = redirectFate(of: head, from: task) else { return }
        monitors.observe(.taskDidReceiveResponse(task, head), of: self)
    }

    /// A head that might have led somewhere else is the response after all.
    func tellLateHead(_ head: HTTPResponse, of task: any TransferTask) {
        core.monitors?.observe(.taskDidReceiveResponse(task, head), of: self)
    }

    /// A server or a proxy asks for credentials.
    func tellChallenges(of head: HTTPResponse, to task: any TransferTask) {
        guard let monitors = core.monitors else { return }
        announce(task)
        var proxy: URL?
        if !task.proxy.isEmpty {
            proxy = .proxy(task.proxy)
        } else if case .url(let address, _) = core.configuration.transport.proxy {
            proxy = .proxy(address)
        }
        let challenges = AuthenticationChallenge.challenges(
            in: head, proxy: proxy, previousFailureCount: task.credentialsSent)
        for challenge in challenges {
            monitors.observe(.taskDidReceiveChallenge(task, challenge), of: self)
        }
    }

    /// The next bytes of a body have come.
    func tellChunk(_ chunk: Data, of task: any TransferTask) {
        core.monitors?.observe(.taskDidReceiveData(task, chunk), of: self)
    }

    /// An attempt's last transfer is over; the event follows now, or once its file is in place.
    func tellEnd(_ result: TransferResult, of task: any TransferTask) {
        guard placesFile(of: result) else { return tell(result, of: task) }
        mutable.withLock { $0.watched().untoldEnd = result }
    }

    /// Tells what had to wait for the file.
    func tellUntoldEnd(of task: any TransferTask) {
        let result = mutable.withLock { mutable in
            defer { mutable.observers?.untoldEnd = nil }
            return mutable.observers?.untoldEnd
        }
        if let result { tell(result, of: task) }
    }

    private func tell(_ result: TransferResult, of task: any TransferTask) {
        guard let metrics = lastMetrics else { return }
        if let transfers = core.monitors {
            if let body = result.body {
                transfers.observe(.taskDidReceiveData(task, body), of: self)
            }
            if let proposed = result.proposedForCache {
                transfers.observe(.taskWillCacheResponse(task, proposed), of: self)
            }
            transfers.observe(.taskDidGatherMetrics(task, metrics), of: self)
        }
        monitors?.observe(.didGatherMetrics(metrics), of: self)
        core.monitors?.observe(.taskDidComplete(task, error: result.error), of: self)
    }

    /// A transfer is over; its measures are its own.
    func tellExchange(_ result: TransferResult, of task: any TransferTask) {
        guard let monitors else { return }
        let (sent, attempt) = mutable.withLock {
            ($0.history.performedRequests.last, $0.machine.attempt)
        }
        // One event for a shared transfer.
        guard let sent, task.source != .shared else { return }
        var exchange = TransferExchange(request: sent, result: result)
        exchange.requestID = id
        exchange.attempt = attempt
        monitors.observe(.didCompleteExchange(exchange, task), of: self)
    }

    /// More bytes have passed.
    func tellProgress(
        from former: TransferCounts, to counts: TransferCounts, of task: any TransferTask
    ) {
        guard let monitors = core.monitors else { return }
        announce(task)
        if counts.sent > former.sent {
            monitors.observe(
                .taskDidSendBodyData(
                    task, bytesSent: counts.sent - former.sent, totalBytesSent: counts.sent,
                    expected: counts.expectedToSend), of: self)
        }
        if self is DownloadRequest, counts.received > former.received {
            monitors.observe(
                .taskDidWriteData(
                    task, bytesWritten: counts.received - former.received,
                    totalBytesWritten: counts.received, expected: counts.expectedToReceive),
                of: self)
        }
    }
}

extension Request.Mutable {
    /// The transfer of the attempt under way, once it is known.
    var currentTask: (any TransferTask)? {
        history.task(of: machine.attempt)
    }
}
