public import Dispatch
import FoundationEssentials
public import OutletHTTP
public import OutletSession

/// Receives the result of a provider's request.
public typealias Completion = @Sendable (_ result: Result<Response, ProviderError>) -> Void

/// The interface of all providers, for extensions.
public protocol ProviderType: AnyObject, Sendable {
    /// The type of the targets.
    associatedtype Target: TargetType

    /// Sends a target's request; see ``Provider/request(_:callbackQueue:progress:completion:)``.
    ///
    /// - Parameters:
    ///   - target: The target to request.
    ///   - callbackQueue: Where `progress` and `completion` run; the provider's default if `nil`.
    ///   - progress: Called while bytes are transferred; `nil` for none.
    ///   - completion: Called exactly once, also after a cancel.
    /// - Returns: Cancels the request.
    func request(
        _ target: Target, callbackQueue: DispatchQueue?, progress: ProgressBlock?,
        completion: @escaping Completion
    ) -> any Cancellable
}

/// Builds requests from targets and sends them through plugins and a session.
open class Provider<Target: TargetType>: ProviderType, @unchecked Sendable {
    // because it holds constants.

    /// Returns the endpoint of a target.
    ///
    /// Thread: the one that calls ``Provider/request(_:callbackQueue:progress:completion:)``.
    public typealias EndpointClosure = @Sendable (Target) -> Endpoint
    /// Receives the request of an endpoint, or the error that the call fails with.
    ///
    /// Thread: any.
    public typealias RequestResultClosure = @Sendable (Result<HTTPRequest, ProviderError>) -> Void
    /// Builds the request of an endpoint and passes it to the callback, at once or later.
    ///
    /// Only the first call of the callback counts. A cancel completes the call at once, and the
    /// callback has no effect afterwards. A closure that releases its callback without calling it
    /// fails the call with ``ProviderError/underlying(_:_:)`` around ``UnansweredRequestClosure``.
    ///
    /// Thread: the one that calls ``Provider/request(_:callbackQueue:progress:completion:)``.
    public typealias RequestClosure = @Sendable (Endpoint, @escaping RequestResultClosure) -> Void
    /// Decides whether a target's request is stubbed.
    ///
    /// Thread: the one that calls ``Provider/request(_:callbackQueue:progress:completion:)``.
    public typealias StubClosure = @Sendable (Target) -> StubBehavior

    /// Returns the endpoint of a target.
    public let endpointClosure: EndpointClosure
    /// Builds the request of an endpoint.
    public let requestClosure: RequestClosure
    /// Decides whether a target's request is stubbed.
    public let stubClosure: StubClosure
    /// Sends the requests.
    public let session: Session
    /// The plugins, in the order in which their hooks run.
    public let plugins: [any PluginType]
    /// Whether equal requests at the same time share one transfer.
    ///
    /// Requests are compared just before they are sent, as by
    /// `SessionConfiguration.coalescesRequests`: equal are `GET` or `HEAD` requests without a body
    /// that have, after the plugins, the same URL, the same headers (except those that identify a
    /// single request, such as `X-Request-ID`), the same credential, timeout, cache policy and
    /// handling of cookies. Downloads are never shared.
    ///
    /// Each call keeps its own queue, progress, validation and response, and follows redirects and
    /// retries itself. A cancel ends only that call. The closures and all plugin hooks run for each
    /// call, with its target.
    public let trackInflights: Bool
    let callbackQueue: DispatchQueue?
    private let inflights = InflightCalls()

    /// Makes a provider.
    ///
    /// - Parameters:
    ///   - endpointClosure: Returns the endpoint of a target; by default what the target describes.
    ///   - requestClosure: Builds the request of an endpoint; by default ``Endpoint/urlRequest()``.
    ///   - stubClosure: Decides whether a target's request is stubbed; by default none is.
    ///   - callbackQueue: Where completions run; the session's callback queue if `nil`.
    ///   - session: Sends the requests; the provider keeps it.
    ///   - plugins: The plugins, in the order in which their hooks run.
    ///   - trackInflights: Whether equal requests at the same time share one transfer; see
    ///     ``trackInflights``.
    public init(
        endpointClosure: @escaping EndpointClosure = { Provider.defaultEndpointMapping(for: $0) },
        requestClosure: @escaping RequestClosure = {
            Provider.defaultRequestMapping(for: $0, closure: $1)
        },
        stubClosure: @escaping StubClosure = { Provider.neverStub($0) },
        callbackQueue: DispatchQueue? = nil,
        session: Session,
        plugins: [any PluginType] = [],
        trackInflights: Bool = false
    ) {
        self.endpointClosure = endpointClosure
        self.requestClosure = requestClosure
        self.stubClosure = stubClosure
        self.callbackQueue = callbackQueue
        self.session = session
        self.plugins = plugins
        self.trackInflights = trackInflights
    }

    /// The unfinished calls that may share a transfer, by endpoint; empty unless
    /// ``trackInflights``.
    ///
    /// A call is removed after its completion has returned.
    open var inflightRequests: [Endpoint: [Completion]] { inflights.completions }

    /// Returns the endpoint of a target, by ``endpointClosure``.
    ///
    /// - Parameter target: The target.
    open func endpoint(_ target: Target) -> Endpoint { endpointClosure(target) }

