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

    /// Sends a target's request; see ``Provider/request(_:callbackQueue:completion:)``.
    func request(
        _ target: Target, callbackQueue: DispatchQueue?, completion: @escaping Completion
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
    let callbackQueue: DispatchQueue?

    /// Makes a provider.
    ///
    /// - Parameters:
    ///   - endpointClosure: Makes an endpoint of a target.
    ///   - requestClosure: Makes the request of an endpoint.
    ///   - stubClosure: Says whether a target's request goes to the network.
    ///   - callbackQueue: Where completions run; the session's callback queue if `nil`.
    ///   - session: Carries the requests.
    ///   - plugins: Run for each request, in this order.
    public init(
        endpointClosure: @escaping EndpointClosure = { Provider.defaultEndpointMapping(for: $0) },
        requestClosure: @escaping RequestClosure = {
            Provider.defaultRequestMapping(for: $0, closure: $1)
        },
        stubClosure: @escaping StubClosure = { Provider.neverStub($0) },
        callbackQueue: DispatchQueue? = nil,
        session: Session,
        plugins: [any PluginType] = []
    ) {
        self.endpointClosure = endpointClosure
        self.requestClosure = requestClosure
        self.stubClosure = stubClosure
        self.callbackQueue = callbackQueue
        self.session = session
        self.plugins = plugins
    }

    /// The endpoint of a target.
    open func endpoint(_ target: Target) -> Endpoint { endpointClosure(target) }

    /// Sends a target's request.
    ///
    /// - Parameters:
    ///   - target: What to ask for.
    ///   - callbackQueue: Where `completion` runs; the provider's, then the session's if `nil`.
    ///   - completion: Called exactly once, also after a cancel.
    /// - Returns: What cancels the request.
    @discardableResult
    open func request(
        _ target: Target, callbackQueue: DispatchQueue? = nil, completion: @escaping Completion
    ) -> any Cancellable {
        let token = CancellableToken()
        let call = ProviderCall(
            target: target, plugins: plugins, session: session,
            queue: callbackQueue ?? self.callbackQueue, token: token, completion: completion)
        let endpoint = endpoint(target)
        let stub = stubClosure(target)
        let answered = AnswerOnce()
        requestClosure(endpoint) { result in
            guard answered.claim() else { return }
            switch result {
            case .failure(let error): call.fail(error)
            case .success where token.isCancelled:
                call.fail(.underlying(SessionError.explicitlyCancelled, nil))
            case .success(let request):
                switch stub {
                case .never: call.send(request)
                case .immediate: call.stub(request, endpoint, delay: nil)
                case .delayed(let seconds): call.stub(request, endpoint, delay: seconds)
                }
            }
        }
        return token
    }

    /// Sends a target's request and returns the response; cancelling the task cancels it.
    ///
    /// - Throws: ``ProviderError``.
    public func request(_ target: Target) async throws -> Response {
        let token = CancellableToken()
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let request = request(target, callbackQueue: nil) {
                    continuation.resume(returning: $0)
                }
                token.onCancel { request.cancel() }
            }
        } onCancel: {
            token.cancel()
        }
        return try result.get()
    }
}

extension Provider {
    /// The endpoint that a target describes: its address, its sample with status 200, its fields.
    public final class func defaultEndpointMapping(for target: Target) -> Endpoint {
        Endpoint(
            url: URL(target: target).absoluteString,
            sampleResponseClosure: { .networkResponse(200, target.sampleData) },
            method: target.method, task: target.task, httpHeaderFields: target.headers)
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
