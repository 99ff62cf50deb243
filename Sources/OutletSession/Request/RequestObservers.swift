import Dispatch
import OutletHTTP
import OutletTransport

/// What was decided under a request's lock, to be called once it is released.
typealias LaterCalls = [@Sendable () -> Void]

/// Who watches one request besides its response handlers; most requests have nobody.
final class RequestObservers: @unchecked Sendable {
    // because it is read and written under the lock of its request only.

    /// A closure of the user's, and where it wants to run.
    struct Observer<Value: Sendable>: Sendable {
        /// The session's callback queue when `nil`.
        let queue: DispatchQueue?
        let body: @Sendable (Value) -> Void
    }

    /// A closure that says whether a body is wanted.
    struct Judge: Sendable {
        /// The session's callback queue when `nil`.
        let queue: DispatchQueue?
        let body:
            @Sendable (HTTPResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) ->
                Void
    }

    /// All who want to know of one kind of thing.
    struct Channel<Value: Sendable>: Sendable {
        var observer: Observer<Value>?
        var streams: [StreamBuffer<Value>] = []
    }

    var urlRequest = Channel<HTTPRequest>()
    var task = Channel<any TransferTask>()
    /// The session's monitors and the request's own, if it has any.
    var monitors: CompositeEventMonitor?
    /// Told once that the request is made, or will not be.
    var made: Observer<Request>?
    /// Told at each attempt that its request is made.
    var madeStreams: [MadeStream] = []
    /// Told of interim heads.
    var informational: Observer<HTTPResponse>?
    /// The interim heads of this attempt.
    var informationalResponses: [HTTPResponse] = []
    /// What came behind the body.
    var trailers: HTTPHeaders?
    /// The end of a transfer whose file has still to find its place; told afterwards.
    var untoldEnd: TransferResult?
    var response: Judge?
    var responseStreams: [StreamBuffer<HTTPResponse>] = []

    var uploadProgress = Channel<TransferProgress>()
    var downloadProgress = Channel<TransferProgress>()
    /// What the transport has counted of the transfer under way.
    var counts = TransferCounts()
    /// Whether the transport has to count.
    var wantsProgress = false
    /// Whether the transfer under way only leads somewhere else: its body does not count.
    var isPassingBy = false
    /// How completions keep behind progress.
    var progressOrder = ProgressOrder()
    private(set) var uploaded = TransferProgress()
    private(set) var downloaded = TransferProgress()

    /// Who is to be told that the request was made.
    func takeMade() -> Made {
        defer { made = nil }
        return Made(urlRequest: urlRequest, observer: made, streams: madeStreams)
    }

    struct Made: Sendable {
        let urlRequest: Channel<HTTPRequest>
        let observer: Observer<Request>?
        let streams: [MadeStream]
    }

    /// A loop over what somebody makes of requests that are made.
    struct MadeStream: Sendable {
        let yield: @Sendable (Request) -> Void
        let finish: @Sendable () -> Void
    }

    /// A transfer begins.
    ///
    /// - Returns: Whether the transport has to count.
    func startCounting() -> Bool {
        counts = TransferCounts()
        return wantsProgress
    }

    /// Takes what the transport has counted.
    ///
    /// - Returns: What is to be called once the lock is released.
    func note(_ counts: TransferCounts, offset: Int64, of request: Request) -> LaterCalls {
        var calls: LaterCalls = []
        let up = TransferProgress(
            completedUnitCount: counts.sent, totalUnitCount: counts.expectedToSend)
        if counts.sent > 0, up != uploaded {
            uploaded = up
            calls.append(call(uploadProgress, up, of: request))
        }
        guard !isPassingBy, counts.received > 0 else { return calls }
        let expected = counts.expectedToReceive
        let down = TransferProgress(
            completedUnitCount: offset + counts.received,
            totalUnitCount: expected < 0 ? -1 : offset + expected)
        if down != downloaded {
            downloaded = down
            calls.append(call(downloadProgress, down, of: request))
        }
        return calls
    }