    /// Sends a target's request.
    ///
    /// The call continues if the provider is released.
    ///
    /// - Parameters:
    ///   - target: The target to request.
    ///   - callbackQueue: Where `progress` and `completion` run; if `nil`, the provider's queue,
    ///     else the session's callback queue. If all are `nil`, an immediate stub calls
    ///     `completion` on the thread on which ``requestClosure`` delivers the request, usually the
    ///     calling thread, before this returns.
    ///   - progress: Called while bytes are transferred: of the request's body for uploads, else of
    ///     the response's body; once more between ``PluginType/didReceive(_:target:)`` and
    ///     ``PluginType/process(_:target:)``. Not called for stubs. `nil` for none.
    ///   - completion: Called exactly once, also after a cancel, which is
    ///     ``ProviderError/underlying(_:_:)`` with `SessionError.explicitlyCancelled`.
    /// - Returns: Cancels the request. Releasing it has no effect.
    ///
    /// Thread: any. Never blocks, unless the closures do.
    @discardableResult
    open func request(
        _ target: Target, callbackQueue: DispatchQueue? = nil, progress: ProgressBlock? = nil,
        completion: @escaping Completion
    ) -> any Cancellable {
        let token = CancellableToken()
        let queue = callbackQueue ?? self.callbackQueue
        let endpoint = endpoint(target)
        let stub = stubClosure(target)
        let isTracked = trackInflights && endpoint.sharesTransfer
        let call = ProviderCall(
            target: HeldTarget(target), plugins: plugins, session: session, queue: queue,
            token: token, progress: progress, sharesTransfer: isTracked, processes: true,
            completion: isTracked ? inflights.add(endpoint, completion) : completion)
        start(call, target, endpoint, stub)
        return token
    }

    private func start(
        _ call: ProviderCall, _ target: Target, _ endpoint: Endpoint, _ stub: StubBehavior
    ) {
        call.token.cancels(call)
        var stubbed: RequestAnswer.Stub?
        if stub != .never {
            stubbed = { [self] call, request in
                let token = stubRequest(
                    target, request: request, callbackQueue: call.queue,
                    completion: { call.complete($0) }, endpoint: endpoint, stubBehavior: stub)
                call.token.onCancel { token.cancel() }
            }
        }
        let answer = RequestAnswer(of: call.token, to: endpoint, stub: stubbed)
        requestClosure(endpoint) { answer.give($0) }
    }

    /// Answers a target's request with its sample response; the provider calls it for every stub.
    ///
    /// Runs the hooks ``PluginType/prepare(_:target:)`` to ``PluginType/didReceive(_:target:)``.
    /// The provider runs ``PluginType/process(_:target:)`` afterwards.
    ///
    /// - Parameters:
    ///   - target: The target that is requested.
    ///   - request: The request of the endpoint, before any plugin.
    ///   - callbackQueue: Where `completion` runs; if `nil`, on the calling thread, or after a
    ///     delay on the session's callback queue.
    ///   - completion: To be called exactly once, also after a cancel, after
    ///     ``PluginType/didReceive(_:target:)``.
    ///   - endpoint: Provides the sample response.
    ///   - stubBehavior: When to answer; anything but ``StubBehavior/delayed(seconds:)`` answers at
    ///     once.
    /// - Returns: Cancels the stub: it completes at once with
    ///   `SessionError.explicitlyCancelled`.
    open func stubRequest(
        _ target: Target, request: HTTPRequest, callbackQueue: DispatchQueue?,
        completion: @escaping Completion, endpoint: Endpoint, stubBehavior: StubBehavior
    ) -> CancellableToken {
        let token = CancellableToken()
        let call = ProviderCall(
            target: HeldTarget(target), plugins: plugins, session: session, queue: callbackQueue,
            token: token, progress: nil, sharesTransfer: false, processes: false,
            completion: completion)
        let delay: Double? = if case .delayed(let seconds) = stubBehavior { seconds } else { nil }
        call.stub(request, endpoint, delay: delay)
        return token
    }

    /// Sends a target's request and returns the response; cancelling the task cancels the request.
    ///
    /// - Parameter target: The target to request.
    /// - Throws: ``ProviderError``, as the last plugin returned it; after a cancel
    ///   ``ProviderError/underlying(_:_:)`` with `SessionError.explicitlyCancelled`.
    public func request(_ target: Target) async throws -> Response {
        let token = CancellableToken()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let request = request(target, callbackQueue: nil, progress: nil) {
                    token.showOrder()
                    continuation.resume(returning: $0)
                }
                token.onCancel { request.cancel() }
            }
        } onCancel: {
            token.cancel()
        }
        token.showOrder()
        return try result.get()
    }
}

extension Provider {
    /// Returns the endpoint that a target describes.
    ///
    /// Its URL is `URL.init(target:)`, its sample response is ``TargetType/sampleData`` with
    /// status 200.
    ///
    /// - Parameter target: The target.
    public final class func defaultEndpointMapping(for target: Target) -> Endpoint {
        Endpoint(of: target)
    }

    /// Builds the request that an endpoint describes (``Endpoint/urlRequest()``).
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - closure: Called exactly once, before this returns.
    public final class func defaultRequestMapping(
        for endpoint: Endpoint, closure: RequestResultClosure
    ) {
        do {
            closure(.success(try endpoint.urlRequest()))
        } catch let error as ProviderError {
            closure(.failure(error))
        } catch {
            closure(.failure(.underlying(error, nil)))
        }
    }

    /// Stubs no request; for ``stubClosure``.
    public final class func neverStub(_: Target) -> StubBehavior { .never }

    /// Answers every request with its sample at once; for ``stubClosure``.
    public final class func immediatelyStub(_: Target) -> StubBehavior { .immediate }

    /// Answers every request with its sample after a delay; for ``stubClosure``.
    ///
    /// - Parameter seconds: The delay of each request, in seconds.
    public final class func delayedStub(
        _ seconds: Double
    ) -> @Sendable (Target) -> StubBehavior {
        { _ in .delayed(seconds: seconds) }
    }
}
