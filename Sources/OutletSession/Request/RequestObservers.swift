import Dispatch
import OutletHTTP
import OutletTransport

/// Calls decided under a request's lock, to be made after unlocking.
typealias LaterCalls = [@Sendable () -> Void]

/// The observers of one request besides its response handlers; most requests have none.
final class RequestObservers: @unchecked Sendable {
    // because it is read and written under the lock of its request only.

    /// A user's closure and its queue.
    struct Observer<Value: Sendable>: Sendable {
        /// The session's callback queue if `nil`.
        let queue: DispatchQueue?
        let body: @Sendable (Value) -> Void
    }

    /// A closure that decides whether to read the body of a response.
    struct DispositionHandler: Sendable {
        /// The session's callback queue if `nil`.
        let queue: DispatchQueue?
        let body:
            @Sendable (HTTPResponse, @escaping @Sendable (Request.ResponseDisposition) -> Void) ->
                Void
    }

    /// The closure and the sequences that get one kind of value.
    struct Channel<Value: Sendable>: Sendable {
        var observer: Observer<Value>?
        var streams: [StreamBuffer<Value>] = []
    }

    var urlRequest = Channel<HTTPRequest>()
    var task = Channel<any TransferTask>()
    /// The session's monitors and the request's own, if it has any.
    var monitors: CompositeEventMonitor?
    /// Called once when the request is made or could not be made.
    var made: Observer<Request>?
    /// Get a value for each attempt when its request is made.
    var madeStreams: [MadeStream] = []
    /// Called with interim responses.
    var informational: Observer<HTTPResponse>?
    /// The interim responses of this attempt.
    var informationalResponses: [HTTPResponse] = []
    /// The trailer fields.
    var trailers: HTTPHeaders?
    /// The result of a transfer that is reported to monitors after its file was moved.
    var unreportedEnd: TransferResult?
    var response: DispositionHandler?
    var responseStreams: [StreamBuffer<HTTPResponse>] = []

    var uploadProgress = Channel<TransferProgress>()
    var downloadProgress = Channel<TransferProgress>()
    /// The byte counts of the current transfer.
    var counts = TransferCounts()
    /// Whether the transport has to count bytes.
    var wantsProgress = false
    /// Whether the current body is that of a redirect, and so not reported as progress.
    var isRedirectBody = false
    /// Delays completion handlers until progress closures have returned.
    var progressOrder = ProgressOrder()
    private(set) var uploaded = TransferProgress()
    private(set) var downloaded = TransferProgress()

    /// Returns the observers to call when the request was made.
    func takeMade() -> Made {
        defer { made = nil }
        return Made(urlRequest: urlRequest, observer: made, streams: madeStreams)
    }

    struct Made: Sendable {
        let urlRequest: Channel<HTTPRequest>
        let observer: Observer<Request>?
        let streams: [MadeStream]
    }

    /// A loop over values computed from requests that were made.
    struct MadeStream: Sendable {
        let yield: @Sendable (Request) -> Void
        let finish: @Sendable () -> Void
    }

    /// Resets the byte counts for a new transfer.
    ///
    /// - Returns: Whether the transport has to count bytes.
    func startCounting() -> Bool {
        counts = TransferCounts()
        return wantsProgress
    }

    /// Updates the progress with new byte counts.
    ///
    /// - Returns: The calls to make after unlocking.
    func note(_ counts: TransferCounts, at place: BodyPlace, of request: Request) -> LaterCalls {
        var calls: LaterCalls = []
        let up = TransferProgress(
            completedUnitCount: counts.sent, totalUnitCount: counts.expectedToSend)
        if counts.sent > 0, up != uploaded {
            uploaded = up
            calls.append(call(uploadProgress, up, of: request))
        }
        guard !isRedirectBody, counts.received > 0 else { return calls }
        let down = place.progress(counts.received, of: counts.expectedToReceive)
        if down != downloaded {
            downloaded = down
            calls.append(call(downloadProgress, down, of: request))
        }
        return calls
    }

    /// Returns a call that reports progress; completion handlers wait from now on until it has
    /// returned.
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

    /// Reports the last bytes of an upload at the end of the transfer, if they were not reported.
    ///
    /// - Returns: The calls to make after unlocking.
    func finish(_ metrics: TransferMetrics, of request: Request) -> LaterCalls {
        let sent = metrics.requestBodyBytes
        guard sent > 0, uploaded.completedUnitCount < sent, sent >= uploaded.totalUnitCount else {
            return []
        }
        return note(
            TransferCounts(sent: sent, expectedToSend: max(sent, uploaded.totalUnitCount)),
            at: BodyPlace(offset: 0, total: nil), of: request)
    }

    /// Sets the progress of a resumed download to its offset, in bytes.
    ///
    /// - Returns: The calls to make after unlocking.
    func resume(at offset: Int64, of total: Int64, _ request: Request) -> LaterCalls {
        let down = TransferProgress(completedUnitCount: offset, totalUnitCount: total)
        downloaded = down
        return [call(downloadProgress, down, of: request)]
    }

    /// Removes all sequences at the end of the request.
    ///
    /// - Returns: The calls that end them, to make after unlocking.
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

    /// User closures that are not called any more.
    struct Closures: Sendable {
        let urlRequest: Observer<HTTPRequest>?
        let task: Observer<any TransferTask>?
        let informational: Observer<HTTPResponse>?
        let response: DispositionHandler?
        let progress: [Observer<TransferProgress>?]
    }

    /// Moves all closures out, so that their captures, often the request itself, are released
    /// outside the lock.
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

    /// Resets the state for another attempt.
    func reset() {
        uploaded = TransferProgress()
        downloaded = TransferProgress()
        isRedirectBody = false
        informationalResponses = []
        trailers = nil
    }
}

extension SessionCore {
    /// Passes a value to the sequences and to the closure, on its queue.
    func notify<Value: Sendable>(_ channel: RequestObservers.Channel<Value>, _ value: Value) {
        for stream in channel.streams { stream.yield(value) }
        if let observer = channel.observer { notify(observer, value) }
    }

    /// Calls a closure with a value, on its queue.
    func notify<Value: Sendable>(
        _ observer: RequestObservers.Observer<Value>, _ value: Value
    ) {
        call(on: observer.queue) { observer.body(value) }
    }

    /// Runs a user's closure on a queue; at once if it names none and the session delivers inline.
    func call(on queue: DispatchQueue?, _ body: @escaping @Sendable () -> Void) {
        if queue == nil, deliversInline {
            body()
        } else {
            (queue ?? callbackQueue).async(execute: body)
        }
    }
}
