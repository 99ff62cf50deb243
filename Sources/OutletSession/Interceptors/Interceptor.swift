public import OutletHTTP
import OutletTransport

/// Adapts with a closure.
public typealias AdaptHandler =
    @Sendable (
        _ request: HTTPRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> Void

/// Decides about retries with a closure.
public typealias RetryHandler =
    @Sendable (
        _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void

/// An adapter made of a closure.
open class Adapter: RequestInterceptor, @unchecked Sendable {
    // because it holds one constant.
    private let adaptHandler: AdaptHandler

    /// Makes an adapter.
    public init(_ adaptHandler: @escaping AdaptHandler) {
        self.adaptHandler = adaptHandler
    }

    /// Asks the closure.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { adaptHandler(request, session, completion) }

    /// Calls ``adapt(_:for:completion:)``.
    open func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { adapt(request, for: state.session, completion: completion) }

    /// Does not retry.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { completion(.doNotRetry) }
}

/// A retrier made of a closure.
open class Retrier: RequestInterceptor, @unchecked Sendable {
    // because it holds one constant.
    private let retryHandler: RetryHandler

    /// Makes a retrier.
    public init(_ retryHandler: @escaping RetryHandler) {
        self.retryHandler = retryHandler
    }

    /// Returns the request unchanged.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(.success(request)) }

    /// Asks the closure.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { retryHandler(request, session, error, completion) }
}

/// An interceptor of this library's that may have nothing to adapt: it is not asked then, and
/// costs its requests neither a queue nor a wait.
package protocol IdleAdapter {
    var adaptsNothing: Bool { get }
}

/// Adapters and retriers in a row.
///
/// Adapters run one after the other, the first failure ends it. Retriers are asked until one
/// answers other than ``RetryResult/doNotRetry``. Interceptors come after both lists.
open class Interceptor: RequestInterceptor, @unchecked Sendable {
    // because it holds constants.

    /// Who adapts, in order.
    public let adapters: [any RequestAdapter]
    /// Who is asked about retries, in order.
    public let retriers: [any RequestRetrier]

    /// Makes an interceptor of two closures.
    public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        adapters = [Adapter(adaptHandler)]
        retriers = [Retrier(retryHandler)]
    }

    /// Makes an interceptor of an adapter and a retrier.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Makes an interceptor of lists.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Asks the adapters in order.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        Self.adapt(request, adapters[...], completion) { adapter, request, completion in
            adapter.adapt(request, for: session, completion: completion)
        }
    }

    /// Asks the adapters in order.
    open func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        Self.adapt(request, adapters[...], completion) { adapter, request, completion in
            adapter.adapt(request, using: state, completion: completion)
        }
    }

    /// Asks the retriers in order.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        Self.retry(retriers[...], request, session, error, completion)
    }

    /// Who adapts, one by one: a plain list is taken apart, so that each answers for itself.
    static func adapters(in adapter: any RequestAdapter) -> [any RequestAdapter] {
        // No list answers at once; casts cost more than asking.
        guard adapter.synchronous == nil else { return [adapter] }
        // A subclass may do more than its lists say.
        guard let list = adapter as? Interceptor, type(of: list) == Interceptor.self else {
            return (adapter as? any IdleAdapter)?.adaptsNothing == true ? [] : [adapter]
        }
        return list.adapters.flatMap { adapters(in: $0) }
    }

    /// Who is asked about retries, one by one.
    static func retriers(in retrier: any RequestRetrier) -> [any RequestRetrier] {
        guard let list = retrier as? Interceptor, type(of: list) == Interceptor.self else {
            return [retrier]
        }
        return list.retriers.flatMap { retriers(in: $0) }
    }

    private static func adapt(
        _ request: HTTPRequest, _ adapters: ArraySlice<any RequestAdapter>,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void,
        ask:
            @escaping @Sendable (
                any RequestAdapter, HTTPRequest,
                @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
            ) -> Void
    ) {
        guard let adapter = adapters.first else {
            completion(.success(request))
            return
        }
        let answered = OnceFlag()
        ask(adapter, request) { result in
            guard answered.claim() else { return }
            switch result {
            case .success(let adapted):
                adapt(adapted, adapters.dropFirst(), completion, ask: ask)
            case .failure: completion(result)
            }
        }
    }

    private static func retry(
        _ retriers: ArraySlice<any RequestRetrier>, _ request: Request, _ session: Session,
        _ error: any Error, _ completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let retrier = retriers.first else {
            completion(.doNotRetry)
            return
        }
        let answered = OnceFlag()
        retrier.retry(request, for: session, dueTo: error) { result in
            guard answered.claim() else { return }
            guard case .doNotRetry = result else {
                completion(result)
                return
            }
            retry(retriers.dropFirst(), request, session, error, completion)
        }
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter made of a closure.
    public static func adapter(using handler: @escaping AdaptHandler) -> Adapter {
        Adapter(handler)
    }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier made of a closure.
    public static func retrier(using handler: @escaping RetryHandler) -> Retrier {
        Retrier(handler)
    }
}

extension RequestInterceptor where Self == Interceptor {
    /// An interceptor made of two closures.
    public static func interceptor(
        adapter: @escaping AdaptHandler, retrier: @escaping RetryHandler
    ) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }

    /// An interceptor made of an adapter and a retrier.
    public static func interceptor(
        adapter: any RequestAdapter, retrier: any RequestRetrier
    ) -> Interceptor {
        Interceptor(adapter: adapter, retrier: retrier)
    }

    /// An interceptor made of lists.
    public static func interceptor(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor {
        Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors)
    }
}
