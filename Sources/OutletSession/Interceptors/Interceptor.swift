public import OutletHTTP
import OutletTransport

/// A closure that adapts a request.
///
/// `completion` must be called exactly once, on any thread, with the request to send or an error.
///
/// Thread: as for ``RequestAdapter/adapt(_:for:completion:)``.
public typealias AdaptHandler =
    @Sendable (
        _ request: HTTPRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> Void

/// A closure that decides whether a failed request is retried.
///
/// `completion` must be called exactly once, on any thread.
///
/// Thread: as for ``RequestRetrier/retry(_:for:dueTo:completion:)``.
public typealias RetryHandler =
    @Sendable (
        _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void

/// An adapter that calls a closure.
open class Adapter: RequestInterceptor, @unchecked Sendable {
    // because it holds one constant.
    private let adaptHandler: AdaptHandler

    /// Makes an adapter.
    ///
    /// - Parameter adaptHandler: Adapts each request.
    public init(_ adaptHandler: @escaping AdaptHandler) {
        self.adaptHandler = adaptHandler
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { adaptHandler(request, session, completion) }

    /// Calls ``adapt(_:for:completion:)``.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The context of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { adapt(request, for: state.session, completion: completion) }

    /// Does not retry.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///   - completion: Receives the decision, once.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { completion(.doNotRetry) }
}

/// A retrier that calls a closure.
open class Retrier: RequestInterceptor, @unchecked Sendable {
    // because it holds one constant.
    private let retryHandler: RetryHandler

    /// Makes a retrier.
    ///
    /// - Parameter retryHandler: Decides about each failed request.
    public init(_ retryHandler: @escaping RetryHandler) {
        self.retryHandler = retryHandler
    }

    /// Returns the request unchanged.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(.success(request)) }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///   - completion: Receives the decision, once.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { retryHandler(request, session, error, completion) }
}

/// An interceptor of this library that may have nothing to adapt.
///
/// It is then not called as an adapter, so that its requests need no queue and no wait.
package protocol IdleAdapter {
    var adaptsNothing: Bool { get }
}

/// A list of adapters and a list of retriers.
///
/// Adapters are called in order until one fails. Retriers are called in order until one answers
/// other than ``RetryResult/doNotRetry``. Interceptors come after both lists.
open class Interceptor: RequestInterceptor, @unchecked Sendable {
    // because it holds constants.

    /// The adapters, in the order in which they are called.
    public let adapters: [any RequestAdapter]
    /// The retriers, in the order in which they are called.
    public let retriers: [any RequestRetrier]

    /// Makes an interceptor of two closures.
    ///
    /// - Parameters:
    ///   - adaptHandler: Adapts each request.
    ///   - retryHandler: Decides about each failed request.
    public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        adapters = [Adapter(adaptHandler)]
        retriers = [Retrier(retryHandler)]
    }

    /// Makes an interceptor of an adapter and a retrier.
    ///
    /// - Parameters:
    ///   - adapter: Adapts each request.
    ///   - retrier: Decides about each failed request.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Makes an interceptor of lists.
    ///
    /// - Parameters:
    ///   - adapters: The adapters, in order.
    ///   - retriers: The retriers, in order.
    ///   - interceptors: Added at the end of both lists.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Calls the adapters in order.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        Self.adapt(request, adapters[...], completion) { adapter, request, completion in
            adapter.adapt(request, for: session, completion: completion)
        }
    }

    /// Calls the adapters in order.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The context of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        Self.adapt(request, adapters[...], completion) { adapter, request, completion in
            adapter.adapt(request, using: state, completion: completion)
        }
    }

    /// Calls the retriers in order.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///   - completion: Receives the decision, once.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        Self.retry(retriers[...], request, session, error, completion)
    }

    /// The adapters of an interceptor; a plain `Interceptor` is replaced by its elements, so that
    /// each has its own time limit.
    static func adapters(in adapter: any RequestAdapter) -> [any RequestAdapter] {
        // A list is never synchronous, and this test is cheaper than the casts below.
        guard adapter.synchronous == nil else { return [adapter] }
        // A subclass may do more than its lists.
        guard let list = adapter as? Interceptor, type(of: list) == Interceptor.self else {
            return (adapter as? any IdleAdapter)?.adaptsNothing == true ? [] : [adapter]
        }
        return list.adapters.flatMap { adapters(in: $0) }
    }

    /// The retriers of an interceptor; a plain `Interceptor` is replaced by its elements.
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
    /// An adapter that calls a closure.
    ///
    /// - Parameter handler: Adapts each request.
    public static func adapter(using handler: @escaping AdaptHandler) -> Adapter {
        Adapter(handler)
    }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier that calls a closure.
    ///
    /// - Parameter handler: Decides about each failed request.
    public static func retrier(using handler: @escaping RetryHandler) -> Retrier {
        Retrier(handler)
    }
}

extension RequestInterceptor where Self == Interceptor {
    /// An interceptor made of two closures.
    ///
    /// - Parameters:
    ///   - adapter: Adapts each request.
    ///   - retrier: Decides about each failed request.
    public static func interceptor(
        adapter: @escaping AdaptHandler, retrier: @escaping RetryHandler
    ) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }

    /// An interceptor made of an adapter and a retrier.
    ///
    /// - Parameters:
    ///   - adapter: Adapts each request.
    ///   - retrier: Decides about each failed request.
    public static func interceptor(
        adapter: any RequestAdapter, retrier: any RequestRetrier
    ) -> Interceptor {
        Interceptor(adapter: adapter, retrier: retrier)
    }

    /// An interceptor made of lists.
    ///
    /// - Parameters:
    ///   - adapters: The adapters, in order.
    ///   - retriers: The retriers, in order.
    ///   - interceptors: Added at the end of both lists.
    public static func interceptor(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor {
        Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors)
    }
}
