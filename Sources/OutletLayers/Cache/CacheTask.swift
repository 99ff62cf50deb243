import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A transfer through the cache layer: answered from the cache, revalidated, or sent and stored.
///
/// Its handler sees one transfer, even if several are made.
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
        /// Set to `nil` at the end, so that the end is reported only once.
        var handler: (any TransferHandler)?
        /// The stored response that is being revalidated, or may replace an error.
        var stored: CacheEntry?
        /// Whether the request is conditional, so that a 304 means that `stored` is still valid.
        var isValidating = false
        /// Where the body goes: set by the job, or by the handler when it receives the head.
        var delivery: BodyDelivery
        /// The source of the response that the handler receives.
        var source = ResponseSource.network
        /// Whether head and body of the transfer are not passed to the handler.
        var isWithheld = false
        /// A copy of the body that was passed to the handler in chunks.
        ///
        /// `nil` if it is not to be stored, or is too large.
        var passed: Data?
        /// The withheld body, which is not delivered.
        var dropped = DroppedBody()
        /// Properties of the last transfer, valid after its end.
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

    // MARK: State and control

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

    /// Whether a stored response can be delivered; it cannot be appended to an existing file.
    private func canPlay(_ entry: CacheEntry) -> Bool {
        if case .file(_, let offset) = job.delivery { return offset == 0 }
        return true
    }

    private func answer(with entry: CacheEntry) {
        var response = entry.response
        // A response that was not revalidated has an `Age` field (RFC 9111 §5.1).
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

    /// Delivers a stored response to the handler.
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

    // MARK: Ending

    /// Ends the task without a transfer.
    func end(_ error: TransferError) {
        let turn = TransportTurn()
        finish(TransferResult(error: error), turn: turn)
        turn.end()
    }

    /// Reports the end to the handler, at most once.
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
