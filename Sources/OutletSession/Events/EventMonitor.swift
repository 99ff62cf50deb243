public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Watches what requests do; changes nothing.
///
/// All events go through ``observe(_:of:)``, which calls the event's own method unless a monitor
/// has its own. Those methods have empty defaults. Those of the request come in the order of its
/// life; those of ``TransferEventMonitor`` tell of transfers.
///
/// Thread: ``queue``, one event after the other.
public protocol EventMonitor: TransferEventMonitor {
    /// Where the events are delivered; `DispatchQueue.sessionCallbacks` by default.
    var queue: DispatchQueue { get }

    /// Something has happened.
    ///
    /// - Parameters:
    ///   - event: What has happened.
    ///   - request: Whom it happened to; `nil` for the end of a session.
    func observe(_ event: Event, of request: Request?)

    /// The first form of the request was made, before any adapter.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: HTTPRequest)
    /// The request could not be made.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: SessionError)
    /// The adapters have changed the request.
    func request(
        _ request: Request, didAdaptInitialRequest initialRequest: HTTPRequest,
        to adaptedRequest: HTTPRequest)
    /// An adapter failed.
    func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: HTTPRequest,
        withError error: SessionError)
    /// The final form of the request was made.
    func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest)
    /// A transfer was made for the request.
    func request(_ request: Request, didCreateTask task: any TransferTask)
    /// An attempt was measured.
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics)
    /// A transfer failed for a reason of the session's own, before its end.
    func request(
        _ request: Request, didFailTask task: any TransferTask, earlyWithError error: SessionError)
    /// A transfer ended, well or not; validators have judged it.
    func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?)
    /// A redirect is about to be followed.
    func request(
        _ request: Request, willRedirectTo newRequest: HTTPRequest, after response: HTTPResponse)
    /// A transfer is over, that of an attempt or one that a redirect has ended.
    ///
    /// It sums up what other events have told of the transfer, for those who keep records.
    func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask)
    /// The request is tried again.
    func requestIsRetrying(_ request: Request)
    /// No attempt will follow: the responses are serialized next, and told one by one.
    ///
    /// It comes again if a retrier tries again for the sake of a serializer.
    func requestDidFinish(_ request: Request)
    /// The request was resumed.
    func requestDidResume(_ request: Request)
    /// A transfer was resumed.
    func request(_ request: Request, didResumeTask task: any TransferTask)
    /// The request was suspended.
    func requestDidSuspend(_ request: Request)
    /// A transfer was suspended.
    func request(_ request: Request, didSuspendTask task: any TransferTask)
    /// The request was cancelled.
    func requestDidCancel(_ request: Request)
    /// A transfer was cancelled.
    func request(_ request: Request, didCancelTask task: any TransferTask)
    /// A validator has judged a response.
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: HTTPRequest?, response: HTTPResponse,
        data: Data?, withResult result: Request.ValidationResult)
    /// A response without a serializer was handed over.
    func request(
        _ request: DataRequest, didParseResponse response: DataResponse<Data?, SessionError>)
    /// A serializer has made a value, or failed.
    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, SessionError>)
    /// The body of an upload was made.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The body of an upload could not be made.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError)
    /// The stream of an upload was taken back to its start.
    func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream)
    /// A download is over: its file is in its place, or is not.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>)
    /// It is known where a download's file goes.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// A validator has judged a download.
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult)
    /// A download without a serializer was handed over.
    func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, SessionError>)
    /// A serializer has made a value of a download, or failed.
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    )
    /// A validator has judged a stream's head.
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, withResult result: Request.ValidationResult)
    /// A serializer has made a value of a stream's chunk, or failed.
    func request<Value: Sendable>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>)
}
