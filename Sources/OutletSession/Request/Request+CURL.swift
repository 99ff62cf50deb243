public import Dispatch
import OutletHTTP

extension Request {
    /// The request as a command line for curl, safe to paste into a shell.
    ///
    /// - Parameter redactingSecrets: Whether passwords, tokens and the like are left out by
    ///   ``Redaction/standard``. The command does not authenticate then.
    /// - Returns: `$ curl command could not be created` while there is no request with a host.
    public func cURLDescription(redactingSecrets: Bool = true) -> String {
        let (made, prepared, credential) = mutable.withLock { mutable in
            // After a redirect what is prepared is the next hop.
            (
                mutable.requests.last, mutable.redirects == 0 ? mutable.prepared : nil,
                mutable.credential
            )
        }
        guard let request = prepared ?? made.map({ core.wireRequest(from: $0) }) else {
            return CURLCommand.failure
        }
        return CURLCommand(
            request: core.policies?.withCookies(request) ?? request, credential: credential,
            redaction: redactingSecrets ? .standard : .none
        ).text
    }

    /// Calls a closure with the command once the request is made, or could not be made.
    ///
    /// - Parameters:
    ///   - redactingSecrets: Whether secrets are left out.
    ///   - handler: Called once, on the session's root queue; one that was set before and not yet
    ///     called is forgotten.
    @discardableResult
    public func cURLDescription(
        redactingSecrets: Bool = true, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        cURLDescription(
            on: core.rootQueue, redactingSecrets: redactingSecrets, calling: handler)
    }

    /// Calls a closure with the command once the request is made, or could not be made.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs.
    ///   - redactingSecrets: Whether secrets are left out.
    ///   - handler: Called once; one that was set before and not yet called is forgotten.
    @discardableResult
    public func cURLDescription(
        on queue: DispatchQueue, redactingSecrets: Bool = true,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        let observer = RequestObservers.Observer<Request>(queue: queue) { request in
            handler(request.cURLDescription(redactingSecrets: redactingSecrets))
        }
        let isMade = mutable.withLock { mutable in
            let isMade = mutable.prepared != nil || mutable.machine.phase >= .evaluating
            if !isMade { mutable.watched().curl = observer }
            return isMade
        }
        if isMade { core.tell(observer, self) }
        return self
    }

    /// Calls who waits for the command, if anybody does: the request is made, or will not be.
    func tellCURL() {
        let observer = mutable.withLock { mutable in
            defer { mutable.observers?.curl = nil }
            return mutable.observers?.curl
        }
        if let observer { core.tell(observer, self) }
    }
}
