public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// An event monitor that calls a closure for each event; `nil` closures are not called.
///
/// Set the closures before the monitor is passed to a session or a request: changing them later is
/// a data race. Subclasses may override the methods. The arguments of a closure are those of the
/// method that calls it, in the same order.
///
/// Thread: the closures run on ``queue``, one at a time.
open class ClosureEventMonitor: ClosureTransferEventMonitor, EventMonitor, @unchecked Sendable {
    // because the closures are set before the monitor is passed on, and only read from then on.

    /// The queue on which the closures are called.
    public let queue: DispatchQueue

    /// Makes a monitor without closures.
    ///
    /// - Parameter queue: The queue on which the closures are called; must be serial. By default
    ///   the callback queue of the session that uses the monitor.
    public init(queue: DispatchQueue = .sessionCallbacks) {
        self.queue = queue
        super.init()
    }

    /// The request was made; adapters have not changed it yet.
    open var requestDidCreateInitialURLRequest: (@Sendable (Request, HTTPRequest) -> Void)?
    /// The request could not be made.
    open var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, SessionError) -> Void)?
    /// The adapters have changed the request: the request before and after.
    open var requestDidAdaptInitialRequestToAdaptedRequest:
        (@Sendable (Request, HTTPRequest, HTTPRequest) -> Void)?
    /// An adapter failed.
    open var requestDidFailToAdaptURLRequestWithError:
        (@Sendable (Request, HTTPRequest, SessionError) -> Void)?
    /// The request of an attempt is ready to be sent, with the changes of all adapters.
    open var requestDidCreateURLRequest: (@Sendable (Request, HTTPRequest) -> Void)?
    /// A transfer was made for the request.
    open var requestDidCreateTask: (@Sendable (Request, any TransferTask) -> Void)?
    /// The metrics of an attempt are known.
    open var requestDidGatherMetrics: (@Sendable (Request, TransferMetrics) -> Void)?
    /// The session failed a transfer before its end.
    open var requestDidFailTaskEarlyWithError:
        (@Sendable (Request, any TransferTask, SessionError) -> Void)?
    /// A transfer ended and was validated; the error is `nil` if it succeeded.
    open var requestDidCompleteTaskWithError:
        (@Sendable (Request, any TransferTask, SessionError?) -> Void)?
    /// A redirect is about to be followed: the new request, and the redirect response.
    open var requestWillRedirectToRequestAfterResponse:
        (@Sendable (Request, HTTPRequest, HTTPResponse) -> Void)?
    /// A transfer ended, of an attempt or a redirect hop.
    open var requestDidCompleteExchange:
        (@Sendable (Request, TransferExchange, any TransferTask) -> Void)?
    /// Another attempt follows.
    open var requestIsRetrying: (@Sendable (Request) -> Void)?
    /// No attempt follows; the response is serialized next.
    ///
    /// Called again if a retrier starts another attempt after a serializer failed.
    open var requestDidFinish: (@Sendable (Request) -> Void)?
    /// The request was resumed.
    open var requestDidResume: (@Sendable (Request) -> Void)?
    /// A transfer was resumed.
    open var requestDidResumeTask: (@Sendable (Request, any TransferTask) -> Void)?
    /// The request was suspended.
    open var requestDidSuspend: (@Sendable (Request) -> Void)?
    /// A transfer was suspended.
    open var requestDidSuspendTask: (@Sendable (Request, any TransferTask) -> Void)?
    /// The request was cancelled.
    open var requestDidCancel: (@Sendable (Request) -> Void)?
    /// A transfer was cancelled.
    open var requestDidCancelTask: (@Sendable (Request, any TransferTask) -> Void)?
    /// A validator accepted or refused a response: request, head, body and result.
    open var requestDidValidateRequestResponseDataWithResult:
        (
            @Sendable (DataRequest, HTTPRequest?, HTTPResponse, Data?, Request.ValidationResult) ->
                Void
        )?
    /// A response was delivered without a serializer.
    open var requestDidParseResponse:
        (@Sendable (DataRequest, DataResponse<Data?, SessionError>) -> Void)?
    /// A serializer returned a value or failed.
    open var requestDidParseSerializedResponse:
        (@Sendable (DataRequest, DataResponse<any Sendable, SessionError>) -> Void)?
    /// The body of an upload was created.
    open var requestDidCreateUploadable:
        (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)?
    /// The body of an upload could not be created.
    open var requestDidFailToCreateUploadableWithError:
        (@Sendable (UploadRequest, SessionError) -> Void)?
    /// The stream of an upload was rewound.
    open var requestDidProvideInputStream: (@Sendable (UploadRequest, any BodyStream) -> Void)?
    /// A download ended: the result is its file, or the error.
    open var requestDidFinishDownloadingUsingTaskWithResult:
        (@Sendable (DownloadRequest, any TransferTask, Result<URL, SessionError>) -> Void)?
    /// The destination of a download's file is known.
    open var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)?
    /// A validator accepted or refused a download: request, head, file and result.
    open var requestDidValidateRequestResponseFileURLWithResult:
        (
            @Sendable (DownloadRequest, HTTPRequest?, HTTPResponse, URL?, Request.ValidationResult)
                -> Void
        )?
    /// A download was delivered without a serializer.
    open var requestDidParseDownloadResponse:
        (@Sendable (DownloadRequest, DownloadResponse<URL?, SessionError>) -> Void)?
    /// A serializer of a download returned a value or failed.
    open var requestDidParseSerializedDownloadResponse:
        (@Sendable (DownloadRequest, DownloadResponse<any Sendable, SessionError>) -> Void)?
    /// A validator accepted or refused the head of a stream: request, head and result.
    open var requestDidValidateRequestResponseWithResult:
        (
            @Sendable (DataStreamRequest, HTTPRequest?, HTTPResponse, Request.ValidationResult) ->
                Void
        )?
    /// A serializer of a stream returned a value for a chunk or failed.
    open var requestDidParseStream:
        (@Sendable (DataStreamRequest, Result<any Sendable, SessionError>) -> Void)?

    /// Calls ``requestDidCreateInitialURLRequest``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request before adapters.
    open func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest) {
        requestDidCreateInitialURLRequest?(request, urlRequest)
    }

    /// Calls ``requestDidFailToCreateURLRequestWithError``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The reason.
    open func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError) {
        requestDidFailToCreateURLRequestWithError?(request, error)
    }

    /// Calls ``requestDidAdaptInitialRequestToAdaptedRequest``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - initialRequest: The request before adapters.
    ///   - adaptedRequest: The request after all adapters.
    open func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest
    ) {
        requestDidAdaptInitialRequestToAdaptedRequest?(request, initialRequest, adaptedRequest)
    }

    /// Calls ``requestDidFailToAdaptURLRequestWithError``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - initialRequest: The request before adapters.
    ///   - error: The reason.
    open func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError
    ) {
        requestDidFailToAdaptURLRequestWithError?(request, initialRequest, error)
    }

    /// Calls ``requestDidCreateURLRequest``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The adapted request.
    open func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {
        requestDidCreateURLRequest?(request, urlRequest)
    }

    /// Calls ``requestDidCreateTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    open func request(_ request: Request, didCreateTask task: any TransferTask) {
        requestDidCreateTask?(request, task)
    }

    /// Calls ``requestDidGatherMetrics``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - metrics: The metrics.
    open func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        requestDidGatherMetrics?(request, metrics)
    }

    /// Calls ``requestDidFailTaskEarlyWithError``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: The error that ends it.
    open func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError
    ) {
        requestDidFailTaskEarlyWithError?(request, task, error)
    }

    /// Calls ``requestDidCompleteTaskWithError``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    open func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {
        requestDidCompleteTaskWithError?(request, task, error)
    }

    /// Calls ``requestWillRedirectToRequestAfterResponse``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - newRequest: The request of the next hop.
    ///   - response: The response that redirects.
    open func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse
    ) {
        requestWillRedirectToRequestAfterResponse?(request, newRequest, response)
    }

    /// Calls ``requestDidCompleteExchange``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: What was sent and received, with metrics.
    ///   - task: The transfer.
    open func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {
        requestDidCompleteExchange?(request, exchange, task)
    }

    /// Calls ``requestIsRetrying``.
    ///
    /// - Parameter request: The request.
    open func requestIsRetrying(_ request: Request) {
        requestIsRetrying?(request)
    }

    /// Calls ``requestDidFinish``.
    ///
    /// - Parameter request: The request.
    open func requestDidFinish(_ request: Request) {
        requestDidFinish?(request)
    }

    /// Calls ``requestDidResume``.
    ///
    /// - Parameter request: The request.
    open func requestDidResume(_ request: Request) {
        requestDidResume?(request)
    }

    /// Calls ``requestDidResumeTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    open func request(_ request: Request, didResumeTask task: any TransferTask) {
        requestDidResumeTask?(request, task)
    }

    /// Calls ``requestDidSuspend``.
    ///
    /// - Parameter request: The request.
    open func requestDidSuspend(_ request: Request) {
        requestDidSuspend?(request)
    }

    /// Calls ``requestDidSuspendTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    open func request(_ request: Request, didSuspendTask task: any TransferTask) {
        requestDidSuspendTask?(request, task)
    }

    /// Calls ``requestDidCancel``.
    ///
    /// - Parameter request: The request.
    open func requestDidCancel(_ request: Request) {
        requestDidCancel?(request)
    }

    /// Calls ``requestDidCancelTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    open func request(_ request: Request, didCancelTask task: any TransferTask) {
        requestDidCancelTask?(request, task)
    }

    /// Calls ``requestDidValidateRequestResponseDataWithResult``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - data: The body; `nil` without one.
    ///   - result: The result of the validator.
    open func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult
    ) {
        requestDidValidateRequestResponseDataWithResult?(
            request, urlRequest, response, data, result)
    }

    /// Calls ``requestDidParseResponse``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    open func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>
    ) {
        requestDidParseResponse?(request, response)
    }

    /// Calls ``requestDidParseSerializedResponse``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    open func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
    ) {
        requestDidParseSerializedResponse?(request, response.map { $0 as any Sendable })
    }

    /// Calls ``requestDidCreateUploadable``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - uploadable: The body to upload.
    open func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) {
        requestDidCreateUploadable?(request, uploadable)
    }

    /// Calls ``requestDidFailToCreateUploadableWithError``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The reason.
    open func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) {
        requestDidFailToCreateUploadableWithError?(request, error)
    }

    /// Calls ``requestDidProvideInputStream``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - stream: The stream of the body.
    open func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        requestDidProvideInputStream?(request, stream)
    }

    /// Calls ``requestDidFinishDownloadingUsingTaskWithResult``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - result: The downloaded file, or the error.
    open func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {
        requestDidFinishDownloadingUsingTaskWithResult?(request, task, result)
    }

    /// Calls ``requestDidCreateDestinationURL``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - url: The file to which the download is moved.
    open func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        requestDidCreateDestinationURL?(request, url)
    }

    /// Calls ``requestDidValidateRequestResponseFileURLWithResult``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - fileURL: The downloaded file; `nil` without one.
    ///   - result: The result of the validator.
    open func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        requestDidValidateRequestResponseFileURLWithResult?(
            request, urlRequest, response, fileURL, result)
    }

    /// Calls ``requestDidParseDownloadResponse``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    open func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>
    ) {
        requestDidParseDownloadResponse?(request, response)
    }

    /// Calls ``requestDidParseSerializedDownloadResponse``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    open func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) {
        requestDidParseSerializedDownloadResponse?(request, response.map { $0 as any Sendable })
    }

    /// Calls ``requestDidValidateRequestResponseWithResult``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - result: The result of the validator.
    open func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult
    ) {
        requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result)
    }

    /// Calls ``requestDidParseStream``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - result: The value, or the serializer's error.
    open func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
    ) {
        requestDidParseStream?(request, result.map { $0 as any Sendable })
    }
}
