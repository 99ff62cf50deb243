public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension CompositeEventMonitor {
    /// Passes the event on.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest) {
        perform { $0.request(request, didCreateInitialURLRequest: urlRequest) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    {
        perform { $0.request(request, didFailToCreateURLRequestWithError: error) }
    }

    /// Passes the event on.
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest
    ) {
        perform { $0.request(request, didAdaptInitialRequest: initialRequest, to: adaptedRequest) }
    }

    /// Passes the event on.
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError
    ) {
        perform { $0.request(request, didFailToAdaptURLRequest: initialRequest, withError: error) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {
        perform { $0.request(request, didCreateURLRequest: urlRequest) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didCreateTask task: any TransferTask) {
        perform { $0.request(request, didCreateTask: task) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
        perform { $0.request(request, didGatherMetrics: metrics) }
    }

    /// Passes the event on.
    public func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError
    ) {
        perform { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    /// Passes the event on.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {
        perform { $0.request(request, didCompleteTask: task, with: error) }
    }

    /// Passes the event on.
    public func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse
    ) {
        perform { $0.request(request, willRedirectTo: newRequest, after: response) }
    }

    /// Passes the event on.
    public func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {
        perform { $0.request(request, didComplete: exchange, of: task) }
    }

    /// Passes the event on.
    public func requestIsRetrying(_ request: Request) {
        perform { $0.requestIsRetrying(request) }
    }

    /// Passes the event on.
    public func requestDidFinish(_ request: Request) {
        perform { $0.requestDidFinish(request) }
    }

    /// Passes the event on.
    public func requestDidResume(_ request: Request) {
        perform { $0.requestDidResume(request) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {
        perform { $0.request(request, didResumeTask: task) }
    }

    /// Passes the event on.
    public func requestDidSuspend(_ request: Request) {
        perform { $0.requestDidSuspend(request) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {
        perform { $0.request(request, didSuspendTask: task) }
    }

    /// Passes the event on.
    public func requestDidCancel(_ request: Request) {
        perform { $0.requestDidCancel(request) }
    }

    /// Passes the event on.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {
        perform { $0.request(request, didCancelTask: task) }
    }

    /// Passes the event on.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult
    ) {
        perform {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, data: data,
                withResult: result)
        }
    }

    /// Passes the event on.
    public func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>
    ) {
        perform { $0.request(request, didParseResponse: response) }
    }

    /// Passes the event on.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
    ) {
        perform { $0.request(request, didParseResponse: response) }
    }

    /// Passes the event on.
    public func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) {
        perform { $0.request(request, didCreateUploadable: uploadable) }
    }

    /// Passes the event on.
    public func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) {
        perform { $0.request(request, didFailToCreateUploadableWithError: error) }
    }

    /// Passes the event on.
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        perform { $0.request(request, didProvideInputStream: stream) }
    }

    /// Passes the event on.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {
        perform { $0.request(request, didFinishDownloadingUsing: task, with: result) }
    }

    /// Passes the event on.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        perform { $0.request(request, didCreateDestinationURL: url) }
    }

    /// Passes the event on.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        perform {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL,
                withResult: result)
        }
    }

    /// Passes the event on.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>
    ) {
        perform { $0.request(request, didParseResponse: response) }
    }

    /// Passes the event on.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) {
        perform { $0.request(request, didParseResponse: response) }
    }

    /// Passes the event on.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult
    ) {
        perform {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, withResult: result)
        }
    }

    /// Passes the event on.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
    ) {
        perform { $0.request(request, didParseStream: result) }
    }
}
