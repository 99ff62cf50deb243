import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A transfer that the session's cache has a say in: answered by it, validated, or carried and
/// stored.
///
/// To its request it is one transfer, whatever it takes.
final class CacheTask: TransferTask {
    let identifier = TransferIdentifier.next()
    let caching: CacheLayer
    let job: TransferJob
    let request: CacheRequest
    /// Decides whether the response is stored.
    let storing: (any CachedResponseHandler)?
    let start = Date()
    let startTime = ContinuousClock.now
    let course: Lock<State>
    let inner: InnerTransfer

    struct State: Sendable {
        /// Set to `nil` at the end, so that the end is reported once only.
        var handler: (any TransferHandler)?
        /// The stored response that is being validated, or may replace a failure.
        var stored: CacheEntry?
        /// Whether a 304 says that it holds.
        var isValidating = false
        /// Where the body of the transfer goes: as its job says, if the handler says nothing else.
        var delivery: BodyDelivery
        /// Where the response that the handler gets comes from.
        var source = ResponseSource.network
        /// The transfer's head and body are kept from the handler.
        var isWithheld = false
        /// What has passed of a body that goes to the handler piece by piece; `nil` when it is not
        /// to be stored, or too large.
        var passed: Data?
        /// The body so far that is not passed to the handler.
        var dropped = DroppedBody()
        /// Properties of the last transfer, for when it has ended.
        var proxy = ""
        var isServerVerified = true
    }

    static func start(
        _ job: TransferJob, _ caching: CacheLayer, handler: any TransferHandler
    ) -> any TransferTask {
        let task = CacheTask(job, caching, handler: handler)
        task.begin()
        return task
    }

    private init(_ job: TransferJob, _ caching: CacheLayer, handler: any TransferHandler) {
        var job = job
        if job.request.cachePolicy == .reloadIgnoringLocalAndRemoteCacheData {
            job.request.headers.addMissing(from: ["Cache-Control": "no-cache"])
        }
        self.job = job
        self.caching = caching
        storing = job.cachedResponseHandler ?? caching.handler
        request = CacheRequest(
            job.request, credential: job.credential, session: caching.session,
            verifier: caching.verifier(of: job), route: caching.route)
        course = Lock(State(handler: handler, delivery: job.delivery))
        inner = InnerTransfer(reportsProgress: job.reportsProgress)
    }

    // MARK: The handler's side

    var state: TransferState { inner.state }

    var currentRequest: HTTPRequest? { job.request }

    var proxy: String { inner.task?.proxy ?? course.withLock { $0.proxy } }

    var source: ResponseSource { course.withLock { $0.source } }

    var isServerVerified: Bool {
        inner.task?.isServerVerified ?? course.withLock { $0.isServerVerified }
    }

    func cancel() {
        if inner.cancel() { caching.queue.async { self.end(.cancelled) } }
    }

    func suspend() { inner.suspend() }

    func resume() { inner.resume() }

    func reportProgress() { inner.reportProgress() }

    // MARK: Deciding

    private func begin() {
        guard caching.cache.rules.maySearch(for: request) else { return decide(nil) }
        switch caching.cache.look(for: request) {
        case .found(let entry): decide(entry)
        case .missing: decide(nil)
        case .onDisk:
            DiskQueue.shared.async {
                self.decide(self.caching.cache.readDisk(for: self.request))
            }
        }
    }

    private func decide(_ entry: CacheEntry?) {
        let entry = entry.flatMap { canPlay($0) ? $0 : nil }
        switch caching.cache.rules.decide(request, entry, now: start) {
        case .respond(let entry): answer(with: entry)
        case .respondAndValidate(let entry):
            caching.validateLater(entry, job, request)
            answer(with: entry)
        case .validate(let entry): load(validating: entry)
        case .load(let fallback): load(fallback: fallback)
        case .refuse:
            let error = TransferError(
                code: .resourceUnavailable, host: job.request.url?.host(),
                reason: "the answer may come from the cache only, which has none for this request",
                advice: "use another cachePolicy")
            caching.queue.async { self.end(error) }
        }
    }

    /// What goes on a file that is there already does not come from the cache.
    private func canPlay(_ entry: CacheEntry) -> Bool {
        if case .file(_, let offset) = job.delivery { return offset == 0 }
        return true
    }

    private func answer(with entry: CacheEntry) {
        var response = entry.response
        // A response that was not validated says how old it is (RFC 9111 §5.1).
        let age = min(caching.cache.rules.age(of: entry, now: start), 1e9)
        response.headers.update(name: "Age", value: "\(Int(age))")
        var metrics = TransferMetrics()
        metrics.httpVersion = response.httpVersion
        play(response, entry.data, .localCache, metrics)
    }

    private func load(validating entry: CacheEntry) {
        var job = job
        job.request.headers.addMissing(from: caching.cache.rules.validators(of: entry))
        load(job, stored: entry, isValidating: true)
    }

    private func load(fallback: CacheEntry?) {
        load(job, stored: fallback, isValidating: false)
    }

    func load(_ job: TransferJob, stored: CacheEntry?, isValidating: Bool) {
        let isBegun = inner.begin { wishes in
            course.withLock { state in
                state.isWithheld = false
                state.dropped = DroppedBody()
                state.delivery = job.delivery
                state.passed = nil
                state.stored = stored
                state.isValidating = isValidating
            }
            var job = job
            job.reportsProgress = wishes.reportsProgress
            return caching.next.start(job, handler: self)
        }
        if !isBegun { end(.cancelled) }
    }

    /// Hands a stored response over.
    func play(
        _ response: HTTPResponse, _ data: Data, _ type: TransferMetrics.ResourceFetchType,
        _ measured: TransferMetrics
    ) {
        var metrics = measured
        metrics.resourceFetchType = type
        let body = job.request.method == .head || data.isEmpty ? nil : data
        let isBegun = inner.begin { wishes in
            course.withLock { state in
                state.source = .cache
                state.isWithheld = false
                state.passed = nil
            }
            var job = job
            job.reportsProgress = wishes.reportsProgress
            return PlayedTransfer.start(
                TransferResult(response: response, body: body, metrics: metrics), for: job,
                isSuspended: wishes.isSuspended, on: caching.queue, handler: self)
        }
        if !isBegun { end(.cancelled) }
    }

    // MARK: The end

    /// Ends without a transfer.
    func end(_ error: TransferError) {
        let turn = TransportTurn()
        finish(TransferResult(error: error), turn: turn)
        turn.end()
    }

    /// Reports the end, once.
    func finish(_ result: TransferResult, turn: TransportTurn) {
        let handler = course.withLock { state in
            defer {
                state.handler = nil
                state.stored = nil
                state.passed = nil
            }
            return state.handler
        }
        inner.complete()
        handler?.transferDidFinish(self, result: result, turn: turn)
    }
}
