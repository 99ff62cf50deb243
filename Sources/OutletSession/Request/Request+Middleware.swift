import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The state of the middleware around a call.
final class Interception: @unchecked Sendable {
    // because it is read and written under the lock of its request only.

    /// The request that the attempts send; `nil` until the middleware calls `next`.
    fileprivate(set) var request: HTTPRequest?
    /// Receives the result of the attempts.
    fileprivate var next: (@Sendable (CallResult) -> Void)?
    /// The middleware's result, until the request takes it.
    fileprivate var answer: CallResult?
    /// Whether the result of the attempts is being passed to the middleware.
    fileprivate var isHandingOver = false
    /// Cancels the running middleware when the request ends.
    fileprivate var abandons: [@Sendable () -> Void] = []

    /// The last attempt is over; its result is passed to the middleware next.
    func beginHandingOver() { isHandingOver = true }
}

/// The session's middleware around a call.
extension Request {
    /// Calls the middleware with the request; the middleware calls `next` for the attempts.
    func beginIntercepting(_ made: HTTPRequest, attempt: Int) {
        let interception = Interception()
        var initial = made
        describe(&initial)
        let isWanted = mutable.withLock { mutable in
            guard mutable.machine.beginIntercepting(attempt: attempt) else { return false }
            mutable.interception = interception
            return true
        }
        guard isWanted else { return }
        willChange(made)
        intercept(initial, with: core.middleware[...], interception) { [initial] result in
            self.didIntercept(initial, result, interception)
        }
    }

    /// Sets what middleware reads in the context of a request.
    func describe(_ initial: inout HTTPRequest) {
        initial.describe(as: id)
        let takesBody = self is DataRequest || self is DataStreamRequest && core.collectsStreams
        if initial.context.takesBody != takesBody { initial.context.takesBody = takesBody }
    }

    private func intercept(
        _ request: HTTPRequest, with chain: ArraySlice<any Middleware>,
        _ interception: Interception, _ completion: @escaping @Sendable (CallResult) -> Void
    ) {
        guard let middleware = chain.first else {
            return proceed(with: request, interception, completion)
        }
        let next: @Sendable (HTTPRequest, @escaping @Sendable (CallResult) -> Void) -> Void = {
            var asked = $0
            asked.continueCall(of: request)
            self.intercept(asked, with: chain.dropFirst(), interception, $1)
        }
        let task = Task {
            do {
                completion(
                    .success(
                        try await middleware.intercept(request) { request in
                            try await withCheckedContinuation { continuation in
                                next(request) { continuation.resume(returning: $0) }
                            }.get()
                        }))
            } catch {
                completion(.failure(error))
            }
        }
        keep({ task.cancel() }, of: interception)
    }

    /// Stores a closure to call when the request ends; calls it at once if the request has ended.
    private func keep(_ abandon: @escaping @Sendable () -> Void, of interception: Interception) {
        let isOver = mutable.withLock { mutable in
            interception.abandons.append(abandon)
            return mutable.interception !== interception
        }
        if isOver { abandon() }
    }

    /// Starts the attempts when the innermost middleware calls `next`.
    private func proceed(
        with asked: HTTPRequest, _ interception: Interception,
        _ completion: @escaping @Sendable (CallResult) -> Void
    ) {
        var request = asked
        if core.hasOutcomeMiddleware { prepareJudgement(of: &request) }
        let attempt = mutable.withLock { [request] mutable -> Int? in
            guard mutable.interception === interception, interception.answer == nil,
                let attempt = mutable.machine.proceed()
            else { return nil }
            noteJudgement(&mutable)
            if interception.request != nil { reset(&mutable) }
            interception.request = request
            interception.next = completion
            return attempt
        }
        guard let attempt else {
            let untimely = SessionError.requestAdaptationFailed(error: UntimelyMiddleware())
            return completion(.failure(error ?? untimely))
        }
        setUp(request, attempt: attempt)
    }

