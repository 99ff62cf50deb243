public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension EventMonitor {
    /// The session's callback queue.
    public var queue: DispatchQueue { .sessionCallbacks }

    /// Does nothing.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    {}
    /// Does nothing.
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest
    ) {}
    /// Does nothing.
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError
    ) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateTask task: any TransferTask) {}
    /// Does nothing.
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
    /// Does nothing.
    public func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError
    ) {}
    /// Does nothing.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {}
    /// Does nothing.
    public func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse
    ) {}
    /// Does nothing.
    public func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {}
    /// Does nothing.
    public func requestIsRetrying(_ request: Request) {}
    /// Does nothing.
    public func requestDidFinish(_ request: Request) {}
    /// Does nothing.
    public func requestDidResume(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {}
    /// Does nothing.
    public func requestDidSuspend(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {}
    /// Does nothing.
    public func requestDidCancel(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {}
    /// Does nothing.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>
    ) {}
    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
    ) {}
    /// Does nothing.
    public func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) {}
    /// Does nothing.
    public func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {}
    /// Does nothing.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>
    ) {}
    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) {}
    /// Does nothing.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
    ) {}
}
