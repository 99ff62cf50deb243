import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Processes the network's response, for the handler and the stored entry.
extension CacheTask: TransferHandler {
    func transferIsPending(_ inner: any TransferTask) {
        self.inner.control(inner)
        course.withLock { $0.handler }?.transferIsPending(self)
    }

    func transfer(_ inner: any TransferTask, didRefuseServer refusal: any Error) {
        guard let handler = course.withLock({ $0.handler }) else { return }
        handler.transfer(self, didRefuseServer: refusal)
    }

    func transfer(
        _ inner: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {
        guard let handler = course.withLock({ $0.handler }) else { return }
        handler.transfer(self, didUse: head, turn: turn)
    }

    func transfer(
        _ inner: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        let now = Date()
        // The transport may call this before `start` has returned the task.
        self.inner.note(inner)
        let (handler, isWithheld, isPlayed) = course.withLock { state in
            let isPlayed = state.source == .cache
            guard head.isFinal, !isPlayed, let stored = state.stored else {
                return (state.handler, false, isPlayed)
            }
            let isConfirmed = state.isValidating && head.statusCode == 304
            let isReplaced =
                CacheRules.isFailure(head.statusCode)
                && caching.cache.rules.mayReplaceError(stored, for: request, now: now)
            state.isWithheld = isConfirmed || isReplaced
            return (state.handler, state.isWithheld, isPlayed)
        }
        if isWithheld { handler?.transfer(self, didUse: head, turn: turn) }
        // A withheld body is dropped in `transfer(_:didReceive:turn:)`.
        guard !isWithheld, let handler else { return .deliver(.chunks) }
        let decision = handler.transfer(self, didReceive: head, turn: turn)
        let delivery = course.withLock { state in
            if case .deliver(let delivery) = decision { state.delivery = delivery }
            return state.delivery
        }
        if head.isFinal, !isPlayed, delivery == .chunks, head.mimeType != "text/event-stream",
            mayKeep(head, from: inner), mayStore(head, CacheEntry.Facts(head), now)
        {
            course.withLock { $0.passed = Data() }
        }
        return decision
    }

    func transfer(
        _ inner: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        let (handler, dropping) = course.withLock { state in
            // Reads the count only: a copy of the data in a variable would make `append` copy all
            // bytes each time.
            if let count = state.passed?.count {
                let fits = count + chunk.count <= caching.cache.bodyLimit
                if fits { state.passed?.append(contentsOf: chunk) } else { state.passed = nil }
            }
            guard state.isWithheld else { return (state.handler, TransferDecision.proceed) }
            return (nil, state.dropped.drop(chunk))
        }
        return handler?.transfer(self, didReceive: chunk, turn: turn) ?? dropping
    }

    func transfer(
        _ inner: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        let handler = course.withLock { $0.isWithheld ? nil : $0.handler }
        handler?.transfer(self, didProgress: progress, turn: turn)
    }

    func transferDidFinish(
        _ inner: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        let now = Date()
        let mayKeep = result.response.map { self.mayKeep($0, from: inner) } ?? false
        self.inner.end(inner)
        let (stored, isWithheld, source) = course.withLock { state in
            (state.stored, state.isWithheld, state.source)
        }
        guard source == .network else {
            var result = result
            if result.metrics.resourceFetchType == .localCache {
                result.metrics.total = Int64(stopwatch.seconds * 1e6)
            }
            return finish(result, turn: turn)
        }
        if let stored, let response = result.response, isWithheld, response.statusCode == 304,
            result.error == nil
        {
            confirm(stored, response, result, now, mayKeep: mayKeep)
            return
        }
        if let response = result.response {
            // Also if the body has failed, because the server has carried out the request.
            for key in caching.cache.rules.invalidated(by: response, to: job.request) {
                caching.cache.remove(key)
            }
        }
        // The stored response replaces a withheld one even if it is now too old: the handler has
        // not received the head.
        let isReplaced = isWithheld && CacheRules.isFailure(result.response?.statusCode ?? 0)
        if let stored,
            isReplaced
                || isOutage(result)
                    && caching.cache.rules.mayReplaceError(stored, for: request, now: now)
        {
            play(stored, .localCache, result.metrics, agedAt: now)
            return
        }
        // The body of a withheld response was dropped, so it cannot be delivered.
        guard let response = result.response, result.error == nil, !isWithheld else {
            finish(result, turn: turn)
            return
        }
        guard mayKeep else {
            finish(result, turn: turn)
            return
        }
        if request.method == .head { learn(fromHead: response, now) }
        keep(response, CacheEntry.Facts(response), result, now, turn)
    }

    private func mayKeep(_ response: HTTPResponse, from inner: any TransferTask) -> Bool {
        caching.mayKeep(response, to: request, from: inner, url: job.request.url)
    }

    /// Updates a stored `GET` response with the response to a `HEAD`, or removes it (RFC 9111
    /// §4.3.5).
    private func learn(fromHead response: HTTPResponse, _ now: Date) {
        guard let key = request.key, response.statusCode == 200 else { return }
        let (caching, request, start, removals) = (caching, request, start, removals)
        @Sendable func learn(_ entry: CacheEntry) {
            let verdict = caching.cache.rules.compare(
                entry, withHead: response, requestTime: start, responseTime: now)
            switch verdict {
            case .same(let fresh):
                caching.cache.renew(
                    entry, as: fresh, by: response, to: request, since: removals)
            case .other: caching.cache.remove(key)
            case .unknown: break
            }
        }
        switch caching.cache.look(for: request) {
        case .found(let entry): learn(entry)
        case .missing: break
        case .onDisk:
            DiskQueue.shared.async {
                if let entry = caching.cache.readDisk(for: request) { learn(entry) }
            }
        }
    }

    /// Whether there is no response at all because of an error that a stored response may replace.
    private func isOutage(_ result: TransferResult) -> Bool {
        guard let error = result.error, result.response == nil else { return false }
        return error.code != .cancelled && error.code != .transportClosed
    }

    /// Delivers the revalidated response; sends the request again if the 304 is about another
    /// version.
    private func confirm(
        _ stored: CacheEntry, _ response: HTTPResponse, _ result: TransferResult, _ now: Date,
        mayKeep: Bool
    ) {
        let fresh = caching.cache.rules.freshened(
            stored, by: response, requestTime: start, responseTime: now)
        guard let fresh else {
            caching.queue.async { self.load(self.job, stored: nil, isValidating: false) }
            return
        }
        if mayKeep {
            caching.cache.renew(stored, as: fresh, by: response, to: request, since: removals)
        }
        play(fresh, .validatedCache, result.metrics)
    }
}
