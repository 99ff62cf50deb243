import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTransport
import Synchronization

extension Request {
    /// Whether the request has monitors; without any, an event costs only this test.
    var isMonitored: Bool { core.isMonitored || hasOwnMonitors.load(ordering: .acquiring) }

    /// The session's monitors, then the request's own; `nil` if there are none.
    var monitors: CompositeEventMonitor? {
        isMonitored ? mutable.withLock { monitors($0) } : nil
    }

    /// Returns ``monitors``; called under the lock.
    func monitors(_ mutable: borrowing Mutable) -> CompositeEventMonitor? {
        isMonitored ? mutable.observers?.monitors ?? core.monitors : nil
    }

    /// The session's monitors and the request's own, as one monitor; `nil` if there are none.
    public var eventMonitor: (any EventMonitor)? { monitors }

    /// Adds a monitor for the events of this request, after the session's monitors.
    ///
    /// - Parameter monitor: Gets the events from now on, except those of transfers (see ``Event``).
    ///   Add it before the request starts, to get all of them. The request retains it: a monitor must
    ///   not retain the request.
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

    /// Reports to the session's monitors that the transfer waits for a network.
    package func notifyWaitingForConnectivity() {
        guard let task else { return }
        core.monitors?.observe(.taskIsWaitingForConnectivity(task), of: self)
    }

    /// Stores a transfer, and reports it if it is new.
    func announce(_ task: any TransferTask) {
        for call in mutable.withLock({ keep(task, &$0) }) { call() }
    }

    /// Stores a transfer that was begun, and reports it before its other events.
    ///
    /// A transport may deliver a result before `begin(_:)` has returned the transfer, so whichever
    /// comes first calls this. Events are reported under the lock, so that they stay in order: they
    /// are only enqueued on the monitors' queues.
    ///
    /// - Returns: The closures to call after unlocking.
    func keep(_ task: any TransferTask, _ mutable: inout Mutable) -> LaterCalls {
        let wasAnnounced = mutable.history.isTaskAhead
        guard mutable.history.note(task, attempt: mutable.machine.attempt) else { return [] }
        var calls: LaterCalls = []
        if !wasAnnounced, let channel = mutable.observers?.task {
            // Under the lock, because the end of the request ends the streams.
            for stream in channel.streams { stream.yield(task) }
            if let observer = channel.observer { calls = [{ self.core.notify(observer, task) }] }
        }
        guard let monitors = monitors(mutable) else { return calls }
        if !wasAnnounced { monitors.observe(.didCreateTask(task), of: self) }
        let state = mutable.machine.state
        // A placeholder that was cancelled before the start gets no `didResumeTask`.
        if !wasAnnounced || state != .cancelled {
            monitors.observe(.didResumeTask(task), of: self)
        }
        // `cancel()` and `suspend()` reported nothing while there was no transfer.
        switch state {
        case .cancelled: monitors.observe(.didCancelTask(task), of: self)
        case .suspended: monitors.observe(.didSuspendTask(task), of: self)
        case .initialized, .resumed, .finished: break
        }
        return calls
    }
}

/// Reports the events of transfers to the session's monitors.
extension Request {
    /// Reports the head of a response, unless it is a redirect that may be followed.
    func notifyHead(_ head: HTTPResponse, of task: any TransferTask) {
        guard let monitors = core.monitors else { return }
        announce(task)
        notifyChallenges(of: head, to: task)
        guard case .response = redirectStep(of: head, from: task) else { return }
        monitors.observe(.taskDidReceiveResponse(task, head), of: self)
    }

    /// Reports the head of a redirect that turned out to be the response.
    func notifyLateHead(_ head: HTTPResponse, of task: any TransferTask) {
        core.monitors?.observe(.taskDidReceiveResponse(task, head), of: self)
    }

    /// Reports the authentication challenges of a server or a proxy.
    func notifyChallenges(of head: HTTPResponse, to task: any TransferTask) {
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

    /// Reports a piece of a body.
    func notifyChunk(_ chunk: Data, of task: any TransferTask) {
        core.monitors?.observe(.taskDidReceiveData(task, chunk), of: self)
    }

    /// Reports the end of an attempt's last transfer; for a download, after its file was moved.
    func notifyEnd(_ result: TransferResult, of task: any TransferTask) {
        guard placesFile(of: result) else { return notify(result, of: task) }
        mutable.withLock { $0.watched().unreportedEnd = result }
    }

    /// Reports the end of a download's transfer that ``notifyEnd(_:of:)`` has postponed.
    func notifyUnreportedEnd(of task: any TransferTask) {
        let result = mutable.withLock { mutable in
            defer { mutable.observers?.unreportedEnd = nil }
            return mutable.observers?.unreportedEnd
        }
        if let result { notify(result, of: task) }
    }

    private func notify(_ result: TransferResult, of task: any TransferTask) {
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

    /// Reports a transfer that has ended, with the metrics of that transfer only.
    func notifyExchange(_ result: TransferResult, of task: any TransferTask) {
        guard let monitors else { return }
        let (sent, retries) = mutable.withLock {
            ($0.history.performedRequests.last, $0.machine.retryCount)
        }
        // Requests that share a transfer report it only once.
        guard let sent, task.source != .shared else { return }
        var exchange = TransferExchange(request: sent, result: result)
        exchange.requestID = id
        exchange.attempt = retries + 1
        monitors.observe(.didCompleteExchange(exchange, task), of: self)
    }

    /// Reports bytes that were sent or received.
    func notifyProgress(
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
    /// The transfer of the current attempt; `nil` before it was stored.
    var currentTask: (any TransferTask)? {
        history.task(of: machine.attempt)
    }
}
