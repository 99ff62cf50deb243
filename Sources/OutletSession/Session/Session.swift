public import Dispatch
public import FoundationEssentials
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
open class Session: @unchecked Sendable {
    // because nothing here changes after `init`.

    let core: SessionCore

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
    ///     response's is none. See `TransportLayer`.
    ///   - middleware: Surrounds all calls, the outermost first.
    ///   - plugins: What else takes part in all calls, such as a host of native plugins: its adapters
    ///     and retriers behind `interceptor`, its layers and its middleware inside of those given here.
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
    /// `ClientCertificateProvider` made of a closure is asked for each request anyway.
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
    ///   - encoding: Puts the parameters into the request; `URLEncoding.default` if `nil`.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before parameters are encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
        requestModifier: Session.RequestModifier? = nil,
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
        core.begin(
            DataRequest(
                core: core, convertible: convertible,
                // Not mapped, which would copy even what is not there.
                interceptor: interceptor == nil ? nil : interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume))
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
        core.begin(
            DataStreamRequest(
                core: core, convertible: convertible,
                automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// Makes a request whose response is handed over piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - automaticallyCancelOnStreamError: Whether a piece that cannot be serialized ends the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
            RequestParts.base(convertible, method, headers, requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request whose response is handed over piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The value; `nil` for none.
    ///   - encoder: Puts the value into the request.
    ///   - headers: Fields besides the session's.
    ///   - automaticallyCancelOnStreamError: Whether a piece that cannot be serialized ends the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before the value is encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return streamRequest(
            RequestParts.adding(parameters, encoder, to: base),
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
        core.begin(
            DownloadRequest(
                core: core, downloadable: .request(convertible),
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
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
        core.begin(
            DownloadRequest(
                core: core, downloadable: .resumeData(data),
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
    }

    /// Makes a request whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The parameters; `nil` for none.
    ///   - encoding: Puts the parameters into the request; `URLEncoding.default` if `nil`.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before parameters are encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
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
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoding, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }

    /// Makes a request whose response goes into a file.
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
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
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
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoder, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
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
        return core.begin(
            UploadRequest(
                core: core, convertible: parts?.request ?? upload,
                upload: parts?.uploadable ?? upload, interceptor: interceptor.map { Boxed($0) },
                fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Bytes

    /// Makes a request that sends bytes.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for bytes.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
            data, with: RequestParts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends bytes.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for bytes.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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

    /// Makes a request that sends a file's content.
    ///
    /// - Parameters:
    ///   - fileURL: The file; read while it is sent.
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Removes files that are not wanted any more.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
            fileURL, with: RequestParts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends a file's content.
    ///
    /// - Parameters:
    ///   - fileURL: The file; read while it is sent.
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Removes files that are not wanted any more.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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

    /// Makes a request that sends what a stream gives.
    ///
    /// - Parameters:
    ///   - stream: The body; taken back to its start for redirects, authentication and retries.
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for streams.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
            stream, with: RequestParts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends what a stream gives.
    ///
    /// - Parameters:
    ///   - stream: The body; taken back to its start for redirects, authentication and retries.
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for streams.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: Fills in the form; called once, before this returns.
    ///   - url: The address.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's; the form's `Content-Type` wins.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Tells which files are there and how large they are.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: Fills in the form; called once, before this returns.
    ///   - request: The request; asked again at every attempt.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Tells which files are there and how large they are.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - url: The address.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's; the form's `Content-Type` wins.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed: forms leave no files behind.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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
            with: RequestParts.base(url, method, headers, requestModifier),
            usingThreshold: encodingMemoryThreshold, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - request: The request; asked again at every attempt.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed: forms leave no files behind.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
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

    /// Makes a request that opens a WebSocket.
    ///
    /// - Parameters:
    ///   - url: The address: ws, wss, http or https.
    ///   - configuration: The WebSocket's settings.
    ///   - headers: Fields of the handshake besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    public func webSocketRequest(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocketRequest(
            performing: RequestParts.base(url, .get, headers, requestModifier),
            configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that opens a WebSocket, with a value in its address.
    ///
    /// - Parameters:
    ///   - url: The address: ws, wss, http or https.
    ///   - configuration: The WebSocket's settings.
    ///   - parameters: The value; `nil` for none.
    ///   - encoder: Puts the value into the request.
    ///   - headers: Fields of the handshake besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - requestModifier: Changes the request before the value is encoded.
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
        let base = RequestParts.base(url, .get, headers, requestModifier)
        return webSocketRequest(
            performing: RequestParts.adding(parameters, encoder, to: base),
            configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
