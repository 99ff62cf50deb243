public import Dispatch
import FoundationEssentials
public import OutletHTTP
public import OutletSession

/// Receives the outcome of a provider's request.
public typealias Completion = @Sendable (_ result: Result<Response, ProviderError>) -> Void

/// What every provider can do; extensions are written against it.
public protocol ProviderType: AnyObject, Sendable {
    /// What is asked for.
    associatedtype Target: TargetType

    /// Sends a target's request; see ``Provider/request(_:callbackQueue:progress:completion:)``.
    func request(
        _ target: Target, callbackQueue: DispatchQueue?, progress: ProgressBlock?,
        completion: @escaping Completion
    ) -> any Cancellable
}

/// Makes requests of targets, and runs them through plugins and a session.
open class Provider<Target: TargetType>: ProviderType, @unchecked Sendable {
    // because it holds constants.

    /// Makes an endpoint of a target.
    public typealias EndpointClosure = @Sendable (Target) -> Endpoint
    /// Receives the request of an endpoint.
    public typealias RequestResultClosure = @Sendable (Result<HTTPRequest, ProviderError>) -> Void
    /// Makes the request of an endpoint, at once or later; the first answer counts.
    ///
    /// A call that is cancelled meanwhile is completed at once, and the answer is ignored then. A
    /// closure that lets go of its callback without calling it fails the call
    /// (``UnansweredRequestClosure``).
    public typealias RequestClosure = @Sendable (Endpoint, @escaping RequestResultClosure) -> Void
    /// Says whether a target's request goes to the network.
    public typealias StubClosure = @Sendable (Target) -> StubBehavior

    /// Makes an endpoint of a target.
    public let endpointClosure: EndpointClosure
    /// Makes the request of an endpoint.
    public let requestClosure: RequestClosure
    /// Says whether a target's request goes to the network.
    public let stubClosure: StubClosure
    /// Carries the requests.
    public let session: Session
    /// Run for each request, in this order.
    public let plugins: [any PluginType]
    /// Whether equal requests at the same time share one transfer.
    ///
    /// What is equal is decided when a request is about to be sent, as by
    /// `SessionConfiguration.coalescesRequests`: a `GET` or `HEAD` without a body to the same
    /// address, with the same fields (but for those that name the single request, such as
    /// `X-Request-ID`) and the same credential, as the plugins have prepared it.
    ///
    /// Each call is one of its own for all else: it has its queue, its progress and its cancel, which
    /// ends it alone; the closures and all four hooks of the plugins run for it, with its target; it
    /// is validated for itself, and has a response of its own. Redirects and retries are those of the
    /// call whose transfer is shared, and of the next one when that is cancelled.
    public let trackInflights: Bool
    let callbackQueue: DispatchQueue?
    private let inflights = InflightCalls()

    /// Makes a provider.
    ///
    /// - Parameters:
    ///   - endpointClosure: Makes an endpoint of a target.
    ///   - requestClosure: Makes the request of an endpoint.
    ///   - stubClosure: Says whether a target's request goes to the network.
    ///   - callbackQueue: Where completions run; the session's callback queue if `nil`.
    ///   - session: Carries the requests.
    ///   - plugins: Run for each request, in this order.
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

    /// The calls under way that may share a transfer, by endpoint; empty unless ``trackInflights``.
    ///
    /// A call is among them until its completion has returned.
    open var inflightRequests: [Endpoint: [Completion]] { inflights.completions }

    /// The endpoint of a target.
    open func endpoint(_ target: Target) -> Endpoint { endpointClosure(target) }

    /// Sends a target's request.
    ///
    /// - Parameters:
    ///   - target: What to ask for.
    ///   - callbackQueue: Where `completion` runs; the provider's, then the session's if `nil`.
    ///   - progress: Told there how much of the response has come, and once more when plugins have
    ///     seen the result; not told of stubs.
    ///   - completion: Called exactly once, also after a cancel.
    /// - Returns: What cancels the request.
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
            target: target, plugins: plugins, session: session, queue: queue, token: token,
            progress: progress, inflights: inflights, sharesTransfer: isTracked, processes: true,
            completion: isTracked ? inflights.add(endpoint, completion) : completion)
        start(call, target, endpoint, stub)
        return token
    }

    private func start(
        _ call: ProviderCall, _ target: Target, _ endpoint: Endpoint, _ stub: StubBehavior
    ) {
        let answer = RequestAnswer(of: call)
        // Weakly: a closure that lets go of its callback lets go of the answer.
        call.token.onCancel { [weak answer] in answer?.fail(SessionError.explicitlyCancelled) }
        requestClosure(endpoint) { [self] result in
            guard answer.claim() else { return }
            switch result {
            case .failure(let error): call.fail(error)
            case .success where call.token.isCancelled:
                call.fail(.underlying(SessionError.explicitlyCancelled, nil))
            case .success(let request) where stub == .never: call.send(request, endpoint.task)
            case .success(let request):
                let token = stubRequest(
                    target, request: request, callbackQueue: call.queue,
                    completion: { call.complete($0) }, endpoint: endpoint, stubBehavior: stub)
                call.token.onCancel { token.cancel() }
            }
        }
    }

    /// Answers a target's request without the network; called for every stub.
    ///
    /// - Parameters:
    ///   - target: What is asked for.
    ///   - request: Its request, before any plugin.
    ///   - callbackQueue: Where `completion` runs; if `nil`, where this was called, or on the session's
    ///     callback queue after a delay.
    ///   - completion: To be called exactly once, also after a cancel, when the plugins have received
    ///     the result.
    ///   - endpoint: What has the sample.
    ///   - stubBehavior: When to answer.
    /// - Returns: What cancels it.
    open func stubRequest(
        _ target: Target, request: HTTPRequest, callbackQueue: DispatchQueue?,
        completion: @escaping Completion, endpoint: Endpoint, stubBehavior: StubBehavior
    ) -> CancellableToken {
        let token = CancellableToken()
        let call = ProviderCall(
            target: target, plugins: plugins, session: session, queue: callbackQueue,
            token: token, progress: nil, inflights: inflights, sharesTransfer: false,
            processes: false, completion: completion)
        let delay: Double? = if case .delayed(let seconds) = stubBehavior { seconds } else { nil }
        call.stub(request, endpoint, delay: delay)
        return token
    }

    /// Sends a target's request and returns the response; cancelling the task cancels it.
    ///
    /// - Throws: ``ProviderError``.
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
    /// The endpoint that a target describes: its address, its sample with status 200, its fields.
    public final class func defaultEndpointMapping(for target: Target) -> Endpoint {
        Endpoint(of: target)
    }

    /// The request that an endpoint describes.
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

    /// Sends everything to the network.
    public final class func neverStub(_: Target) -> StubBehavior { .never }

    /// Answers everything with samples, at once.
    public final class func immediatelyStub(_: Target) -> StubBehavior { .immediate }

    /// Answers everything with samples, after so many seconds.
    public final class func delayedStub(
        _ seconds: Double
    ) -> @Sendable (Target) -> StubBehavior {
        { _ in .delayed(seconds: seconds) }
    }
}
