public import Dispatch
public import OutletHTTP
public import OutletTransport

/// Makes requests, and holds what they share: connections, settings, interceptors, queues.
///
/// Keep a reference while requests run: dropping the session ends them with
/// ``SessionError/sessionDeinitialized``. A subclass must restate `@unchecked Sendable`:
///
/// ```swift
/// final class TracingSession: Session, @unchecked Sendable {}
/// ```
open class Session: UploadFactory, @unchecked Sendable {
    // because nothing here changes after `init`.

    /// Changes a request before parameters are encoded into it; again at every attempt.
    public typealias RequestModifier = @Sendable (inout HTTPRequest) throws -> Void

    /// Where completions go.
    public enum CallbackDelivery: Sendable {
        /// To the queue of the call, else to ``Session/callbackQueue``.
        case queued
        /// At once, on the transport's thread, unless the call names a queue.
        ///
        /// The caller promises that no completion, validator, serializer or retrier blocks.
        case inline
    }

    /// When a request is made ready.
    public enum RequestSetup: Sendable {
        /// When it is first resumed.
        case lazy
        /// As soon as the request exists; the transfer waits for a `resume()`.
        case eager
    }

    /// Makes a session on a transport.
    ///
    /// - Parameters:
    ///   - transport: Carries the requests; shut down when the session goes.
    ///   - configuration: The settings; those about connections are the transport's already.
    ///   - rootQueue: Where the session's own work runs, one thing after the other.
    ///   - startRequestsImmediately: Whether a request starts when its first handler is added.
    ///   - requestSetup: When requests are made ready.
    ///   - requestQueue: Where requests are made and adapted; one on `rootQueue` if `nil`.
    ///   - serializationQueue: Where responses are serialized; if `nil`, where the first
    ///     completion is wanted.
    ///   - callbackQueue: Where completions run that name no queue; a serial one if `nil`.
    ///   - delivery: Whether completions without a queue need one at all.
    ///   - interceptor: Adapts and retries all requests, before their own interceptors.
    ///   - serverTrustManager: Decides which servers are trusted; if `nil`, those with a certificate
    ///     of a known authority.
    ///   - redirectHandler: Decides about redirects; they are followed if `nil`.
    ///   - cachedResponseHandler: Decides what is stored in the cache; all that may be if `nil`.
    ///   - layers: See every hop of every request as it goes on the wire, the first one first; a stored
    ///     response's is none. See ``OutletTransport/TransportLayer``.
    ///   - eventMonitors: Watch all requests.
    public init(
        transport: any Transport,
        configuration: SessionConfiguration = .default,
        rootQueue: DispatchQueue = DispatchQueue(label: "outlet.session.rootQueue"),
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup = .lazy,
        requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil,
        callbackQueue: DispatchQueue? = nil,
        delivery: CallbackDelivery = .queued,
        interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        layers: [@Sendable (_ next: any Transport) -> any Transport] = [],
        eventMonitors: [any EventMonitor] = []
    ) {
        super.init(
            core: SessionCore(
                transport: transport, configuration: configuration,
                queues: SessionQueues(
                    root: rootQueue, request: requestQueue, serialization: serializationQueue,
                    callback: callbackQueue),
                startsImmediately: startRequestsImmediately, setup: requestSetup,
                deliversInline: delivery == .inline, interceptor: interceptor,
                serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
                cachedResponseHandler: cachedResponseHandler, layers: layers,
                eventMonitors: eventMonitors))
        core.belongs(to: self)
    }

    deinit { core.close(.sessionDeinitialized) }

