public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// What happens to requests and transfers, in one type.
///
/// A monitor takes events whole, by ``EventMonitor/observe(_:of:)``, or one by one, by its other
/// methods. Names that begin with `task` are events of transfers, which the monitors of single
/// requests are not told.
public enum Event: Sendable {
    /// The first form of the request was made, before any adapter.
    case didCreateInitialURLRequest(HTTPRequest)
    /// The request could not be made.
    case didFailToCreateURLRequest(error: SessionError)
    /// The adapters have changed the request.
    case didAdaptInitialRequest(HTTPRequest, to: HTTPRequest)
    /// An adapter failed.
    case didFailToAdaptURLRequest(HTTPRequest, error: SessionError)
    /// The final form of the request was made.
    case didCreateURLRequest(HTTPRequest)
    /// A transfer was made for the request.
    case didCreateTask(any TransferTask)
    /// An attempt was measured.
    case didGatherMetrics(TransferMetrics)
    /// A transfer failed for a reason of the session's own, before its end.
    case didFailTask(any TransferTask, error: SessionError)
    /// A transfer ended, well or not; validators have judged it.
    case didCompleteTask(any TransferTask, error: SessionError?)
    /// A redirect is about to be followed.
    case willRedirect(to: HTTPRequest, after: HTTPResponse)
    /// A transfer is over, that of an attempt or one that a redirect has ended.
    ///
    /// It sums up what other events have told of the transfer, for those who keep records.
    case didCompleteExchange(TransferExchange, any TransferTask)
    /// The request is tried again.
    case isRetrying
    /// No attempt will follow: the responses are serialized next, and told one by one.
    ///
    /// It comes again if a retrier tries again for the sake of a serializer.
    case didFinish
    /// The request was resumed.
    case didResume
    /// A transfer was resumed.
    case didResumeTask(any TransferTask)
    /// The request was suspended.
    case didSuspend
    /// A transfer was suspended.
    case didSuspendTask(any TransferTask)
    /// The request was cancelled.
    case didCancel
    /// A transfer was cancelled.
    case didCancelTask(any TransferTask)
    /// A validator has judged a response.
    case didValidate(Validation)
    /// A response was handed over as it is, or a serializer has made a value of it, or failed.
    case didParseResponse(ParsedResult)
    /// The body of an upload was made.
    case didCreateUploadable(UploadRequest.Uploadable)
    /// The body of an upload could not be made.
    case didFailToCreateUploadable(error: SessionError)
    /// The stream of an upload was taken back to its start.
    case didProvideInputStream(any BodyStream)
    /// A download is over: its file is in its place, or is not.
    case didFinishDownloading(any TransferTask, Result<URL, SessionError>)
    /// It is known where a download's file goes.
    case didCreateDestinationURL(URL)
    /// A serializer has made a value of a stream's chunk, or failed.
    case didParseStream(ParsedResult)
    /// The session lets no more requests start; of no request.
    case sessionDidBecomeInvalid(any Transport, error: (any Error)?)
    /// A server or a proxy asks for credentials.
    case taskDidReceiveChallenge(any TransferTask, AuthenticationChallenge)
    /// Bytes of a request's body were sent.
    case taskDidSendBodyData(
        any TransferTask, bytesSent: Int64, totalBytesSent: Int64, expected: Int64)
    /// A body stream is taken back to its start, to be sent again.
    case taskNeedsNewBodyStream(any TransferTask)
    /// A redirect is about to be followed.
    case taskWillRedirect(any TransferTask, to: HTTPRequest, after: HTTPResponse)
    /// A transfer was measured.
    case taskDidGatherMetrics(any TransferTask, TransferMetrics)
    /// A transfer ended, before any validator.
    case taskDidComplete(any TransferTask, error: (any Error)?)
    /// A transfer failed for want of a network, and is tried again when there is one.
    case taskIsWaitingForConnectivity(any TransferTask)
    /// The head of a response has come.
    case taskDidReceiveResponse(any TransferTask, HTTPResponse)
    /// Bytes of a response's body have come: all at once where they are collected, else chunk by chunk.
    case taskDidReceiveData(any TransferTask, Data)
    /// A response is about to be stored in the session's cache, if nobody objects.
    case taskWillCacheResponse(any TransferTask, CachedResponse)
    /// A download goes on behind what is there already; `expected` is -1 if not known.
    case taskDidResumeAtOffset(any TransferTask, offset: Int64, expected: Int64)
    /// Bytes of a download were written.
    case taskDidWriteData(
        any TransferTask, bytesWritten: Int64, totalBytesWritten: Int64, expected: Int64)
    /// A download is complete, and still lies in its temporary place.
    case taskDidFinishDownloading(any TransferTask, to: URL)
}

extension Event {
    /// A validator's verdict, and what it is about.
    public struct Validation: Sendable {
        /// What was sent; `nil` where it is not known.
        public let request: HTTPRequest?
        /// What was judged.
        public let response: HTTPResponse
        /// The body, of a data request.
        public let data: Data?
        /// The file, of a download.
        public let fileURL: URL?
        /// The verdict.
        public let result: Request.ValidationResult

        /// Makes a verdict's record.
        public init(
            request: HTTPRequest?, response: HTTPResponse, data: Data? = nil, fileURL: URL? = nil,
            result: Request.ValidationResult
        ) {
            self.request = request
            self.response = response
            self.data = data
            self.fileURL = fileURL
            self.result = result
        }
    }

    /// What was made of a response or a chunk, whatever its type.
    public struct ParsedResult: Sendable {
        /// The value, or why there is none.
        public let result: Result<any Sendable, SessionError>
        /// Calls a monitor's method with the value's own type.
        let tell: @Sendable (any EventMonitor) -> Void

        init<Value: Sendable>(
            _ result: Result<Value, SessionError>,
            tell: @escaping @Sendable (any EventMonitor) -> Void
        ) {
            self.result = result.map { $0 as any Sendable }
            self.tell = tell
        }
    }
}
