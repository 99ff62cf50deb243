import Dispatch
import FoundationEssentials
import OutletHTTP

extension Request {
    /// Follows a redirect, or asks whether to.
    ///
    /// - Returns: Whether somebody else finishes what the transfer began; if not, the redirect is
    ///   the response.
    func redirect(
        _ task: any TransferTask, _ response: HTTPResponse, _ result: TransferResult
    ) -> Bool {
        let (isNew, sent, handler, hops, attempt) = mutable.withLock { mutable in
            mutable.redirectDuration += result.metrics.total
            return (
                mutable.note(task), mutable.performedRequests.last,
                mutable.redirectHandler ?? core.redirectHandler, mutable.redirects,
                mutable.machine.attempt
            )
        }
        if isNew { tellOfStart(task) }
        guard let sent else { return false }
        if let handler = handler as? Redirector, case .doNotFollow = handler.behavior {
            return false
        }
        let next: HTTPRequest
        switch RedirectRules.next(after: sent, response: response) {
        case .success(let request): next = request
        case .failure(let error):
            failRedirect(error, response, attempt: attempt)
            return true
        }
        guard hops < core.configuration.maximumRedirects else {
            let error = TransferError(
                code: .httpTooManyRedirects, stage: .receiving, host: next.url?.host(),
                reason: "gave up after \(hops) redirects, the last to \(next.url?.host() ?? "?")",
                advice: "the server may redirect for ever; see maximumRedirects")
            failRedirect(error, response, attempt: attempt)
            return true
        }
        guard let handler, !isPlainFollow(handler) else {
            guard case .stream = next.body else {
                follow(next, after: response, attempt: attempt)
                return true
            }
            // Taking a stream back runs code of the user's: not on the transport's thread.
            core.requestQueue.async { self.follow(next, after: response, attempt: attempt) }
            return true
        }
        let wait = Wait<Verdict>(core.deadlines, calledOff: Verdict.fail) { verdict in
            switch verdict {
            case .follow(let request): self.follow(request, after: response, attempt: attempt)
            case .take: self.judgeLate(response) { self.conclude(task, result, turn: nil) }
            case .fail(let error): self.fail(with: error, attempt: attempt, mayRetry: false)
            }
        }
        let isWanted = mutable.withLock { mutable in
            mutable.wait = wait
            return mutable.machine.isCurrent(attempt, in: .transferring)
                && mutable.machine.state != .cancelled
        }
        guard isWanted else {
            wait.callOff(error ?? .explicitlyCancelled)
            return true
        }
        let timeout = core.configuration.interceptorTimeout
        wait.begin(for: timeout) {
            let late = InterceptorTimeoutError(
                role: .redirectHandler, interceptor: "\(type(of: handler))", timeout: timeout)
            return .fail(.sessionTaskFailed(error: late))
        }
        core.requestQueue.async {
            handler.task(task, willBeRedirectedTo: next, for: response) { request in
                wait.answer(request.map(Verdict.follow) ?? .take)
            }
        }
        return true
    }

    /// What becomes of a redirect.
    private enum Verdict: Sendable {
        case follow(HTTPRequest)
        /// It is the response.
        case take
        case fail(SessionError)
    }

    /// What becomes of a response as far as its head tells.
    enum RedirectFate {
        /// It is the response.
        case response
        /// It leads somewhere else.
        case redirect
        /// A handler will say.
        case undecided
    }

    func redirectFate(of head: HTTPResponse) -> RedirectFate {
        guard head.isRedirect else { return .response }
        let handler = mutable.withLock { $0.redirectHandler } ?? core.redirectHandler
        guard let handler else { return .redirect }
        guard let handler = handler as? Redirector else { return .undecided }
        switch handler.behavior {
        case .follow: return .redirect
        case .doNotFollow: return .response
        case .modify: return .undecided
        }
    }

    private func isPlainFollow(_ handler: any RedirectHandler) -> Bool {
        guard let handler = handler as? Redirector, case .follow = handler.behavior else {
            return false
        }
        return true
    }

    private func follow(_ next: HTTPRequest, after response: HTTPResponse, attempt: Int) {
        do {
            try next.validate()
            try rewind(next.body)
        } catch {
            fail(
                with: error.asSessionError { .sessionTaskFailed(error: $0) }, attempt: attempt,
                mayRetry: false)
            return
        }
        mutable.withLock { $0.redirects += 1 }
        core.monitors?.request(self, willRedirectTo: next, after: response)
        proceed(to: next, attempt: attempt)
    }

    /// Begins the next transfer of an attempt, unless the request was cancelled.
    func proceed(to next: HTTPRequest, attempt: Int) {
        let mayGoOn = mutable.withLock { mutable in
            guard mutable.machine.isCurrent(attempt, in: .transferring),
                mutable.machine.state != .cancelled
            else { return false }
            mutable.prepared = next
            return true
        }
        guard mayGoOn else {
            fail(with: .explicitlyCancelled, attempt: attempt, mayRetry: false)
            return
        }
        continueTransfer()
    }

    private func failRedirect(_ error: TransferError, _ response: HTTPResponse, attempt: Int) {
        mutable.withLock { $0.response = response }
        fail(with: .sessionTaskFailed(error: error), attempt: attempt, mayRetry: true)
    }
}
