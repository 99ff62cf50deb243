public import Dispatch
public import FoundationEssentials
public import OutletHTTP

/// Makes requests, and holds what they share: connections, settings, interceptors, queues.
///
/// Keep a reference while requests run: dropping the session ends them with
/// ``SessionError/sessionDeinitialized``. A subclass must restate `@unchecked Sendable`:
///
/// ```swift
/// final class TracingSession: Session, @unchecked Sendable {}
/// ```
open class Session: @unchecked Sendable {
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

    let core: SessionCore

    /// Makes a session on a transport.
    ///
    /// - Parameters:
    ///   - transport: Carries the requests; shut down when the session goes.
    ///   - configuration: The settings; those about connections are the transport's already.
    ///   - rootQueue: Where the session's own work runs, one thing after the other.
    ///   - startRequestsImmediately: Whether a request starts when its first handler is added.
    ///   - requestQueue: Where requests are made and adapted; one on `rootQueue` if `nil`.
    ///   - serializationQueue: Where responses are serialized; if `nil`, where the first
    ///     completion is wanted.
    ///   - callbackQueue: Where completions run that name no queue; a serial one if `nil`.
    ///   - delivery: Whether completions without a queue need one at all.
    ///   - interceptor: Adapts and retries all requests, before their own interceptors.
    ///   - redirectHandler: Decides about redirects; they are followed if `nil`.
    ///   - cachedResponseHandler: Decides what is stored in the cache; all that may be if `nil`.
    ///   - eventMonitors: Watch all requests.
    public init(
        transport: any Transport,
        configuration: SessionConfiguration = .default,
        rootQueue: DispatchQueue = DispatchQueue(label: "outlet.session.rootQueue"),
        startRequestsImmediately: Bool = true,
        requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil,
        callbackQueue: DispatchQueue? = nil,
        delivery: CallbackDelivery = .queued,
        interceptor: (any RequestInterceptor)? = nil,
        redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) {
        core = SessionCore(
            transport: transport, configuration: configuration,
            queues: SessionQueues(
                root: rootQueue, request: requestQueue, serialization: serializationQueue,
                callback: callbackQueue),
            startsImmediately: startRequestsImmediately, deliversInline: delivery == .inline,
            interceptor: interceptor, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors)
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
    /// Adapts and retries all requests.
    public var interceptor: (any RequestInterceptor)? { core.interceptor }
    /// Decides about redirects.
    public var redirectHandler: (any RedirectHandler)? { core.redirectHandler }

    /// Decides what is stored in the cache.
    public var cachedResponseHandler: (any CachedResponseHandler)? { core.caching?.handler }

    /// Ends all requests with ``SessionError/sessionInvalidated(error:)``; no more may start.
    public func invalidate(error: (any Error)? = nil) {
        core.close(.sessionInvalidated(error: error))
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

    // MARK: Data

    /// Makes a request for an address.
    ///
    /// The request is made of address, method and headers, then changed by the modifier, then
    /// given the parameters; all of it again at every attempt.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: Names and values; `nil` for none.
    ///   - encoding: Puts the parameters into the request.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before parameters are encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func request(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return request(
            RequestParts.adding(parameters, encoding, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request for an address, with an `Encodable` value.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The value; `nil` for none.
    ///   - encoder: Puts the value into the request.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before the value is encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return request(
            RequestParts.adding(parameters, encoder, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request from one, or from what can become one.
    ///
    /// - Parameters:
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func request(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        DataRequest(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: Stream

    /// Makes a request whose response is handed over piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The request; asked again at every attempt.
    ///   - automaticallyCancelOnStreamError: Whether a piece that cannot be serialized ends the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func streamRequest(
        _ convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            core: core, convertible: convertible,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: Download

    /// Makes a request whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    open func download(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        DownloadRequest(
            core: core, downloadable: .request(convertible), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination)
    }

    /// Goes on with a download that broke off.
    ///
    /// Only what is missing is asked for; if the content has changed meanwhile, or the temporary file
    /// is gone, the whole. Adapters are not asked.
    ///
    /// - Parameters:
    ///   - data: What ``DownloadRequest/resumeData`` was.
    ///   - interceptor: Retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    open func download(
        resumingWith data: Data,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        DownloadRequest(
            core: core, downloadable: .resumeData(data), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination)
    }

    // MARK: Upload

    /// Makes a request from what makes both the request and its body.
    ///
    /// All uploads come here.
    ///
    /// - Parameters:
    ///   - upload: The request and the body; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Removes files that are not wanted any more.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ upload: any UploadConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let parts = upload as? Upload
        return UploadRequest(
            core: core, convertible: parts?.request ?? upload,
            upload: parts?.uploadable ?? upload, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
