import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The decision of the retriers.
enum RetryVerdict: Sendable {
    /// Retries after a delay in seconds.
    case retry(after: Double)
    /// Does not retry.
    case leave
    /// Does not retry, and fails the request with this error.
    case fail(SessionError)
}

/// The outcome of calling adapters in order.
enum Adaptation {
    /// All adapters have returned, or one has failed.
    case finished(Result<HTTPRequest, any Error>)
    /// An adapter answers later.
    case waiting(PendingAdaptation)
}

/// An adapter that answers later, and the adapters after it.
struct PendingAdaptation {
    let adapter: any RequestAdapter
    /// Starts the work of an adapter that was called already; `nil` if it has not been called.
    let follows: AnswerFollows?
    /// The request as the adapters before returned it.
    let request: HTTPRequest
    let remaining: ArraySlice<AdapterStep>
}

/// Calls of adapters and retriers, one after the other, each with a time limit.
extension Request {
    /// Adapts a request with each adapter in turn, up to the first that fails or answers later.
    ///
    /// - Parameter phase: The request's phase; in `transferring`, the request is the next hop of a
    ///   redirect.
    func adapt(
        _ request: HTTPRequest, with adapters: ArraySlice<AdapterStep>,
        using state: RequestAdapterState, in phase: RequestMachine.Phase
    ) -> Adaptation {
        var request = request
        // By index, because a copy of an adapter's existential costs more than its call.
        for index in adapters.indices {
            var follows: AnswerFollows?
            if let adapt = adapters[index].adaptAtOnce {
                do {
                    var adapted = try adapt(request, state)
                    adapted.continueCall(of: request)
                    request = phase == .transferring ? request.accepting(adapted) : adapted
                    continue
                } catch let error as AnswerFollows {
                    follows = error
                } catch {
                    return .finished(.failure(error))
                }
            }
            return .waiting(
                PendingAdaptation(
                    adapter: adapters[index].adapter, follows: follows, request: request,
                    remaining: adapters[(index + 1)...]))
        }
        return .finished(.success(request))
    }

    /// Adapts a request with each adapter in turn; the first failure ends it.
    ///
    /// - Parameters:
    ///   - phase: The request's phase; an answer in another phase is ignored.
    ///   - completion: Called before this returns, unless an adapter answers later; see
    ///     ``wait(for:using:attempt:in:completion:)``.
    func adapt(
        _ request: HTTPRequest, with adapters: ArraySlice<AdapterStep>,
        using state: RequestAdapterState, attempt: Int, in phase: RequestMachine.Phase,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        switch adapt(request, with: adapters, using: state, in: phase) {
        case .finished(let result): completion(result)
        case .waiting(let pending):
            wait(for: pending, using: state, attempt: attempt, in: phase, completion: completion)
        }
    }

    /// Waits for an adapter that answers later, then calls those after it, unless the session was
    /// deallocated: the wait does not retain it.
    ///
    /// - Parameters:
    ///   - phase: The request's phase; an answer in another phase is ignored.
    ///   - completion: Not called if the attempt has ended, except in `transferring`, between two
    ///     hops, where nothing else continues the request.
    func wait(
        for pending: PendingAdaptation, using state: RequestAdapterState, attempt: Int,
        in phase: RequestMachine.Phase,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let (adapter, follows, request) = (pending.adapter, pending.follows, pending.request)
        let isHop = phase == .transferring
        let fail: @Sendable (SessionError) -> Result<HTTPRequest, any Error> = { .failure($0) }
        let wait = Wait<Result<HTTPRequest, any Error>>(
            core.deadlines, cancelledAnswer: isHop ? fail : nil
        ) { result in
            switch result {
            case .success(var adapted):
                guard let session = self.core.session else {
                    return completion(.failure(SessionError.sessionDeinitialized))
                }
                adapted.continueCall(of: request)
                self.adapt(
                    isHop ? request.accepting(adapted) : adapted, with: pending.remaining,
                    using: self.adapterState(in: session), attempt: attempt, in: phase,
                    completion: completion)
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
            return wait.cancel(error ?? .explicitlyCancelled)
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
            let cancel = InterceptorTask.starting {
                adapter.adapt(request, using: state) { wait.answer($0) }
            }
            if let cancel { wait.onAbandon(cancel) }
            return
        }
        if let abandon = patient.beginAdapting(request, using: state, { wait.answer($0) }) {
            wait.onAbandon(abandon)
        }
    }

    /// The context of this attempt for adapters.
    func adapterState(in session: Session) -> RequestAdapterState {
        RequestAdapterState(requestID: id, session: session, retryCount: retryCount, request: self)
    }

    /// Calls each retrier in turn until one answers other than ``RetryResult/doNotRetry``.
    ///
    /// Fails the request when a retrier has answered after its session was deallocated: the wait does
    /// not retain it.
    ///
    /// - Parameters:
    ///   - phase: The request's phase; an answer in another phase is ignored.
    ///   - completion: Not called if the attempt has ended, except in `finishing`, where nothing
    ///     else continues the request.
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
            core.deadlines, cancelledAnswer: isFinishing ? RetryVerdict.fail : nil
        ) { verdict in
            guard case .leave = verdict else {
                completion(verdict)
                return
            }
            guard let session = self.core.session else {
                return completion(.fail(.sessionDeinitialized))
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
            wait.cancel(self.error ?? .explicitlyCancelled)
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
            let cancel = InterceptorTask.starting {
                retrier.retry(self, for: session, dueTo: error, completion: answer)
            }
            if let cancel { wait.onAbandon(cancel) }
            return
        }
        if let abandon = patient.beginRetrying(self, for: session, dueTo: error, answer) {
            wait.onAbandon(abandon)
        }
    }
}

extension SessionError {
    /// The error of a request whose adapters have failed.
    init(failedAdaptation error: any Error) {
        // An adapter that sees the body of an upload makes it.
        if let error = error as? SessionError,
            error.isCreateUploadableError || error.isSessionDeinitializedError
        {
            self = error
        } else {
            self = .requestAdaptationFailed(error: error)
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