    /// Tells progress, once the lock is released; the call counts from now on until it has returned.
    private func call(
        _ channel: Channel<TransferProgress>, _ progress: TransferProgress, of request: Request
    ) -> @Sendable () -> Void {
        if channel.observer != nil { progressOrder.queue() }
        return {
            for stream in channel.streams { stream.yield(progress) }
            guard let observer = channel.observer else { return }
            request.core.call(on: observer.queue) {
                guard request.beginProgressCall() else { return }
                observer.body(progress)
                request.endProgressCall()
            }
        }
    }

    /// The transfer is over: the last bytes of an upload may not have been reported.
    ///
    /// - Returns: What is to be called once the lock is released.
    func finish(_ metrics: TransferMetrics, of request: Request) -> LaterCalls {
        let sent = metrics.requestBodyBytes
        guard sent > 0, uploaded.completedUnitCount < sent, sent >= uploaded.totalUnitCount else {
            return []
        }
        return note(
            TransferCounts(sent: sent, expectedToSend: max(sent, uploaded.totalUnitCount)),
            offset: 0, of: request)
    }

    /// Sets the download off from where an earlier one had come to.
    ///
    /// - Returns: What is to be called once the lock is released.
    func resume(at offset: Int64, of total: Int64, _ request: Request) -> LaterCalls {
        let down = TransferProgress(completedUnitCount: offset, totalUnitCount: total)
        downloaded = down
        return [call(downloadProgress, down, of: request)]
    }

    /// The request is over: loops end.
    ///
    /// - Returns: What is to be called once the lock is released.
    func endStreams() -> [@Sendable () -> Void] {
        defer {
            urlRequest.streams = []
            madeStreams = []
            task.streams = []
            responseStreams = []
            uploadProgress.streams = []
            downloadProgress.streams = []
        }
        return urlRequest.streams.map { $0.finish } + madeStreams.map { $0.finish }
            + task.streams.map { $0.finish }
            + responseStreams.map { $0.finish } + uploadProgress.streams.map { $0.finish }
            + downloadProgress.streams.map { $0.finish }
    }

    /// Closures of the user's that are called no more.
    struct Closures: Sendable {
        let urlRequest: Observer<HTTPRequest>?
        let task: Observer<any TransferTask>?
        let informational: Observer<HTTPResponse>?
        let response: Judge?
        let progress: [Observer<TransferProgress>?]
    }

    /// Lets go of all closures; of what they hold, often the request itself, outside the lock.
    func takeClosures() -> Closures {
        defer {
            urlRequest.observer = nil
            task.observer = nil
            informational = nil
            response = nil
            uploadProgress.observer = nil
            downloadProgress.observer = nil
        }
        return Closures(
            urlRequest: urlRequest.observer, task: task.observer, informational: informational,
            response: response, progress: [uploadProgress.observer, downloadProgress.observer])
    }

    deinit {
        for end in endStreams() { end() }
    }

    /// Forgets what the last attempt brought.
    func reset() {
        uploaded = TransferProgress()
        downloaded = TransferProgress()
        isPassingBy = false
        informationalResponses = []
        trailers = nil
    }
}

extension SessionCore {
    /// Tells all who want to know, each where it wants to run.
    func tell<Value: Sendable>(_ channel: RequestObservers.Channel<Value>, _ value: Value) {
        for stream in channel.streams { stream.yield(value) }
        if let observer = channel.observer { tell(observer, value) }
    }

    /// Calls a closure where it wants to run.
    func tell<Value: Sendable>(
        _ observer: RequestObservers.Observer<Value>, _ value: Value
    ) {
        call(on: observer.queue) { observer.body(value) }
    }

    /// Runs a closure of the user's on a queue, or at once where nobody needs one.
    func call(on queue: DispatchQueue?, _ body: @escaping @Sendable () -> Void) {
        if queue == nil, deliversInline {
            body()
        } else {
            (queue ?? callbackQueue).async(execute: body)
        }
    }
}
