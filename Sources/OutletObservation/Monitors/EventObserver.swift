public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// Watches with a single method, for those who want few events, or all of them alike.
///
/// Exchanges are not among them, as they repeat what other events have told.
///
/// Thread: as ``EventMonitor``.
public protocol EventObserver: EventMonitor {
    /// Something has happened.
    ///
    /// - Parameter request: Whom it happened to; `nil` for events of ``TransferEventMonitor``.
    func observe(_ event: Event, of request: Request?)
}

extension EventObserver {
    /// Observes the event.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest) {
        observe(.didCreateInitialURLRequest(urlRequest), of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    {
        observe(.didFailToCreateURLRequest(error: error), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest
    ) {
        observe(.didAdaptInitialRequest(initialRequest, to: adaptedRequest), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError
    ) {
        observe(.didFailToAdaptURLRequest(initialRequest, error: error), of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {
        observe(.didCreateURLRequest(urlRequest), of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didCreateTask task: any TransferTask) {
        observe(.didCreateTask(task), of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        observe(.didGatherMetrics(metrics), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError
    ) {
        observe(.didFailTask(task, error: error), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {
        observe(.didCompleteTask(task, error: error), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse
    ) {
        observe(.willRedirect(to: newRequest, after: response), of: request)
    }

    /// Observes the event.
    public func requestIsRetrying(_ request: Request) {
        observe(.isRetrying, of: request)
    }

    /// Observes the event.
    public func requestDidFinish(_ request: Request) {
        observe(.didFinish, of: request)
    }

    /// Observes the event.
    public func requestDidResume(_ request: Request) {
        observe(.didResume, of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {
        observe(.didResumeTask(task), of: request)
    }

    /// Observes the event.
    public func requestDidSuspend(_ request: Request) {
        observe(.didSuspend, of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {
        observe(.didSuspendTask(task), of: request)
    }

    /// Observes the event.
    public func requestDidCancel(_ request: Request) {
        observe(.didCancel, of: request)
    }

    /// Observes the event.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {
        observe(.didCancelTask(task), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult
    ) {
        observe(.didValidate(response, result: result), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>
    ) {
        observe(.didParseResponse(response.result.map { $0 as any Sendable }), of: request)
    }

    /// Observes the event.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
    ) {
        observe(.didParseResponse(response.result.map { $0 as any Sendable }), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) {
        observe(.didCreateUploadable(uploadable), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) {
        observe(.didFailToCreateUploadable(error: error), of: request)
    }

    /// Observes the event.
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        observe(.didProvideInputStream(stream), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {
        observe(.didFinishDownloading(result), of: request)
    }

    /// Observes the event.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        observe(.didCreateDestinationURL(url), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        observe(.didValidate(response, result: result), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>
    ) {
        observe(.didParseResponse(response.result.map { $0 as any Sendable }), of: request)
    }

    /// Observes the event.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) {
        observe(.didParseResponse(response.result.map { $0 as any Sendable }), of: request)
    }

    /// Observes the event.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult
    ) {
        observe(.didValidate(response, result: result), of: request)
    }

    /// Observes the event.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
    ) {
        observe(.didParseStream(result.map { $0 as any Sendable }), of: request)
    }

    /// Observes the event.
    public func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    {
        observe(.sessionDidBecomeInvalid(error: error), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge
    ) {
        observe(.taskDidReceiveChallenge(task, challenge), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
        observe(
            .taskDidSendBodyData(
                task, totalBytesSent: totalBytesSent, expected: totalBytesExpectedToSend), of: nil)
    }

    /// Observes the event.
    public func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    {
        observe(.taskNeedsNewBodyStream(task), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?
    ) {
        observe(.taskDidComplete(task, error: error), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse
    ) {
        observe(.taskDidReceiveResponse(dataTask, response), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {
        observe(.taskDidReceiveData(dataTask, data), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse
    ) {
        observe(.taskWillCacheResponse(dataTask, proposedResponse), of: nil)
    }

    /// Observes the event.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        observe(
            .taskDidWriteData(
                downloadTask, totalBytesWritten: totalBytesWritten,
                expected: totalBytesExpectedToWrite), of: nil)
    }
}
