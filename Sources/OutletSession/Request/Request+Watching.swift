public import Dispatch
import FoundationEssentials
public import OutletHTTP
import OutletLayers
public import OutletTransport

/// Events before the end of a request.
extension Request {
    /// Whether to read the body of a response.
    public enum ResponseDisposition: Sendable {
        /// Reads the body.
        case allow
        /// Cancels the request with ``SessionError/explicitlyCancelled``.
        case cancel
    }

    /// Calls a closure with the request of every attempt; at once if one was made already.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Called with the adapted request; replaces a closure set before.
    @discardableResult
    public func onURLRequestCreation(
        on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPRequest) -> Void
    ) -> Self {
        let observer = RequestObservers.Observer(queue: queue, body: handler)
        let made = mutable.withLock { mutable in
            mutable.watched().urlRequest.observer = observer
            return mutable.machine.phase < .ready ? nil : mutable.history.lastRequest
        }
        if let made { core.notify(.init(observer: observer), made) } else { expectStart() }
        return self
    }

    /// Calls a closure with the transfer of every attempt; at once if one was started already.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Called with the transfer; replaces a closure set before.
    @discardableResult
    public func onURLSessionTaskCreation(
        on queue: DispatchQueue? = nil,
        perform handler: @escaping @Sendable (any TransferTask) -> Void
    ) -> Self {
        let observer = RequestObservers.Observer(queue: queue, body: handler)
        let begun = mutable.withLock { mutable in
            mutable.watched().task.observer = observer
            return mutable.history.tasks.last
        }
        if let begun { core.notify(.init(observer: observer), begun) } else { expectStart() }
        return self
    }

    // MARK: The head of a response

    func setDispositionHandler(_ handler: RequestObservers.DispositionHandler) {
        watchesHeads = true
        mutable.withLock { $0.watched().response = handler }
        expectStart()
    }

    /// Delivers a chunk of the body, for requests that receive it in chunks.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - chunk: The decoded bytes, valid until this returns.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    /// - Returns: Whether to continue, or to pause until the handlers have processed enough bytes.
    ///
    /// Thread: the transport's.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        if let decision = mutable.withLock({ $0.redirectBody?.drop(chunk) }) { return decision }
        if core.isMonitored { notifyChunk(Data(chunk), of: task) }
        return consume(chunk, from: task)
    }

    /// Reports the head of a response, and decides whether to read the body.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - head: The head: an interim one (1xx), or the final one.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    /// - Returns: Whether to continue, to pause while a closure decides, or to deliver the body
    ///   elsewhere because the response may be a redirect.
    ///
    /// Thread: the transport's.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        guard head.isFinal else {
            notifyInformational(head)
            return .proceed
        }
        if core.isMonitored { notifyHead(head, of: task) }
        guard watchesHeads || head.isRedirect else { return .proceed }
        let fate = redirectStep(of: head, from: task)
        let calls = mutable.withLock { mutable in
            mutable.observers?.isRedirectBody = fate != .response
            mutable.redirectBody = fate == .redirect ? DroppedBody() : nil
            return keep(task, &mutable)
        }
        for call in calls { call() }
        switch fate {
        case .response: return accept(head, from: task)
        case .redirect: return .deliver(.chunks)
        case .undecided: return .deliver(.collect)
        }
    }

    /// Calls the `onHTTPResponse` closure, which decides whether to read the body; pauses the
    /// transfer meanwhile.
    func requestDisposition(of head: HTTPResponse, from task: any TransferTask) -> TransferDecision
    {
        let (handler, streams, attempt) = mutable.withLock { mutable in
            mutable.attempt.receive(head)
            let handler = mutable.observers?.response
            if handler != nil { mutable.machine.hold(.judgement) }
            return (handler, mutable.observers?.responseStreams ?? [], mutable.machine.attempt)
        }
        for stream in streams { stream.yield(head) }
        guard let handler else { return .proceed }
        ask(handler, head) { $0.release(.judgement, of: task, attempt: attempt) }
        return .pause
    }

    /// Calls the `onHTTPResponse` closure after the body was received, as for redirects that are
    /// not followed.
    func requestLateDisposition(
        of head: HTTPResponse, then goOn: @escaping @Sendable (Request) -> Void
    ) {
        let (handler, streams) = mutable.withLock { mutable in
            (mutable.observers?.response, mutable.observers?.responseStreams ?? [])
        }
        for stream in streams { stream.yield(head) }
        guard let handler else { return goOn(self) }
        // There is no transfer whose end would end the wait after a cancel. References the request
        // weakly, as in ``ask(_:_:_:)``.
        let wait = Wait<ResponseDisposition>(
            core.deadlines, cancelledAnswer: { _ in .cancel }
        ) { [weak self] disposition in
            guard let self else { return }
            if disposition == .cancel { cancel() }
            goOn(self)
        }
        let isWanted = mutable.withLock { mutable in
            mutable.wait = wait
            return mutable.machine.state != .cancelled
        }
        guard isWanted else { return wait.cancel(.explicitlyCancelled) }
        core.call(on: handler.queue) { handler.body(head) { wait.answer($0) } }
    }

    /// Calls a closure with a completion that references the request weakly.
    ///
    /// The request retains the closure, which may store the completion: a strong reference would be
    /// a cycle. The session retains the request until the completion is called.
    private func ask(
        _ handler: RequestObservers.DispositionHandler, _ head: HTTPResponse,
        _ goOn: @escaping @Sendable (Request) -> Void
    ) {
        let answered = OnceFlag()
        core.call(on: handler.queue) {
            handler.body(head) { [weak self] disposition in
                guard answered.claim(), let self else { return }
                if disposition == .cancel { cancel() }
                goOn(self)
            }
        }
    }

    /// Removes a hold on the transfer; without any, the transfer continues.
    func release(_ hold: TransferHolds, of task: any TransferTask, attempt: Int) {
        let goesOn = mutable.withLock { $0.machine.release(hold, attempt: attempt) }
        if goesOn { settle(task) }
    }
}
