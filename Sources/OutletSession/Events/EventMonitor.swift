public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Receives the events of requests, for example to log them; it cannot change a request.
///
/// The session calls ``observe(_:of:)`` for each event, and its default implementation calls the
/// method for that event. All methods have empty defaults. The methods here are declared in the
/// order of a request's life; those for events of transfers are in ``TransferEventMonitor``.
///
/// Thread: ``queue``, where events arrive in order; one at a time if it is a serial queue.
public protocol EventMonitor: TransferEventMonitor {
    /// Where the methods are called.
    ///
    /// `DispatchQueue.sessionCallbacks` by default, which stands for the session's
    /// ``Session/callbackQueue``.
    var queue: DispatchQueue { get }

    /// Receives an event; by default calls the method for it.
    ///
    /// - Parameters:
    ///   - event: The event; the request may have changed since it occurred.
    ///   - request: The request of the event; `nil` for the end of a session.
    func observe(_ event: Event, of request: Request?)

    /// The request was converted; adapters have not run yet.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request before adapters.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest)
    /// The request could not be converted, or is not valid.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The reason.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    /// The adapters have returned a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - initialRequest: The request before adapters.
    ///   - adaptedRequest: The request after all adapters.
    func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest)
    /// An adapter failed, or returned a request that is not valid.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - initialRequest: The request before adapters.
    ///   - error: The reason.
    func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError)
    /// The request is ready to be sent.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The adapted request.
    func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest)
    /// A transfer was made for the request; with eager setup, a placeholder until `resume()`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    func request(_ request: Request, didCreateTask task: any TransferTask)
    /// The metrics of an attempt are complete.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - metrics: The metrics.
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
    /// A trust policy has refused the server; the transfer has not ended yet.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: The error that ends it.
    func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError)
    /// The transfer of an attempt has ended, and the validators have run.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?)
    /// A redirect is about to be followed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - newRequest: The request of the next hop.
    ///   - response: The response that redirects.
    func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse)
    /// A transfer has ended: that of an attempt, or one that a redirect followed.
    ///
    /// Sums up the other events of the transfer, for logs and recordings.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: What was sent and received, with metrics.
    ///   - task: The transfer.
    func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask)
    /// The request is retried.
    ///
    /// - Parameter request: The request.
    func requestIsRetrying(_ request: Request)
    /// The last attempt has ended; the response is serialized next.
    ///
    /// Occurs again if a retrier retries because of a serialization failure.
    ///
    /// - Parameter request: The request.
    func requestDidFinish(_ request: Request)
    /// The request was resumed.
    ///
    /// - Parameter request: The request.
    func requestDidResume(_ request: Request)
    /// A transfer was resumed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    func request(_ request: Request, didResumeTask task: any TransferTask)
    /// The request was suspended.
    ///
    /// - Parameter request: The request.
    func requestDidSuspend(_ request: Request)
    /// A transfer was suspended.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    func request(_ request: Request, didSuspendTask task: any TransferTask)
    /// The request was cancelled.
    ///
    /// - Parameter request: The request.
    func requestDidCancel(_ request: Request)
    /// A transfer was cancelled.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    func request(_ request: Request, didCancelTask task: any TransferTask)
    /// A validator has accepted or refused a response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - data: The body; `nil` without one.
    ///   - result: The result of the validator.
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult)
    /// A response is ready for a handler without a serializer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>)
    /// A serializer has made a value of a response, or failed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>)
    /// The body of an upload was made.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - uploadable: The body to upload.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The body of an upload could not be made.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The reason.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError)
    /// The stream of an upload was rewound.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - stream: The stream of the body.
    func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream)
    /// A download's file was moved to its destination, or could not be moved.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - result: The downloaded file, or the error.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>)
    /// The destination of a download's file was determined.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - url: The file to which the download is moved.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// A validator has accepted or refused a download.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - fileURL: The downloaded file; `nil` without one.
    ///   - result: The result of the validator.
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult)
    /// A download is ready for a handler without a serializer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>)
    /// A serializer has made a value of a download, or failed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    )
    /// A validator has accepted or refused the response of a stream.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - result: The result of the validator.
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult)
    /// A serializer has made a value of a piece of a stream, or failed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - result: The value, or the serializer's error.
    func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>)
}
