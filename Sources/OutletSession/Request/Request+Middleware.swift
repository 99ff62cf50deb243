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
        initial.describe(as: id)
        initial.context.takesBody =
            self is DataRequest || self is DataStreamRequest && core.collectsStreams
        let isWanted = mutable.withLock { mutable in
            guard mutable.machine.beginIntercepting(attempt: attempt) else { return false }
            mutable.interception = interception
            let lifetime = mutable.overrides?.lifetime ?? RequestLifetime(of: core.session)
            mutable.overrides?.lifetime = lifetime
            initial.context[RequestLifetime.Key.self] = lifetime
            return true
        }
        guard isWanted else { return }
        intercept(initial, with: core.middleware[...], interception) { [initial] result in
            self.didIntercept(initial, result, interception)
        }
    }

    private func intercept(
        _ request: HTTPRequest, with chain: ArraySlice<MiddlewareStep>,
        _ interception: Interception, _ completion: @escaping @Sendable (CallResult) -> Void
    ) {
        guard let first = chain.first else {
            return proceed(with: request, interception, completion)
        }
        let next: @Sendable (HTTPRequest, @escaping @Sendable (CallResult) -> Void) -> Void = {
            self.intercept($0, with: chain.dropFirst(), interception, $1)
        }
        let middleware: any Middleware
        switch first {
        case .calling(let first):
            let abandon = first.intercept(request, next: next, completion: completion)
            if let abandon { keep(abandon, of: interception) }
            return
        case .awaiting(let first): middleware = first
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
        with request: HTTPRequest, _ interception: Interception,
        _ completion: @escaping @Sendable (CallResult) -> Void
    ) {
        let attempt = mutable.withLock { mutable -> Int? in
            guard mutable.interception === interception, interception.answer == nil,
                let attempt = mutable.machine.proceed()
            else { return nil }
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
        if let head = outcome.response {
            let file = (self as? DownloadRequest)?.fileURL
            next?(.success(CallResponse(head: head, of: outcome, in: file)))
        } else {
            next?(.failure(outcome.error ?? .explicitlyCancelled))
        }
        return mutable.withLock { mutable in
            interception.isHandingOver = false
            return take(interception, &mutable)
        }
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
        switch answer {
        case .success(let response):
            mutable.attempt.replaceOutcome(
                AttemptOutcome(
                    request: mutable.history.lastRequest, response: response.head,
                    data: self is DataRequest ? response.body : nil,
                    metrics: mutable.attempt.lastMetrics,
                    error: response.failure?.asSessionError {
                        .responseValidationFailed(reason: .customValidationFailed(error: $0))
                    }))
            if core.collectsStreams || interception.request == nil {
                takeIntercepted(response.body)
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
        return true
    }

    /// Releases what middleware keeps for the request, after all handlers have run.
    func endLifetime() {
        mutable.withLock { $0.overrides?.lifetime.take() }?.end()
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
