public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension EventMonitor {
    /// The session's callback queue.
    public var queue: DispatchQueue { .sessionCallbacks }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request before adapters.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The reason.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - initialRequest: The request before adapters.
    ///   - adaptedRequest: The request after all adapters.
    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - initialRequest: The request before adapters.
    ///   - error: The reason.
    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The adapted request.
    public func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didCreateTask task: any TransferTask) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - metrics: The metrics.
    public func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: The error that ends it.
    public func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - newRequest: The request of the next hop.
    ///   - response: The response that redirects.
    public func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: What was sent and received, with metrics.
    ///   - task: The transfer.
    public func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {}
    /// Does nothing.
    ///
    /// - Parameter request: The request.
    public func requestIsRetrying(_ request: Request) {}
    /// Does nothing.
    ///
    /// - Parameter request: The request.
    public func requestDidFinish(_ request: Request) {}
    /// Does nothing.
    ///
    /// - Parameter request: The request.
    public func requestDidResume(_ request: Request) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {}
    /// Does nothing.
    ///
    /// - Parameter request: The request.
    public func requestDidSuspend(_ request: Request) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {}
    /// Does nothing.
    ///
    /// - Parameter request: The request.
    public func requestDidCancel(_ request: Request) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - data: The body; `nil` without one.
    ///   - result: The result of the validator.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    public func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - uploadable: The body to upload.
    public func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - error: The reason.
    public func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - stream: The stream of the body.
    public func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - result: The downloaded file, or the error.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - url: The file to which the download is moved.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - fileURL: The downloaded file; `nil` without one.
    ///   - result: The result of the validator.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    public func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response with its result.
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The request that was sent; `nil` if none was made.
    ///   - response: The head of the response.
    ///   - result: The result of the validator.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - result: The value, or the serializer's error.
    public func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
    ) {}
}
