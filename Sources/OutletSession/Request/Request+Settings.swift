public import Dispatch
public import OutletHTTP
public import OutletTransport

/// What may be set for one request, and where its work runs.
extension Request {
    /// Where the request's own work runs: the session's root queue.
    public var underlyingQueue: DispatchQueue { core.rootQueue }
    /// Where the request's responses are serialized for tasks: the session's queue.
    public var serializationQueue: DispatchQueue { core.serializationQueue }

    /// What answers authentication challenges.
    public var credential: Credential? { mutable.withLock { $0.credential } }

    /// Answers authentication challenges with a name and a password.
    @discardableResult
    public func authenticate(
        username: String, password: String, persistence: Credential.Persistence = .forSession
    ) -> Self {
        authenticate(
            with: Credential(user: username, password: password, persistence: persistence))
    }

    /// Answers authentication challenges with a credential.
    @discardableResult
    public func authenticate(with credential: Credential) -> Self {
        mutable.withLock { $0.credential = credential }
        return self
    }

    /// What decides about redirects, if it was set for this request.
    public var redirectHandler: (any RedirectHandler)? { mutable.withLock { $0.redirectHandler } }

    /// Decides about redirects of this request; the last one set counts.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        mutable.withLock { $0.redirectHandler = handler }
        return self
    }

    /// Which of several requests that wait for a connection goes first: what was set here, else what
    /// the request that was made says.
    public var priority: TransferPriority {
        mutable.withLock { $0.priority ?? $0.history.requests.last?.priority ?? .normal }
    }

    /// Lets this request go before or after others that wait for a connection to the same host.
    ///
    /// Counts from the next transfer on. A lower priority waits longer, but not for ever.
    @discardableResult
    public func priority(_ priority: TransferPriority) -> Self {
        mutable.withLock { $0.priority = priority }
        return self
    }

    /// What decides about storing the response, if it was set for this request.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        mutable.withLock { $0.cachedResponseHandler }
    }

    /// Decides about storing this request's response; the last one set counts.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        mutable.withLock { $0.cachedResponseHandler = handler }
        return self
    }

    /// This request's own interceptor.
    public var interceptor: (any RequestInterceptor)? { mutable.withLock { $0.interceptor?.value } }
}
