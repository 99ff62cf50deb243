import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Event {
    /// The name of the event's case, without its values.
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
        case .didCompleteExchange: "didCompleteExchange"
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
        case .taskWillRedirect: "taskWillRedirect"
        case .taskDidGatherMetrics: "taskDidGatherMetrics"
        case .taskDidComplete: "taskDidComplete"
        case .taskIsWaitingForConnectivity: "taskIsWaitingForConnectivity"
        case .taskDidReceiveResponse: "taskDidReceiveResponse"
        case .taskDidReceiveData: "taskDidReceiveData"
        case .taskWillCacheResponse: "taskWillCacheResponse"
        case .taskDidResumeAtOffset: "taskDidResumeAtOffset"
        case .taskDidWriteData: "taskDidWriteData"
        case .taskDidFinishDownloading: "taskDidFinishDownloading"
        }
    }
}

extension Event: CustomStringConvertible {
    /// The event's name and a summary of its values, without secrets.
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
        case .taskWillRedirect(let task, let request, let response):
            Self.text(task, "\(response) to \(request)")
        case .didValidate(let validation):
            switch validation.result {
            case .success: "\(validation.response)"
            case .failure(let error):
                "\(validation.response): \(Redaction.standard.text("\(error)"))"
            }
        case .didParseResponse(let parsed), .didParseStream(let parsed): Self.text(parsed.result)
        case .didFinishDownloading(let task, let result): Self.text(task, Self.text(result))
        case .didCompleteExchange(_, let task): Self.text(task, nil)
        case .taskDidGatherMetrics(let task, let metrics):
            Self.text(task, "\(Double(metrics.total) / 1_000_000) s")
        case .taskDidResumeAtOffset(let task, let offset, let expected):
            Self.text(task, "from byte \(offset) of \(expected)")
        case .taskDidFinishDownloading(let task, let url): Self.text(task, url.path)
        case .didCreateDestinationURL(let url): url.path
        case .sessionDidBecomeInvalid(_, let error):
            error.map { Redaction.standard.text("\($0)") }
        case .taskDidReceiveChallenge(let task, let challenge):
            Self.text(
                task,
                Redaction.standard.quote(
                    challenge.protectionSpace.realm ?? challenge.protectionSpace.host))
        case .taskDidSendBodyData(let task, _, let sent, let expected):
            Self.text(task, "\(sent) of \(expected) bytes")
        case .taskDidReceiveResponse(let task, let response): Self.text(task, "\(response)")
        case .taskDidReceiveData(let task, let data): Self.text(task, "\(data.count) bytes")
        case .taskDidWriteData(let task, _, let written, let expected):
            Self.text(task, "\(written) of \(expected) bytes")
        case .didCreateTask(let task), .didResumeTask(let task), .didSuspendTask(let task),
            .didCancelTask(let task), .taskNeedsNewBodyStream(let task),
            .taskIsWaitingForConnectivity(let task), .taskWillCacheResponse(let task, _):
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

    /// Describes a value by its type only, because its content may be secret.
    private static func text<Value>(_ result: Result<Value, SessionError>) -> String {
        switch result {
        case .success(let value): (value as? URL)?.path ?? "\(type(of: value))"
        case .failure(let error): "\(error)"
        }
    }
}
