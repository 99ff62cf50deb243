public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Makes requests, and holds what they share: connections, settings, interceptors, queues.
///
/// Keep a reference while requests run: when the session is deallocated, they end with
/// ``SessionError/sessionDeinitialized``, or with their failure if a retrier decides about that. An
/// adapter, retrier or authenticator that runs as an `async` function keeps the session alive until it
/// returns, and so does one that retains its session until it answers.
///
/// The methods that make requests return at once and never throw: an error, such as an invalid URL,
/// is the result of the request. A request is set up when it is first resumed, or at once with
/// ``RequestSetup/eager``; closures and conversions then run again for every attempt. All methods
/// may be called from any thread.
///
/// A subclass must restate `@unchecked Sendable`:
///
/// ```swift
/// final class TracingSession: Session, @unchecked Sendable {}
/// ```
open class Session: @unchecked Sendable {
    // because nothing here changes after `init`.

    let core: SessionCore

    /// Changes a request before parameters are encoded into it; called at every attempt.
    ///
    /// If it throws, the request fails with the error inside
    /// ``SessionError/createURLRequestFailed(error:)``, or with a ``SessionError`` as it is.
    ///
    /// Thread: the session's ``Session/requestQueue``.
    public typealias RequestModifier = @Sendable (inout HTTPRequest) throws -> Void

    /// Where completion handlers run that were added without a queue.
    public enum CallbackDelivery: Sendable {
        /// On ``Session/callbackQueue``.
        case queued
        /// At once, usually on the transport's thread, without a thread switch.
        ///
        /// No completion handler, validator, serializer or retrier may block: all transfers of the
        /// transport wait for it.
        case inline
    }

    /// When a request is set up: converted, adapted and prepared for its transfer.
    public enum RequestSetup: Sendable {
        /// When it is first resumed.
        case lazy
        /// As soon as it is made, on ``Session/rootQueue``; the transfer starts with `resume()`.
        case eager
    }

