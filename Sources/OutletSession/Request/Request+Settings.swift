public import Dispatch
public import OutletHTTP
public import OutletTransport

/// Settings of a single request, and its queues.
extension Request {
    /// The queue of the request's internal work: the session's root queue.
    public var underlyingQueue: DispatchQueue { core.rootQueue }
    /// The queue on which responses are serialized for tasks: the session's serialization queue.
    public var serializationQueue: DispatchQueue { core.serializationQueue }

    /// The credential set for this request, which answers authentication challenges; `nil` if none.
    public var credential: Credential? { mutable.withLock { $0.credential } }

    /// Answers authentication challenges with a user name and a password.
    ///
    /// - Parameters:
    ///   - username: The user name.
    ///   - password: The password; sent only when the server or proxy asks for it.
    ///   - persistence: With `forSession`, an accepted credential is kept in the session's
    ///     ``SessionConfiguration/urlCredentialStorage``, if it has one.
    @discardableResult
    public func authenticate(
        username: String, password: String, persistence: Credential.Persistence = .forSession
    ) -> Self {
        authenticate(
            with: Credential(user: username, password: password, persistence: persistence))
    }

    /// Answers authentication challenges with a credential.
    ///
    /// - Parameter credential: Replaces one set before. Not used after a redirect to another
    ///   origin.
    @discardableResult
    public func authenticate(with credential: Credential) -> Self {
        mutable.withLock { $0.credential = credential }
        return self
    }

    /// The redirect handler set for this request; `nil` if the session's is used, and after the end.
    public var redirectHandler: (any RedirectHandler)? { mutable.withLock { $0.redirectHandler } }

    /// Sets a redirect handler for this request.
    ///
    /// - Parameter handler: Called for each redirect in place of the session's handler; replaces
    ///   one set before. The request retains it until it ends, or while a retrier could send it again
    ///   for a handler that is added later.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        mutable.withLock { $0.redirectHandler = handler }
        return self
    }

    /// The priority among requests that wait for a connection: the one set here, else that of the
    /// last request that was made.
    public var priority: TransferPriority {
        mutable.withLock { $0.priority ?? $0.history.lastRequest?.priority ?? .normal }
    }

    /// Sets the priority among requests that wait for a connection to the same host.
    ///
    /// Takes effect with the next transfer. Requests with a lower priority wait longer, but not for
    /// ever.
    ///
    /// - Parameter priority: Overrides the priority of the `HTTPRequest`.
    @discardableResult
    public func priority(_ priority: TransferPriority) -> Self {
        mutable.withLock { $0.priority = priority }
        return self
    }

    /// The cached-response handler set for this request; `nil` if the session's is used.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        mutable.withLock { $0.cachedResponseHandler }
    }

    /// Sets a cached-response handler for this request.
    ///
    /// - Parameter handler: Decides in place of the session's handler whether, and as what, the
    ///   response is stored in the cache; replaces one set before. The request retains it, also after
    ///   its end, when the cache may refresh the response: closures in it must not retain the request.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        mutable.withLock { $0.cachedResponseHandler = handler }
        return self
    }

    /// This request's own interceptor.
    public var interceptor: (any RequestInterceptor)? { mutable.withLock { $0.interceptor?.value } }
}
