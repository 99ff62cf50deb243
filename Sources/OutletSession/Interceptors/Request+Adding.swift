import OutletHTTP
import OutletTransport
import Synchronization

extension Request {
    /// Adds an interceptor behind the session's and the request's own; before the start.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        add(adapters: [interceptor], retriers: [interceptor])
    }

    /// Adds an adapter behind the session's and the request's own; before the start.
    @discardableResult
    public func adapt(using adapter: any RequestAdapter) -> Self {
        add(adapters: [adapter], retriers: [])
    }

    /// Adds a retrier behind the session's and the request's own; before the start.
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

    /// Whether anybody adapts or retries the request.
    var hasInterceptors: Bool {
        core.hasInterceptor || hasOwnInterceptor.load(ordering: .acquiring)
    }
}
