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
    let start: Date
    /// The cache's number of removals when the request began.
    let removals: Int
    let stopwatch = Stopwatch()
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
    }

    init(
        _ job: TransferJob, _ request: CacheRequest, _ start: Date, _ caching: CacheLayer,
        handler: any TransferHandler
    ) {
        self.job = job
        self.request = request
        self.start = start
        self.caching = caching
        removals = caching.cache.removals
        storing = job.cachedResponseHandler ?? caching.handler
        course = Lock(State(handler: handler, delivery: job.delivery))
        inner = InnerTransfer(job.request, reportsProgress: job.reportsProgress)
    }

    // MARK: State and control

    var state: TransferState { inner.state }

    var currentRequest: HTTPRequest? { inner.currentRequest }

    var proxy: String { inner.proxy }

    var source: ResponseSource { course.withLock { $0.source } }

    var isServerVerified: Bool { inner.isServerVerified }

    func cancel() {
        if inner.cancel() { caching.queue.async { self.end(.cancelled) } }
    }

    func suspend() { inner.suspend() }

    func resume() { inner.resume() }

    func reportProgress() { inner.reportProgress() }

    // MARK: Deciding

    /// Looks for a stored response on disk, then decides.
    func readDisk() {
        DiskQueue.shared.async { [self] in
            let entry = caching.cache.readDisk(for: request)
            carryOut(caching.decide(job, request, entry, start))
        }
    }

    func carryOut(_ decision: CacheRules.Decision) {
        switch decision {
        case .respond(let entry): play(caching.answer(with: entry, to: request, start))
        case .respondAndValidate(let entry):
            caching.validateLater(entry, job, request)
            play(caching.answer(with: entry, to: request, start))
        case .validate(let entry): load(validating: entry)
        case .load(let fallback): load(fallback: fallback)
        case .refuse:
            let error = TransferError(
                code: .resourceUnavailable, host: job.request.url?.host(),
                reason:
                    "the response may come from the cache only, which has none for this request",
                advice: "use another cachePolicy")
            caching.queue.async { self.end(error) }
        }
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
    func play(_ result: KnownResult) {
        let isBegun = inner.begin { wishes in
            course.withLock { state in
                state.source = .cache
                state.isWithheld = false
                state.passed = nil
            }
            var job = job
            job.reportsProgress = wishes.reportsProgress
            return PlayedTransfer.start(
                result, for: job, isSuspended: wishes.isSuspended, on: caching.queue, handler: self)
        }
        if !isBegun { end(.cancelled) }
    }

    /// Delivers a stored response with the measurements of the transfer that led to it.
    ///
    /// - Parameters:
    ///   - entry: The response.
    ///   - type: Where it comes from.
    ///   - measured: The measurements.
    ///   - now: The current time for the field `Age`; `nil` if the response was validated.
    func play(
        _ entry: CacheEntry, _ type: TransferMetrics.ResourceFetchType, _ measured: TransferMetrics,
        agedAt now: Date? = nil
    ) {
        var metrics = measured
        metrics.resourceFetchType = type
        var response = entry.response
        if let now {
            response.headers.update(name: "Age", value: "\(caching.age(of: entry, now))")
        }
        play(
            KnownResult(
                TransferResult(
                    response: response, body: entry.body(for: request), metrics: metrics)))
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