    /// The settings.
    public var sessionConfiguration: SessionConfiguration { core.configuration }
    /// Where the session's own work runs.
    public var rootQueue: DispatchQueue { core.rootQueue }
    /// Where requests are made and adapted.
    public var requestQueue: DispatchQueue { core.requestQueue }
    /// Where responses for tasks are serialized.
    public var serializationQueue: DispatchQueue { core.serializationQueue }
    /// Where completions run that name no queue.
    public var callbackQueue: DispatchQueue { core.callbackQueue }
    /// Runs tasks on the transport's own thread: `withTaskExecutorPreference(session.taskExecutor)`.
    ///
    /// A task that awaits one request after another then changes threads no more. It must not
    /// block: all requests of the session wait for it. `nil` when the transport has no thread to
    /// offer.
    public var taskExecutor: (any TaskExecutor)? { core.transport.taskExecutor }
    /// Whether a request starts when its first handler is added.
    public var startRequestsImmediately: Bool { core.startsImmediately }
    /// When requests are made ready.
    public var requestSetup: RequestSetup { core.setup }
    /// All monitors of the session; `nil` if it has none.
    public var eventMonitor: CompositeEventMonitor? { core.monitors }
    /// Adapts and retries all requests.
    public var interceptor: (any RequestInterceptor)? { core.interceptor }
    /// Decides which servers are trusted.
    public var serverTrustManager: ServerTrustManager? { core.serverTrustManager }
    /// Decides about redirects.
    public var redirectHandler: (any RedirectHandler)? { core.redirectHandler }

    /// Decides what is stored in the cache.
    public var cachedResponseHandler: (any CachedResponseHandler)? { core.cachedResponseHandler }

    /// Ends all requests with ``SessionError/sessionInvalidated(error:)``; no more may start.
    public func invalidate(error: (any Error)? = nil) {
        core.close(.sessionInvalidated(error: error))
    }

    /// Takes no more requests, and returns when all those under way have ended, with their redirects and
    /// retries; the transport is shut down then.
    ///
    /// A request that comes too late fails with ``SessionError/sessionInvalidated(error:)``. So does what has
    /// not ended at the deadline: requests that are suspended, open WebSockets and endless streams never do by
    /// themselves. Completions on ``callbackQueue`` have run when this returns. The session has to be kept
    /// until then: dropping it, or ``invalidate(error:)``, ends everything at once.
    ///
    /// ```swift
    /// let report = await session.shutDown(deadline: .seconds(10))
    /// if report.cut > 0 { log("\(report.cut) requests were cut off") }
    /// ```
    ///
    /// - Parameter deadline: How long to wait.
    /// - Returns: How many requests ended by themselves, and how many were cut off.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await core.shutDown(deadline: deadline)
    }

    /// Reads certificate authorities and client certificates anew: requests from now on use new connections,
    /// which trust and show what the files say now.
    ///
    /// Those under way are not disturbed. To be called when files were replaced, all of them: they are not watched, because a certificate and
    /// its key would be read while one of them is the old one. What was given as bytes stays as it is; a
    /// ``ClientCertificateProvider`` made of a closure is asked for each request anyway.
    public func reloadCertificates() { core.stack.reloadCertificates() }

    /// What the session's transport is doing now: connections, requests under way, requests that wait.
    ///
    /// That of a transport which several sessions share is about all of them. Thread: any, at any time;
    /// numbers are looked at, and nobody is waited for.
    ///
    /// - Parameter perOrigin: Whether to tell origins apart, too.
    public func statistics(perOrigin: Bool = false) -> TransportStatistics {
        core.stack.statistics(perOrigin: perOrigin)
    }

    /// Hands over the requests that are under way; on ``rootQueue``.
    public func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
        core.rootQueue.async { [core] in action(Set(core.activeRequests)) }
    }

    /// Cancels the requests that are under way.
    ///
    /// - Parameters:
    ///   - queue: Where `completion` runs; ``callbackQueue`` if `nil`.
    ///   - completion: Called when all were told, which is not when all are over.
    public func cancelAllRequests(
        completingOnQueue queue: DispatchQueue? = nil, completion: (@Sendable () -> Void)? = nil
    ) {
        core.rootQueue.async { [core] in
            for request in core.activeRequests { request.cancel() }
            guard let completion else { return }
            (queue ?? core.callbackQueue).async(execute: completion)
        }
    }

    // MARK: WebSocket

    /// Makes a request that opens a WebSocket.
    ///
    /// - Parameters:
    ///   - convertible: The handshake, a `GET` to a ws, wss, http or https address; asked again at
    ///     every attempt.
    ///   - configuration: The WebSocket's settings.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func webSocketRequest(
        performing convertible: any URLRequestConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> WebSocketRequest {
        core.begin(
            WebSocketRequest(
                core: core, convertible: convertible, configuration: configuration,
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }
}
