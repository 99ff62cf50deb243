public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// What happens to requests and transfers, in one type; see ``EventMonitor`` for each event.
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
    /// The request is tried again.
    case isRetrying
    /// The request is over, all serializers included.
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
    case didValidate(HTTPResponse, result: Request.ValidationResult)
    /// A response without a serializer was handed over.
    case didParseResponse(Result<any Sendable, SessionError>)
    /// The body of an upload was made.
    case didCreateUploadable(UploadRequest.Uploadable)
    /// The body of an upload could not be made.
    case didFailToCreateUploadable(error: SessionError)
    /// The stream of an upload was taken back to its start.
    case didProvideInputStream(any BodyStream)
    /// A download is over: its file is in its place, or is not.
    case didFinishDownloading(Result<URL, SessionError>)
    /// It is known where a download's file goes.
    case didCreateDestinationURL(URL)
    /// A serializer has made a value of a stream's chunk, or failed.
    case didParseStream(Result<any Sendable, SessionError>)
    /// The session lets no more requests start.
    case sessionDidBecomeInvalid(error: (any Error)?)
    /// A server or a proxy asks for credentials.
    case taskDidReceiveChallenge(any TransferTask, AuthenticationChallenge)
    /// Bytes of a request's body were sent.
    case taskDidSendBodyData(any TransferTask, totalBytesSent: Int64, expected: Int64)
    /// A body stream is taken back to its start, to be sent again.
    case taskNeedsNewBodyStream(any TransferTask)
    /// A transfer ended, before any validator.
    case taskDidComplete(any TransferTask, error: (any Error)?)
    /// The head of a response has come.
    case taskDidReceiveResponse(any TransferTask, HTTPResponse)
    /// Bytes of a response's body have come: all at once where they are collected, else chunk by chunk.
    case taskDidReceiveData(any TransferTask, Data)
    /// A response is about to be stored in the session's cache, if nobody objects.
    case taskWillCacheResponse(any TransferTask, CachedResponse)
    /// Bytes of a download were written.
    case taskDidWriteData(any TransferTask, totalBytesWritten: Int64, expected: Int64)
}

extension Event {
    /// The event's name, without what it carries.
    public var name: String {
        switch self {
        case .didCreateInitialURLRequest: "didCreateInitialURLRequest"
        case .didFailToCreateURLRequest: "didFailToCreateURLRequest"
        case .didAdaptInitialRequest: "didAdaptInitialRequest"
        case .didFailToAdaptURLRequest: "didFailToAdaptURLRequest"
        case .didCreateURLRequest: "didCreateURLRequest"
        case .didCreateTask: "didCreateTask"
        case .didGatherMetrics: "didGatherMetrics"
        case .didFailTask: "didFailTask"
        case .didCompleteTask: "didCompleteTask"
        case .willRedirect: "willRedirect"
        case .isRetrying: "isRetrying"
        case .didFinish: "didFinish"
        case .didResume: "didResume"
        case .didResumeTask: "didResumeTask"
        case .didSuspend: "didSuspend"
        case .didSuspendTask: "didSuspendTask"
        case .didCancel: "didCancel"
        case .didCancelTask: "didCancelTask"
        case .didValidate: "didValidate"
        case .didParseResponse: "didParseResponse"
        case .didCreateUploadable: "didCreateUploadable"
        case .didFailToCreateUploadable: "didFailToCreateUploadable"
        case .didProvideInputStream: "didProvideInputStream"
        case .didFinishDownloading: "didFinishDownloading"
        case .didCreateDestinationURL: "didCreateDestinationURL"
        case .didParseStream: "didParseStream"
        case .sessionDidBecomeInvalid: "sessionDidBecomeInvalid"
        case .taskDidReceiveChallenge: "taskDidReceiveChallenge"
        case .taskDidSendBodyData: "taskDidSendBodyData"
        case .taskNeedsNewBodyStream: "taskNeedsNewBodyStream"
        case .taskDidComplete: "taskDidComplete"
        case .taskDidReceiveResponse: "taskDidReceiveResponse"
        case .taskDidReceiveData: "taskDidReceiveData"
        case .taskWillCacheResponse: "taskWillCacheResponse"
        case .taskDidWriteData: "taskDidWriteData"
        }
    }
}

extension Event: CustomStringConvertible {
    /// The event's name, and what it carries in a few words, secrets left out.
    public var description: String { detail.map { "\(name): \($0)" } ?? name }

    private var detail: String? {
        switch self {
        case .didCreateInitialURLRequest(let request), .didCreateURLRequest(let request):
            "\(request)"
        case .didAdaptInitialRequest(let initial, let adapted): "\(initial) to \(adapted)"
        case .didFailToCreateURLRequest(let error), .didFailToCreateUploadable(let error):
            "\(error)"
        case .didFailToAdaptURLRequest(let request, let error): "\(request): \(error)"
        case .didGatherMetrics(let metrics): "\(Double(metrics.total) / 1_000_000) s"
        case .didFailTask(let task, let error): Self.text(task, "\(error)")
        case .didCompleteTask(let task, let error): Self.text(task, error.map { "\($0)" })
        case .taskDidComplete(let task, let error):
            Self.text(task, error.map { Redaction.standard.text("\($0)") })
        case .willRedirect(let request, let response): "\(response) to \(request)"
        case .didValidate(let response, let result):
            switch result {
            case .success: "\(response)"
            case .failure(let error): "\(response): \(Redaction.standard.text("\(error)"))"
            }
        case .didParseResponse(let result), .didParseStream(let result): Self.text(result)
        case .didFinishDownloading(let result): Self.text(result)
        case .didCreateDestinationURL(let url): url.path
        case .sessionDidBecomeInvalid(let error):
            error.map { Redaction.standard.text("\($0)") }
        case .taskDidReceiveChallenge(let task, let challenge):
            Self.text(task, "\(challenge.protectionSpace.realm ?? challenge.protectionSpace.host)")
        case .taskDidSendBodyData(let task, let sent, let expected):
            Self.text(task, "\(sent) of \(expected) bytes")
        case .taskDidReceiveResponse(let task, let response): Self.text(task, "\(response)")
        case .taskDidReceiveData(let task, let data): Self.text(task, "\(data.count) bytes")
        case .taskDidWriteData(let task, let written, let expected):
            Self.text(task, "\(written) of \(expected) bytes")
        case .didCreateTask(let task), .didResumeTask(let task), .didSuspendTask(let task),
            .didCancelTask(let task), .taskNeedsNewBodyStream(let task),
            .taskWillCacheResponse(let task, _):
            Self.text(task, nil)
        case .isRetrying, .didFinish, .didResume, .didSuspend, .didCancel, .didCreateUploadable,
            .didProvideInputStream:
            nil
        }
    }

    private static func text(_ task: any TransferTask, _ more: String?) -> String? {
        let request = task.currentRequest.map { "\($0)" }
        guard let more else { return request }
        return request.map { "\($0): \(more)" } ?? more
    }

    /// Of a value its type alone: what it holds may be secret.
    private static func text<Value>(_ result: Result<Value, SessionError>) -> String {
        switch result {
        case .success(let value): (value as? URL)?.path ?? "\(type(of: value))"
        case .failure(let error): "\(error)"
        }
    }
}
