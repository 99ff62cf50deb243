public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension EventMonitor {
    /// The session's callback queue.
    public var queue: DispatchQueue { .sessionCallbacks }

    /// Takes no notice.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest) {}
    /// Takes no notice.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    {}
    /// Takes no notice.
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest
    ) {}
    /// Takes no notice.
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError
    ) {}
    /// Takes no notice.
    public func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {}
    /// Takes no notice.
    public func request(_ request: Request, didCreateTask task: any TransferTask) {}
    /// Takes no notice.
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
    /// Takes no notice.
    public func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError
    ) {}
    /// Takes no notice.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {}
    /// Takes no notice.
    public func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse
    ) {}
    /// Takes no notice.
    public func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {}
    /// Takes no notice.
    public func requestIsRetrying(_ request: Request) {}
    /// Takes no notice.
    public func requestDidFinish(_ request: Request) {}
    /// Takes no notice.
    public func requestDidResume(_ request: Request) {}
    /// Takes no notice.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {}
    /// Takes no notice.
    public func requestDidSuspend(_ request: Request) {}
    /// Takes no notice.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {}
    /// Takes no notice.
    public func requestDidCancel(_ request: Request) {}
    /// Takes no notice.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {}
    /// Takes no notice.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult
    ) {}
    /// Takes no notice.
    public func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>
    ) {}
    /// Takes no notice.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
    ) {}
    /// Takes no notice.
    public func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) {}
    /// Takes no notice.
    public func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) {}
    /// Takes no notice.
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {}
    /// Takes no notice.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {}
    /// Takes no notice.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    /// Takes no notice.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    /// Takes no notice.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>
    ) {}
    /// Takes no notice.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) {}
    /// Takes no notice.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult
    ) {}
    /// Takes no notice.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
    ) {}
}
