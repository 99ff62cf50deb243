public import Dispatch
import FoundationEssentials
public import OutletHTTP
import OutletLayers
public import OutletTransport

/// What is known of a request before its response is whole.
extension Request {
    /// Whether the body of a response is wanted.
    public enum ResponseDisposition: Sendable {
        /// It is.
        case allow
        /// It is not: the request is cancelled.
        case cancel
    }

    /// Calls a closure with each request that is made: now, if there is one, and at every attempt.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Given the adapted request; the last one set counts.
    @discardableResult
    public func onURLRequestCreation(
        on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPRequest) -> Void
    ) -> Self {
        let observer = RequestObservers.Observer(queue: queue, body: handler)
        let made = mutable.withLock { mutable in
            mutable.watched().urlRequest.observer = observer
            return mutable.machine.phase < .ready ? nil : mutable.history.requests.last
        }
        if let made { core.tell(.init(observer: observer), made) }
        return self
    }

    /// Calls a closure with each transfer that is begun: now, if there is one, and at every attempt.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Given the transfer; the last one set counts.
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
        if let begun { core.tell(.init(observer: observer), begun) }
        return self
    }

    // MARK: The head of a response

    func judgeResponses(_ judge: RequestObservers.Judge) {
        watchesHeads = true
        mutable.withLock { $0.watched().response = judge }
    }

    /// Takes the next bytes of the body, where they are wanted piece by piece.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        if let decision = mutable.withLock({ $0.redirectBody?.drop(chunk) }) { return decision }
        if core.isMonitored { tellChunk(Data(chunk), of: task) }
        return consume(chunk, from: task)
    }

    /// Lets those who watch see the head, and say whether the body is wanted.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        guard head.isFinal else {
            tellInformational(head)
            return .proceed
        }
        if core.isMonitored { tellHead(head, of: task) }
        guard watchesHeads || head.isRedirect else { return .proceed }
        let fate = redirectFate(of: head, from: task)
        let calls = mutable.withLock { mutable in
            mutable.observers?.isPassingBy = fate != .response
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

    /// Asks the user whether the body of a final head is wanted; the transfer waits meanwhile.
    func judge(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        let (judge, streams, attempt) = mutable.withLock { mutable in
            mutable.attempt.receive(head)
            let judge = mutable.observers?.response
            if judge != nil { mutable.machine.hold(.judgement) }
            return (judge, mutable.observers?.responseStreams ?? [], mutable.machine.attempt)
        }
        for stream in streams { stream.yield(head) }
        guard let judge else { return .proceed }
        ask(judge, head) { $0.release(.judgement, of: task, attempt: attempt) }
        return .pause
    }

    /// Asks about a head whose body has come already: a redirect that nobody wants to follow.
    func judgeLate(_ head: HTTPResponse, then goOn: @escaping @Sendable (Request) -> Void) {
        let (judge, streams) = mutable.withLock { mutable in
            (mutable.observers?.response, mutable.observers?.responseStreams ?? [])
        }
        for stream in streams { stream.yield(head) }
        guard let judge else { return goOn(self) }
        ask(judge, head, goOn)
    }

    /// Asks for an answer that does not hold the request.
    ///
    /// The request holds the callee, which may keep the answer; the session holds the
    /// request until it is there.
    private func ask(
        _ judge: RequestObservers.Judge, _ head: HTTPResponse,
        _ goOn: @escaping @Sendable (Request) -> Void
    ) {
        let answered = OnceFlag()
        core.call(on: judge.queue) {
            judge.body(head) { [weak self] disposition in
                guard answered.claim(), let self else { return }
                if disposition == .cancel { cancel() }
                goOn(self)
            }
        }
    }

    /// Takes one reason for waiting away; without any the transfer goes on.
    func release(_ hold: TransferHolds, of task: any TransferTask, attempt: Int) {
        let goesOn = mutable.withLock { $0.machine.release(hold, attempt: attempt) }
        if goesOn { settle(task) }
    }
}
