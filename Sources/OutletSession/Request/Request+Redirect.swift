import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Request {
    /// Follows a redirect, or calls the redirect handler.
    ///
    /// - Returns: `false` if the redirect is the response; `true` if this method continues or ends
    ///   the attempt.
    func redirect(
        _ task: any TransferTask, _ response: HTTPResponse, _ result: TransferResult
    ) -> Bool {
        let (calls, sent, handler, hops, attempt) = mutable.withLock { mutable in
            mutable.attempt.addRedirect(took: result.metrics.total)
            return (
                keep(task, &mutable), mutable.attempt.prepared,
                mutable.redirectHandler ?? core.redirectHandler, mutable.machine.redirects,
                mutable.machine.attempt
            )
        }
        for call in calls { call() }
        guard var sent else { return false }
        // A layer may have changed the URL.
        if let url = task.currentRequest?.url { sent.url = url }
        if let handler = handler as? Redirector, case .doNotFollow = handler.behavior {
            return false
        }
        let hop = Hop(task: task, response: response, result: result, attempt: attempt)
        let next: HTTPRequest
        switch RedirectRules.next(
            after: sent, response: response, opensWebSocket: opensWebSocket,
            allowsBodiesInClear: core.configuration.allowsInsecureRedirectsWithBodies,
            upgrade: { core.upgraded($0) })
        {
        case .success(let request): next = request
        case .failure(let error):
            let named = error.naming(sent, opensWebSocket: opensWebSocket)
            end(hop, with: .sessionTaskFailed(error: named))
            return true
        }
        guard hops < core.configuration.maximumRedirects else {
            let error = TransferError(
                code: .httpTooManyRedirects, stage: .receiving, host: next.url?.host(),
                reason: "gave up after \(hops) redirects, the last to "
                    + Redaction.standard.quote(next.url?.host() ?? "?"),
                advice: "the server may redirect for ever; if not, raise maximumRedirects")
            let named = error.naming(sent, opensWebSocket: opensWebSocket)
            end(hop, with: .sessionTaskFailed(error: named))
            return true
        }
        guard let handler, !isPlainFollow(handler) else {
            guard case .stream = next.body else {
                follow(next, after: hop)
                return true
            }
            // Rewinding a stream calls user code: not on the transport's thread.
            core.requestQueue.async { self.follow(next, after: hop) }
            return true
        }
        let wait = Wait<Verdict>(core.deadlines, cancelledAnswer: Verdict.fail) { verdict in
            switch verdict {
            case .follow(let request): self.follow(request, after: hop)
            case .take: self.take(hop)
            case .fail(let error): self.end(hop, with: error)
            }
        }
        let isWanted = mutable.withLock { mutable in
            mutable.wait = wait
            return mutable.machine.mayProceed(attempt: attempt)
        }
        guard isWanted else {
            wait.cancel(error ?? .explicitlyCancelled)
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
                guard var request else { return wait.answer(.take) }
                request.continueCall(of: next)
                wait.answer(.follow(request))
            }
        }
        return true
    }

    /// Takes a redirect as the response after its handler or a plugin decided so.
    private func take(_ hop: Hop) {
        notifyLateHead(hop.response, of: hop.task)
        requestLateDisposition(of: hop.response) { $0.conclude(hop.task, hop.result, turn: nil) }
    }

    /// The decision of a redirect handler.
    private enum Verdict: Sendable {
        case follow(HTTPRequest)
        /// The redirect is the response.
        case take
        case fail(SessionError)
    }

    /// What the head of a response shows.
    enum RedirectStep {
        /// It is the response of the attempt.
        case response
        /// It is a redirect that will be followed.
        case redirect
        /// It is a redirect; a handler or a plugin decides.
        case undecided
    }

    func redirectStep(of head: HTTPResponse, from task: any TransferTask) -> RedirectStep {
        guard head.isRedirect else { return .response }
        let handler = mutable.withLock { $0.redirectHandler } ?? core.redirectHandler
        let isFollowed = core.redirectDeciders.isEmpty ? RedirectStep.redirect : .undecided
        guard let handler else { return isFollowed }
        guard let handler = handler as? Redirector else { return .undecided }
        switch handler.behavior {
        case .follow: return isFollowed
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

    /// Follows a redirect if all deciders and guards accept it.
    private func follow(_ next: HTTPRequest, after hop: Hop) {
        var next = next
        if next.hasContext {
            next = next.redirected(mutable.withLock { $0.machine.redirects } + 1)
        }
        let deciders = core.redirectDeciders
        guard !deciders.isEmpty else { return askGuards(next, after: hop) }
        core.requestQueue.async { [next] in self.decide(next, with: deciders[...], after: hop) }
    }

    /// Calls the deciders for a redirect, one after the other.
    private func decide(
        _ next: HTTPRequest, with deciders: ArraySlice<any RedirectDecider>, after hop: Hop
    ) {
        guard let decider = deciders.first, let sent = mutable.withLock({ $0.attempt.prepared })
        else {
            return askGuards(next, after: hop)
        }
        let wait = Wait<RedirectDecision>(core.deadlines, cancelledAnswer: RedirectDecision.fail) {
            verdict in
            switch verdict {
            case .follow(var request):
                request.continueCall(of: next)
                if !Origin.isSame(next.url, request.url) { RedirectRules.dropSecrets(of: &request) }
                self.core.requestQueue.async { [request] in
                    self.decide(request, with: deciders.dropFirst(), after: hop)
                }
            case .take: self.take(hop)
            case .fail(let error):
                self.end(hop, with: error.asSessionError { .sessionTaskFailed(error: $0) })
            }
        }
        let isWanted = mutable.withLock { mutable in
            mutable.wait = wait
            return mutable.machine.mayProceed(attempt: hop.attempt)
        }
        guard isWanted else { return wait.cancel(error ?? .explicitlyCancelled) }
        let redirect = ProposedRedirect(request: sent, response: hop.response, next: next)
        let abandon = decider.decide(redirect) { wait.answer($0) }
        if let abandon { wait.onAbandon(abandon) }
    }

    /// Calls the adapters that are redirect guards for a hop, then sends it.
    private func askGuards(_ next: HTTPRequest, after hop: Hop) {
        let guards =
            hasInterceptors
            ? core.adapters(for: interceptor).filter { $0.adapter is any RedirectGuard } : []
        guard !guards.isEmpty else { return sendHop(next, after: hop) }
        guard let session = core.session else { return end(hop, with: .sessionDeinitialized) }
        let state = adapterState(in: session)
        core.requestQueue.async { [next] in
            self.adapt(
                next, with: guards[...], using: state,
                attempt: hop.attempt, in: .transferring
            ) { result in
                switch result {
                case .success(let accepted): self.sendHop(accepted, after: hop)
                case .failure(let error):
                    self.end(hop, with: SessionError(failedAdaptation: error))
                }
            }
        }
    }

    /// Sends the request of a redirect that all have accepted.
    private func sendHop(_ next: HTTPRequest, after hop: Hop) {
        do {
            try next.validate()
            try rewind(next)
        } catch {
            let failure = error.asSessionError {
                .sessionTaskFailed(error: ($0 as? TransferError)?.naming(next) ?? $0)
            }
            end(hop, with: failure)
            return
        }
        mutable.withLock { $0.machine.beginHop() }
        notifyExchange(hop.result, of: hop.task)
        core.monitors?.observe(
            .taskWillRedirect(hop.task, to: next, after: hop.response), of: self)
        monitors?.observe(.willRedirect(to: next, after: hop.response), of: self)
        proceed(to: next, after: hop)
    }

    /// Starts the next transfer of an attempt, unless the request was cancelled.
    func proceed(to next: HTTPRequest, after hop: Hop) {
        let mayGoOn = mutable.withLock { mutable in
            guard mutable.machine.mayProceed(attempt: hop.attempt) else { return false }
            mutable.attempt.prepare(next)
            return true
        }
        guard mayGoOn else {
            end(hop, with: .explicitlyCancelled)
            return
        }
        continueTransfer()
    }

    /// Ends the attempt between two transfers, with the last one's result and an error.
    func end(_ hop: Hop, with error: SessionError) {
        mutable.withLock { mutable in
            guard mutable.machine.isCurrent(hop.attempt, in: .transferring) else { return }
            mutable.attempt.fail(error)
        }
        var result = hop.result
        // The body of a refused redirect is no body of the response.
        if self is DataStreamRequest { result.body = nil }
        conclude(hop.task, result, turn: nil)
    }
}

/// A transfer that ended with a redirect, or has to be followed by another one.
struct Hop: Sendable {
    let task: any TransferTask
    let response: HTTPResponse
    let result: TransferResult
    let attempt: Int
}