    /// Passes the result of the attempts to the middleware.
    ///
    /// - Returns: Whether the middleware has returned, and the request is to be finished.
    func handOver(_ interception: Interception) -> Bool {
        var next: (@Sendable (CallResult) -> Void)?
        let outcome = mutable.withLock { mutable in
            next = interception.next.take()
            return mutable.attemptOutcome
        }
        next?(callResult(of: outcome))
        return mutable.withLock { mutable in
            interception.isHandingOver = false
            return take(interception, &mutable)
        }
    }

    /// The outcome of the attempts as middleware receives it.
    func callResult(of outcome: AttemptOutcome) -> CallResult {
        guard let head = outcome.response else {
            return .failure(outcome.error ?? .explicitlyCancelled)
        }
        let file = (self as? DownloadRequest)?.fileURL
        return .success(CallResponse(head: head, of: outcome, in: file))
    }

    /// The outermost middleware has returned.
    private func didIntercept(
        _ initial: HTTPRequest, _ result: CallResult, _ interception: Interception
    ) {
        let isMine = mutable.withLock { mutable in
            guard mutable.interception === interception, interception.answer == nil else {
                return false
            }
            interception.answer = result
            if interception.request == nil { mutable.history.add(initial) }
            // During attempts, and while their result is passed on, `handOver(_:)` takes the answer
            // later.
            guard mutable.machine.phase == .intercepting, !interception.isHandingOver else {
                return false
            }
            return take(interception, &mutable)
        }
        if isMine { onFinishingQueue { self.finishIntercepted(at: $0) } }
    }

    /// Applies the middleware's result; returns `false` if there is none yet.
    private func take(_ interception: Interception, _ mutable: inout Mutable) -> Bool {
        guard mutable.interception === interception, let answer = interception.answer else {
            return false
        }
        mutable.interception = nil
        apply(answer, isBodyMade: interception.request == nil, &mutable)
        return true
    }

    /// Applies a result of middleware to the attempt.
    ///
    /// - Parameters:
    ///   - answer: The result.
    ///   - isBodyMade: Whether the middleware has made the body without an attempt.
    ///   - isUnchanged: Whether it is the outcome of the attempts.
    ///   - mutable: The state of the request.
    func apply(
        _ answer: CallResult, isBodyMade: Bool = false, isUnchanged: Bool = false,
        _ mutable: inout Mutable
    ) {
        switch answer {
        case .success(let response):
            // Middleware around this one sees the bodies of streams, too.
            let keepsBody = self is DataRequest || mutable.interception != nil
            mutable.attempt.replaceOutcome(
                AttemptOutcome(
                    request: mutable.history.lastRequest, response: response.head,
                    data: keepsBody ? response.body : nil,
                    metrics: mutable.attempt.lastMetrics,
                    error: response.failure?.asSessionError {
                        .responseValidationFailed(reason: .customValidationFailed(error: $0))
                    }))
            if core.collectsStreams || isBodyMade {
                takeIntercepted(response.body, isUnchanged: isUnchanged)
            }
        case .failure(let error):
            let isAnswered = mutable.attempt.response != nil
            mutable.attempt.overrule(
                error.asSessionError { error in
                    isAnswered
                        ? .responseValidationFailed(reason: .customValidationFailed(error: error))
                        : .requestAdaptationFailed(error: error)
                })
        }
    }

    /// Cancels the middleware, because the request ends.
    func endInterception() {
        let ended = mutable.withLock { mutable -> Interception? in
            defer { mutable.interception = nil }
            return mutable.interception
        }
        guard let ended else { return }
        let (next, abandons, error) = mutable.withLock { mutable in
            (ended.next.take(), ended.abandons, mutable.attempt.error)
        }
        for abandon in abandons { abandon() }
        next?(.failure(error ?? .explicitlyCancelled))
    }
}

/// The error of a `next` called while another call of it was running, or after the middleware had
/// returned.
struct UntimelyMiddleware: Error, CustomStringConvertible {
    var description: String {
        "middleware called its next while another call of it was under way, or after its answer"
    }
}
