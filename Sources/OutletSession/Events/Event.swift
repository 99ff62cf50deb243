public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// An event of a request, a transfer or a session.
///
/// An ``EventMonitor`` gets all events with ``EventMonitor/observe(_:of:)``, and by default each
/// one with a method of its own. Events whose names begin with `task` are those of transfers; only
/// the session's monitors get them, not the monitors of single requests.
public enum Event: Sendable {
    /// The request was converted; adapters have not run yet.
    case didCreateInitialURLRequest(HTTPRequest)
    /// The request could not be converted, or is not valid.
    case didFailToCreateURLRequest(error: SessionError)
    /// The adapters have returned a request.
    case didAdaptInitialRequest(HTTPRequest, to: HTTPRequest)
    /// An adapter failed, or returned a request that is not valid.
    case didFailToAdaptURLRequest(HTTPRequest, error: SessionError)
    /// The request is ready to be sent.
    case didCreateURLRequest(HTTPRequest)
    /// A transfer was made for the request; with eager setup, a placeholder until `resume()`.
    case didCreateTask(any TransferTask)
    /// The metrics of an attempt are complete.
    case didGatherMetrics(TransferMetrics)
    /// A trust policy has refused the server; the transfer has not ended yet.
    case didFailTask(any TransferTask, error: SessionError)
    /// The transfer of an attempt has ended, and the validators have run.
    case didCompleteTask(any TransferTask, error: SessionError?)
    /// A redirect is about to be followed.
    case willRedirect(to: HTTPRequest, after: HTTPResponse)
    /// A transfer has ended: that of an attempt, or one that a redirect followed.
    ///
    /// Sums up the other events of the transfer, for logs and recordings.
    case didCompleteExchange(TransferExchange, any TransferTask)
    /// The request is retried.
    case isRetrying
    /// The last attempt has ended; the response is serialized next.
    ///
    /// Occurs again if a retrier retries because of a serialization failure.
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
    /// A validator has accepted or refused a response.
    case didValidate(Validation)
    /// A serializer has made a value of a response, or failed; also for handlers without one.
    case didParseResponse(ParsedResult)
    /// The body of an upload was made.
    case didCreateUploadable(UploadRequest.Uploadable)
    /// The body of an upload could not be made.
    case didFailToCreateUploadable(error: SessionError)
    /// The stream of an upload was rewound.
    case didProvideInputStream(any BodyStream)
    /// A download's file was moved to its destination, or could not be moved.
    case didFinishDownloading(any TransferTask, Result<URL, SessionError>)
    /// The destination of a download's file was determined.
    case didCreateDestinationURL(URL)
    /// A serializer has made a value of a piece of a stream, or failed.
    case didParseStream(ParsedResult)
    /// The session has ended and starts no more requests; not an event of a request.
    case sessionDidBecomeInvalid(any Transport, error: (any Error)?)
    /// A server or a proxy has sent an authentication challenge.
    case taskDidReceiveChallenge(any TransferTask, AuthenticationChallenge)
    /// Bytes of a request's body were sent.
    case taskDidSendBodyData(
        any TransferTask, bytesSent: Int64, totalBytesSent: Int64, expected: Int64)
    /// A body stream is about to be rewound and sent again.
    case taskNeedsNewBodyStream(any TransferTask)
    /// A redirect is about to be followed.
    case taskWillRedirect(any TransferTask, to: HTTPRequest, after: HTTPResponse)
    /// The metrics of a transfer are complete.
    case taskDidGatherMetrics(any TransferTask, TransferMetrics)
    /// The last transfer of an attempt has ended; validators have not run yet.
    case taskDidComplete(any TransferTask, error: (any Error)?)
    /// A transfer failed because there is no network; it is retried when there is one.
    case taskIsWaitingForConnectivity(any TransferTask)
    /// The head of a response has arrived.
    case taskDidReceiveResponse(any TransferTask, HTTPResponse)
    /// Bytes of a response's body have arrived: the whole body if it is collected, else a piece.
    case taskDidReceiveData(any TransferTask, Data)
    /// A response qualifies for the session's cache; a handler may have kept it out.
    case taskWillCacheResponse(any TransferTask, CachedResponse)
    /// A download resumes at an offset in bytes; `expected` is the total size, -1 if not known.
    case taskDidResumeAtOffset(any TransferTask, offset: Int64, expected: Int64)
    /// Bytes of a download were written; the expected total is -1 if not known.
    case taskDidWriteData(
        any TransferTask, bytesWritten: Int64, totalBytesWritten: Int64, expected: Int64)
    /// A download is complete, and its file was not moved yet.
    case taskDidFinishDownloading(any TransferTask, to: URL)
}

extension Event {
    /// The result of a validator, with the validated response.
    public struct Validation: Sendable {
        /// The request, as adapted; `nil` if it is not known.
        public let request: HTTPRequest?
        /// The response that was validated.
        public let response: HTTPResponse
        /// The body of a data request; `nil` for other requests, and without a body.
        public let data: Data?
        /// The file of a download; `nil` for other requests, and without a file.
        public let fileURL: URL?
        /// The result of the validator.
        public let result: Request.ValidationResult

        /// Makes a result, for example for tests of monitors.
        ///
        /// - Parameters:
        ///   - request: The request, as adapted; `nil` if it is not known.
        ///   - response: The response that was validated.
        ///   - data: The body of a data request; `nil` for other requests, and without a body.
        ///   - fileURL: The file of a download; `nil` for other requests, and without a file.
        ///   - result: The result of the validator.
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

    /// The value made of a response or of a piece of a stream, without its static type.
    public struct ParsedResult: Sendable {
        /// The value, or the error.
        public let result: Result<any Sendable, SessionError>
        /// Calls the monitor's method, with the static type of the value.
        let notify: @Sendable (any EventMonitor) -> Void

        init<Value: Sendable>(
            _ result: Result<Value, SessionError>,
            notify: @escaping @Sendable (any EventMonitor) -> Void
        ) {
            self.result = result.map { $0 as any Sendable }
            self.notify = notify
        }
    }
}