    /// Makes a session on a transport.
    ///
    /// - Parameters:
    ///   - transport: Performs the transfers. It is shut down when the session is deallocated,
    ///     invalidated or shut down, for other sessions with the same transport too.
    ///   - configuration: The settings of the session. The transport already has its own:
    ///     connection settings have an effect only in the configuration that it was made with.
    ///   - rootQueue: The queue of the session's internal work; the session targets a serial queue
    ///     of its own at it.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is
    ///     added; if `false`, it starts with `resume()`, and the session retains a request with
    ///     response handlers until then. At its end, it ends those that were not started.
    ///   - requestSetup: When requests are set up.
    ///   - requestQueue: Where requests are converted and adapted; if `nil`, a serial queue that
    ///     targets `rootQueue`.
    ///   - serializationQueue: Where responses are validated and serialized; if `nil`, this depends
    ///     on the request's first response handler: see ``Request``.
    ///   - callbackQueue: Where completion handlers run that were added without a queue; a serial
    ///     queue of the session's own if `nil`.
    ///   - delivery: Whether those completion handlers run on `callbackQueue`, or inline.
    ///   - interceptor: Adapts and retries all requests, before their own interceptors.
    ///   - serverTrustManager: Decides which servers are trusted; if `nil`, the transport's
    ///     certificate and host name checks decide.
    ///   - redirectHandler: Decides about redirects of requests without a handler of their own; if
    ///     `nil`, redirects are followed.
    ///   - cachedResponseHandler: Decides what is stored in ``SessionConfiguration/urlCache``; if
    ///     `nil`, every response that HTTP lets a private cache store.
    ///   - layers: Make layers around the transport (see `TransportLayer`), the outermost first.
    ///     They see every request that is sent: each attempt and each redirect, but not a request
    ///     that the cache answers.
    ///   - middleware: Surrounds all calls, the outermost first.
    ///   - plugins: Extensions of all calls, such as a host of native plugins. Their adapters and
    ///     retriers run after `interceptor`; their layers and middleware are inside `layers` and
    ///     `middleware`.
    ///   - eventMonitors: Receive the events of all requests.
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
        middleware: [any Middleware] = [],
        plugins: (any SessionPlugins)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) {
        core = SessionCore(
            transport: transport, configuration: configuration,
            queues: SessionQueues(
                root: rootQueue, request: requestQueue, serialization: serializationQueue,
                callback: callbackQueue),
            startsImmediately: startRequestsImmediately, setup: requestSetup,
            deliversInline: delivery == .inline, interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, layers: layers,
            middleware: middleware, plugins: plugins, eventMonitors: eventMonitors)
        core.belongs(to: self)
        plugins?.attach(to: self)
    }

    deinit { core.close(.sessionDeinitialized) }

    /// The settings, with the cookie and HSTS storages that the session made for itself.
    public var sessionConfiguration: SessionConfiguration { core.configuration }
    /// The serial queue of the session's internal work; it targets the queue given to `init`.
    public var rootQueue: DispatchQueue { core.rootQueue }
    /// Where requests are converted and adapted.
    public var requestQueue: DispatchQueue { core.requestQueue }
    /// Where responses are serialized for tasks, and for all handlers if given to `init`.
    public var serializationQueue: DispatchQueue { core.serializationQueue }
    /// Where completion handlers run that were added without a queue.
    public var callbackQueue: DispatchQueue { core.callbackQueue }
    /// Runs tasks on the transport's own thread; `nil` if the transport has no such executor.
    ///
    /// To be used as in `withTaskExecutorPreference(session.taskExecutor)`. A task that awaits one
    /// request after another then needs no thread switches. It must not block: all requests of the
    /// session wait for it.
    public var taskExecutor: (any TaskExecutor)? { core.transport.taskExecutor }
    /// Whether a request starts when its first response handler is added.
    public var startRequestsImmediately: Bool { core.startsImmediately }
    /// When requests are set up.
    public var requestSetup: RequestSetup { core.setup }
    /// Passes events to all monitors of the session; `nil` if it has none.
    public var eventMonitor: CompositeEventMonitor? { core.monitors }
    /// Adapts and retries all requests; without the interceptors of plugins.
    public var interceptor: (any RequestInterceptor)? { core.interceptor }
    /// Decides which servers are trusted; `nil` if none was given.
    public var serverTrustManager: ServerTrustManager? { core.serverTrustManager }
    /// Decides about redirects; `nil` if none was given.
    public var redirectHandler: (any RedirectHandler)? { core.redirectHandler }

    /// Decides which servers are trusted, with the plugins of the session; `nil` for the default
    /// checks.
    package var trustDecider: (any ServerTrustDeciding)? { core.trustDecider }

    /// Whether code outside of the session sees its requests before they end: interceptors,
    /// middleware, plugins, layers, monitors or a redirect handler.
    package var showsRequests: Bool {
        core.hasInterceptor || core.hasMiddleware || core.hasOutcomeMiddleware
            || core.hasOwnLayers || core.isMonitored || core.redirectHandler != nil
    }

    /// Decides what is stored in the cache; `nil` if none was given.
    public var cachedResponseHandler: (any CachedResponseHandler)? { core.cachedResponseHandler }

    /// Ends all requests at once, and shuts down the transport; the session starts no more.
    ///
    /// Requests in progress, and requests that are started later, fail with
    /// ``SessionError/sessionInvalidated(error:)``, those that have failed before the serializers, and
    /// about which a retrier decides, with their failure. Does nothing if the session has ended already.
    ///
    /// - Parameter error: The cause, carried by that error; `nil` for none.
    public func invalidate(error: (any Error)? = nil) {
        core.close(.sessionInvalidated(error: error))
    }

    /// Starts no more requests, waits for those in progress, then shuts down the transport.
    ///
    /// Requests in progress may still redirect and retry. Requests that are started later, and
    /// those that have not ended at the deadline, fail with
    /// ``SessionError/sessionInvalidated(error:)``. Suspended requests, open WebSockets and endless
    /// streams do not end by themselves. Completion handlers on ``callbackQueue`` have run when
    /// this returns, unless one of them blocks the queue for more than a second after the deadline.
    /// Keep the session until then: its deallocation, or ``invalidate(error:)``, ends
    /// everything at once.
    ///
    /// ```swift
    /// let report = await session.shutDown(deadline: .seconds(10))
    /// if report.cut > 0 { log("\(report.cut) requests were cut off") }
    /// ```
    ///
    /// - Parameter deadline: How long to wait, counted from the call.
    /// - Returns: How many requests ended by themselves, and how many were ended at the deadline;
    ///   both 0 if the session had ended already.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await core.shutDown(deadline: deadline)
    }

    /// Reads the files of certificate authorities and client certificates again.
    ///
    /// Later requests use new connections with the new certificates; requests in progress are not
    /// affected. Call it when all files were replaced. The files of a client certificate are looked
    /// at for each request anyway: new contents are used on new connections as soon as certificate
    /// and key belong together. Certificates given as bytes stay the same, and a
    /// `ClientCertificateProvider` made from a closure is called for each request.
    public func reloadCertificates() { core.stack.reloadCertificates() }

    /// Returns what the session's transport is doing now: how many connections are open, how many
    /// requests are in progress, and how many wait.
    ///
    /// If several sessions share the transport, the figures cover all of them.
    ///
    /// - Parameter perOrigin: Whether to add figures for each origin.
    ///
    /// Thread: any. Never blocks.
    public func statistics(perOrigin: Bool = false) -> TransportStatistics {
        core.stack.statistics(perOrigin: perOrigin)
    }

    /// Calls a closure with the requests that were set up and have not ended.
    ///
    /// - Parameter action: Called exactly once, on ``rootQueue``; this method does not wait for it.
    public func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
        core.rootQueue.async { [core] in action(Set(core.activeRequests)) }
    }

    /// Cancels the requests that were set up and have not ended, on ``rootQueue``.
    ///
    /// - Parameters:
    ///   - queue: Where `completion` runs; ``callbackQueue`` if `nil`.
    ///   - completion: Called exactly once, when `cancel()` was called on all of them; they may end
    ///     later.
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

    /// Makes a request for a URL, with parameters.
    ///
    /// At every attempt, the request is made from the URL, the method and the headers, then changed
    /// by the modifier; then the parameters are encoded into it.
    ///
    /// - Parameters:
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - parameters: The names and values to encode; `nil` for none.
    ///   - encoding: Encodes the parameters into the request; `URLEncoding.default` if `nil`.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the parameters are encoded; called at every
    ///     attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func request(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: (any ParameterEncoding)? = nil,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        let base = core.parts.base(convertible, method, headers, requestModifier)
        return request(
            RequestParts.adding(parameters, encoding, to: consume base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request for a URL, with an `Encodable` value as parameters.
    ///
    /// - Parameters:
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - parameters: The value to encode; `nil` for none.
    ///   - encoder: Encodes the value into the request; by default into the query for `GET`, `HEAD`
    ///     and `DELETE`, else as a form into the body.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the value is encoded; called at every
    ///     attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        let base = core.parts.base(convertible, method, headers, requestModifier)
        return request(
            RequestParts.adding(parameters, encoder, to: consume base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request from an `HTTPRequest`, or from a value that can be converted to one.
    ///
    /// - Parameters:
    ///   - convertible: The request; converted again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func request(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        core.begin(
            DataRequest(
                core: core, convertible: convertible,
                // Tested first: mapping would copy the existential even if it is `nil`.
                interceptor: interceptor == nil ? nil : interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Stream

    /// Makes a request whose response body is delivered piece by piece, as it arrives.
    ///
    /// - Parameters:
    ///   - convertible: The request; converted again at every attempt.
    ///   - automaticallyCancelOnStreamError: Whether a serialization error of a piece cancels the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func streamRequest(
        _ convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        core.begin(
            DataStreamRequest(
                core: core, convertible: convertible,
                automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// Makes a request whose response body is delivered piece by piece, as it arrives.
    ///
    /// - Parameters:
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - automaticallyCancelOnStreamError: Whether a serialization error of a piece cancels the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        streamRequest(
            core.parts.base(convertible, method, headers, requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request whose response body is delivered piece by piece, as it arrives.
    ///
    /// - Parameters:
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - parameters: The value to encode; `nil` for none.
    ///   - encoder: Encodes the value into the request; by default into the query for `GET`, `HEAD`
    ///     and `DELETE`, else as a form into the body.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - automaticallyCancelOnStreamError: Whether a serialization error of a piece cancels the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the value is encoded; called at every
    ///     attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        let base = core.parts.base(convertible, method, headers, requestModifier)
        return streamRequest(
            RequestParts.adding(parameters, encoder, to: consume base),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: Download

    /// Makes a request whose response body is written to a file.
    ///
    /// - Parameters:
    ///   - convertible: The request; converted again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    ///   - destination: Returns where to move the file; if `nil`, it stays in the temporary
    ///     directory.
    open func download(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        core.begin(
            DownloadRequest(
                core: core, downloadable: .request(convertible),
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
    }

    /// Makes a request that resumes an interrupted download.
    ///
    /// It requests only the missing bytes, or the whole content if that has changed since or the
    /// temporary file is gone, or the URL is another one after middleware and adapters. The URL and the
    /// fields are those of the earlier request before both: this session's middleware, its adapters and
    /// `interceptor` are called, as for every request. `Range` and `If-Range` are added after them.
    ///
    /// - Parameters:
    ///   - data: The ``DownloadRequest/resumeData`` of the earlier download. If it cannot be read,
    ///     the request fails with ``ResumeDataError`` inside
    ///     ``SessionError/createURLRequestFailed(error:)``.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    ///   - destination: Returns where to move the file; if `nil`, it stays in the temporary
    ///     directory.
    open func download(
        resumingWith data: Data,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        core.begin(
            DownloadRequest(
                core: core, downloadable: .resumeData(data),
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
    }

    /// Makes a request whose response body is written to a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - parameters: The names and values to encode; `nil` for none.
    ///   - encoding: Encodes the parameters into the request; `URLEncoding.default` if `nil`.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the parameters are encoded; called at every
    ///     attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    ///   - destination: Returns where to move the file; if `nil`, it stays in the temporary
    ///     directory.
    open func download(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: (any ParameterEncoding)? = nil,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let base = core.parts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoding, to: consume base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }

    /// Makes a request whose response body is written to a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - parameters: The value to encode; `nil` for none.
    ///   - encoder: Encodes the value into the request; by default into the query for `GET`, `HEAD`
    ///     and `DELETE`, else as a form into the body.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the value is encoded; called at every
    ///     attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    ///   - destination: Returns where to move the file; if `nil`, it stays in the temporary
    ///     directory.
    open func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let base = core.parts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoder, to: consume base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }

    // MARK: Upload

    /// Makes an upload from a value that makes both the request and its body.
    ///
    /// All other `upload` methods call this one.
    ///
    /// - Parameters:
    ///   - upload: Makes the request and the body; called again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Removes the files of ``UploadRequest/Uploadable/file(_:shouldRemove:)``
    ///     with `shouldRemove`, when the request has ended.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ upload: any UploadConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let parts = upload as? Upload
        return core.begin(
            UploadRequest(
                core: core, convertible: parts?.request ?? upload,
                upload: parts?.uploadable ?? upload, interceptor: interceptor.map { Boxed($0) },
                fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Bytes

    /// Makes an upload of bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used for bytes in memory.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ data: Data,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            data, with: core.parts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes an upload of bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The request; converted again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used for bytes in memory.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ data: Data,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            .data(data), with: convertible, interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A file

    /// Makes an upload of a file's content.
    ///
    /// - Parameters:
    ///   - fileURL: The file; it is read while it is sent, and again if it has to be sent again.
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used: the file is not removed.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ fileURL: URL,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            fileURL, with: core.parts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes an upload of a file's content.
    ///
    /// - Parameters:
    ///   - fileURL: The file; it is read while it is sent, and again if it has to be sent again.
    ///   - convertible: The request; converted again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used: the file is not removed.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ fileURL: URL,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            .file(fileURL, shouldRemove: false), with: convertible, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A stream

    /// Makes an upload of the bytes read from a stream.
    ///
    /// - Parameters:
    ///   - stream: The body; rewound before it is sent again for a redirect, authentication or a
    ///     retry.
    ///   - convertible: The URL; text must be percent-encoded.
    ///   - method: The HTTP method.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used for streams.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ stream: any BodyStream,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            stream, with: core.parts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes an upload of the bytes read from a stream.
    ///
    /// - Parameters:
    ///   - stream: The body; rewound before it is sent again for a redirect, authentication or a
    ///     retry.
    ///   - convertible: The request; converted again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used for streams.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        _ stream: any BodyStream,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            .stream(stream), with: convertible, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    private func upload(
        _ uploadable: UploadRequest.Uploadable, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)?, fileManager: FileManager,
        shouldAutomaticallyResume: Bool?
    ) -> UploadRequest {
        upload(
            Upload(request: convertible, uploadable: uploadable), interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A form, filled in by a closure

    /// Makes an upload of a multipart form.
    ///
    /// - Parameters:
    ///   - multipartFormData: Appends the parts to the form; called once, before this returns.
    ///   - url: The URL; text must be percent-encoded.
    ///   - encodingMemoryThreshold: The limit in bytes: a form whose content is smaller is encoded
    ///     in memory; any other is read part by part while it is sent.
    ///   - method: The HTTP method.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing. The form replaces `Content-Type`.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Checks that appended files exist, and queries their sizes.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        multipartFormData: (MultipartFormData) -> Void,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form, to: url, usingThreshold: encodingMemoryThreshold,
            method: method, headers: headers, interceptor: interceptor, fileManager: fileManager,
            requestModifier: requestModifier, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes an upload of a multipart form.
    ///
    /// - Parameters:
    ///   - multipartFormData: Appends the parts to the form; called once, before this returns.
    ///   - request: The request; converted again at every attempt.
    ///   - encodingMemoryThreshold: The limit in bytes: a form whose content is smaller is encoded
    ///     in memory; any other is read part by part while it is sent.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Checks that appended files exist, and queries their sizes.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        multipartFormData: (MultipartFormData) -> Void,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form, with: request, usingThreshold: encodingMemoryThreshold,
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A form made elsewhere

    /// Makes an upload of a multipart form.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - url: The URL; text must be percent-encoded.
    ///   - encodingMemoryThreshold: The limit in bytes: a form whose content is smaller is encoded
    ///     in memory; any other is read part by part while it is sent.
    ///   - method: The HTTP method.
    ///   - headers: The header fields; ``SessionConfiguration/headers`` adds those that are
    ///     missing. The form replaces `Content-Type`.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used: forms make no temporary files.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        multipartFormData: MultipartFormData,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            multipartFormData: multipartFormData,
            with: core.parts.base(url, method, headers, requestModifier),
            usingThreshold: encodingMemoryThreshold, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes an upload of a multipart form.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - request: The request; converted again at every attempt.
    ///   - encodingMemoryThreshold: The limit in bytes: a form whose content is smaller is encoded
    ///     in memory; any other is read part by part while it is sent.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - fileManager: Not used: forms make no temporary files.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    open func upload(
        multipartFormData: MultipartFormData,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            MultipartUpload(
                request: request, form: multipartFormData, threshold: encodingMemoryThreshold),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: WebSocket

    /// Makes a request that opens a WebSocket.
    ///
    /// - Parameters:
    ///   - convertible: The handshake, a `GET` request with the scheme `ws`, `wss`, `http` or
    ///     `https`; converted again at every attempt.
    ///   - configuration: The subprotocol, the message size limit and the ping interval.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
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

    /// Makes a request that opens a WebSocket.
    ///
    /// - Parameters:
    ///   - url: The URL, with the scheme `ws`, `wss`, `http` or `https`.
    ///   - configuration: The subprotocol, the message size limit and the ping interval.
    ///   - headers: The handshake's header fields; ``SessionConfiguration/headers`` adds those that
    ///     are missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    ///   - requestModifier: Changes the request made from the URL; called at every attempt.
    public func webSocketRequest(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocketRequest(
            performing: core.parts.base(url, .get, headers, requestModifier),
            configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that opens a WebSocket, with a value encoded into its URL.
    ///
    /// - Parameters:
    ///   - url: The URL, with the scheme `ws`, `wss`, `http` or `https`.
    ///   - configuration: The subprotocol, the message size limit and the ping interval.
    ///   - parameters: The value to encode; `nil` for none.
    ///   - encoder: Encodes the value into the request; by default into the query.
    ///   - headers: The handshake's header fields; ``SessionConfiguration/headers`` adds those that
    ///     are missing.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: Whether the first response handler starts the request;
    ///     ``startRequestsImmediately`` if `nil`.
    ///   - requestModifier: Changes the request before the value is encoded; called at every
    ///     attempt.
    public func webSocketRequest<Parameters: Encodable & Sendable>(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let base = core.parts.base(url, .get, headers, requestModifier)
        return webSocketRequest(
            performing: RequestParts.adding(parameters, encoder, to: consume base),
            configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
