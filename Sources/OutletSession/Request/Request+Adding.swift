import OutletHTTP
import OutletTransport
import Synchronization

extension Request {
    /// Adds an interceptor after those of the session and of the request.
    ///
    /// Call it before the request is started.
    ///
    /// - Parameter interceptor: The interceptor. The request retains it: closures in it must not
    ///   retain the request.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        add(adapters: [interceptor], retriers: [interceptor])
    }

    /// Adds an adapter after those of the session and of the request.
    ///
    /// Call it before the request is started.
    ///
    /// - Parameter adapter: The adapter. The request retains it: closures in it must not
    ///   retain the request.
    @discardableResult
    public func adapt(using adapter: any RequestAdapter) -> Self {
        add(adapters: [adapter], retriers: [])
    }

    /// Adds a retrier after those of the session and of the request.
    ///
    /// Call it before the request is started.
    ///
    /// - Parameter retrier: The retrier. The request retains it: closures in it must not
    ///   retain the request.
    @discardableResult
    public func retry(using retrier: any RequestRetrier) -> Self {
        add(adapters: [], retriers: [retrier])
    }

    private func add(adapters: [any RequestAdapter], retriers: [any RequestRetrier]) -> Self {
        mutable.withLock { mutable in
            let own = mutable.interceptor.map { [$0.value] } ?? []
            mutable.interceptor = Boxed(
                Interceptor(adapters: own + adapters, retriers: own + retriers))
        }
        hasOwnInterceptor.store(true, ordering: .releasing)
        return self
    }

    /// Whether the session or the request has interceptors.
    var hasInterceptors: Bool {
        core.hasInterceptor || hasOwnInterceptor.load(ordering: .acquiring)
    }
}
