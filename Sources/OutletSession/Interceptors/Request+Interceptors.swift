import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What the retriers have decided, the session's own verdicts included.
enum RetryVerdict: Sendable {
    /// Try again after so many seconds.
    case retry(after: Double)
    /// Leave the request as it is.
    case leave
    /// Leave it failed with this error.
    case fail(SessionError)
}

/// Asking adapters and retriers one after the other, each with a deadline.
extension Request {
    /// Adapts a request with each adapter in turn; the first failure ends it.
    ///
    /// - Parameters:
    ///   - phase: Where the request is, and must still be for the question to make sense.
    ///   - completion: Not called once the attempt is over, but for `transferring`, between two
    ///     hops: there nobody else would go on.
    func adapt(
        _ request: HTTPRequest, with adapters: ArraySlice<any RequestAdapter>,
        using state: RequestAdapterState, attempt: Int, in phase: RequestMachine.Phase,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let isHop = phase == .transferring
        var request = request
        var adapters = adapters
        while let adapter = adapters.first {
            adapters = adapters.dropFirst()
            var follows: AnswerFollows?
            if let adapter = adapter.synchronous {
                do {
                    let adapted = try adapter.adapt(request, using: state)
                    request = isHop ? request.accepting(adapted) : adapted
                    continue
                } catch let error as AnswerFollows {
                    follows = error
                } catch {
                    return completion(.failure(error))
                }
            }
            return wait(
                for: adapter, follows, request, then: adapters, using: state, attempt: attempt,
                in: phase, completion: completion)
        }
        completion(.success(request))
    }

    /// Waits for an adapter that answers later, and goes on with those behind it.
    ///
    /// - Parameter follows: Begins the work of an adapter that was asked already; `nil` if the
    ///   adapter is still to be asked.
    private func wait(
        for adapter: any RequestAdapter, _ follows: AnswerFollows?, _ request: HTTPRequest,
        then adapters: ArraySlice<any RequestAdapter>, using state: RequestAdapterState,
        attempt: Int, in phase: RequestMachine.Phase,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let isHop = phase == .transferring
        let fail: @Sendable (SessionError) -> Result<HTTPRequest, any Error> = { .failure($0) }
        let wait = Wait<Result<HTTPRequest, any Error>>(
            core.deadlines, calledOff: isHop ? fail : nil
        ) { result in
            switch result {
            case .success(let adapted):
                self.adapt(
                    isHop ? request.accepting(adapted) : adapted, with: adapters, using: state,
                    attempt: attempt, in: phase, completion: completion)
            case .failure: completion(result)
            }
        }
        let isWanted = mutable.withLock { mutable in
            guard mutable.machine.isCurrent(attempt, in: phase),
                mutable.machine.state != .cancelled
            else { return false }
            mutable.wait = wait
            return true
        }
        guard isWanted else {
            follows?.begin { _ in }?()
            return wait.callOff(error ?? .explicitlyCancelled)
        }
        let timeout = core.answerTimeout(of: adapter)
        wait.begin(for: timeout) {
            .failure(
                InterceptorTimeoutError(
                    role: .adapter, interceptor: "\(type(of: adapter))", timeout: timeout))
        }
        if let follows {
            if let abandon = follows.begin({ wait.answer($0) }) { wait.onAbandon(abandon) }
            return
        }
        guard let patient = adapter as? any AbandonableAdapter else {
            return adapter.adapt(request, using: state) { wait.answer($0) }
        }
        if let abandon = patient.beginAdapting(request, using: state, { wait.answer($0) }) {
            wait.onAbandon(abandon)
        }
    }

    /// Asks each retrier in turn until one answers other than ``RetryResult/doNotRetry``.
    ///
    /// - Parameters:
    ///   - phase: Where the request is, and must still be for the question to make sense.
    ///   - completion: Not called once the attempt is over, but for `finishing`: there nobody
    ///     else would go on.
    func ask(
        _ retriers: ArraySlice<any RequestRetrier>, of session: Session,
        about error: SessionError, attempt: Int, in phase: RequestMachine.Phase,
        completion: @escaping @Sendable (RetryVerdict) -> Void
    ) {
        guard let retrier = retriers.first else {
            completion(.leave)
            return
        }
        let isFinishing = phase == .finishing
        let wait = Wait<RetryVerdict>(
            core.deadlines, calledOff: isFinishing ? RetryVerdict.fail : nil
        ) { verdict in
            guard case .leave = verdict else {
                completion(verdict)
                return
            }
            self.ask(
                retriers.dropFirst(), of: session, about: error, attempt: attempt, in: phase,
                completion: completion)
        }
        let isWanted = mutable.withLock { mutable in
            guard mutable.machine.isCurrent(attempt, in: phase),
                isFinishing == mutable.machine.isConsulting
            else { return false }
            mutable.wait = wait
            return true
        }
        guard isWanted else {
            wait.callOff(self.error ?? .explicitlyCancelled)
            return
        }
        let timeout = core.answerTimeout(of: retrier)
        wait.begin(for: timeout) {
            .fail(
                .requestRetryFailed(
                    retryError: InterceptorTimeoutError(
                        role: .retrier, interceptor: "\(type(of: retrier))", timeout: timeout),
                    originalError: error))
        }
        let answer: @Sendable (RetryResult) -> Void = { result in
            wait.answer(RetryVerdict(result, originalError: error))
        }
        guard let patient = retrier as? any AbandonableRetrier else {
            return retrier.retry(self, for: session, dueTo: error, completion: answer)
        }
        if let abandon = patient.beginRetrying(self, for: session, dueTo: error, answer) {
            wait.onAbandon(abandon)
        }
    }
}

extension RetryVerdict {
    fileprivate init(_ result: RetryResult, originalError: SessionError) {
        switch result {
        case .retry: self = .retry(after: 0)
        case .retryWithDelay(let delay): self = .retry(after: delay)
        case .doNotRetry: self = .leave
        case .doNotRetryWithError(let error):
            self = .fail(.requestRetryFailed(retryError: error, originalError: originalError))
        }
    }
}

extension SessionCore {
    fileprivate func answerTimeout(of interceptor: any InterceptorTiming) -> TimeInterval {
        interceptor.answerTimeout ?? configuration.interceptorTimeout
    }
}
