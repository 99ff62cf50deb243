import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A stored response on its way to the handler, piece by piece.
extension CacheTask {
    /// A stored response on its way to the handler.
    struct Playing: Sendable {
        let entry: CacheEntry
        var metrics: TransferMetrics
        var delivery: BodyDelivery
        var isHeadTold = false
        var offset = 0
        /// Whether the handler waits for ``TransferTask/resume()``.
        var isPaused = false
    }

    /// Begins to hand a response over.
    func play(
        _ entry: CacheEntry, _ type: TransferMetrics.ResourceFetchType, _ measured: TransferMetrics
    ) {
        var metrics = measured
        metrics.resourceFetchType = type
        var entry = entry
        if job.request.method == .head { entry.data = Data() }
        course.withLock { state in
            state.source = .cache
            state.playing = Playing(entry: entry, metrics: metrics, delivery: job.delivery)
        }
        caching.queue.async { self.play() }
    }

    /// Hands the stored response over, as far as the handler lets it.
    ///
    /// Thread: the cache's queue.
    func play() {
        let turn = TransportTurn()
        defer { turn.end() }
        while let (handler, playing) = next() {
            guard playing.isHeadTold else {
                course.withLock { $0.playing?.isHeadTold = true }
                follow(handler.transfer(self, didReceive: playing.entry.response, turn: turn))
                continue
            }
            guard case .chunks = playing.delivery, playing.offset < playing.entry.data.count else {
                finish(playing, handler, turn)
                return
            }
            let piece = playing.entry.data.dropFirst(playing.offset).prefix(64 << 10)
            let offset = playing.offset + piece.count
            course.withLock { $0.playing?.offset = offset }
            follow(piece.withUnsafeBytes { handler.transfer(self, didReceive: $0, turn: turn) })
            tellProgress(to: offset, of: playing, handler, turn)
        }
    }

    /// Tells how much was handed over, if somebody wants to know: as of what comes over a network.
    private func tellProgress(
        to offset: Int, of playing: Playing, _ handler: any TransferHandler, _ turn: TransportTurn
    ) {
        guard offset > 0, course.withLock({ $0.reportsProgress && $0.handler != nil }) else {
            return
        }
        let counts = TransferCounts(
            received: Int64(offset), expectedToReceive: Int64(playing.entry.data.count))
        handler.transfer(self, didProgress: counts, turn: turn)
    }

    private func next() -> (any TransferHandler, Playing)? {
        course.withLock { state in
            guard !state.isSuspended, !state.isCancelled, let playing = state.playing,
                !playing.isPaused, let handler = state.handler
            else { return nil }
            return (handler, playing)
        }
    }

    private func follow(_ decision: TransferDecision) {
        switch decision {
        case .proceed: break
        case .deliver(let delivery): course.withLock { $0.playing?.delivery = delivery }
        case .pause: course.withLock { $0.playing?.isPaused = true }
        case .cancel: end(.cancelled)
        }
    }

    private func finish(
        _ playing: Playing, _ handler: any TransferHandler, _ turn: TransportTurn
    ) {
        var result = TransferResult(response: playing.entry.response, metrics: playing.metrics)
        switch playing.delivery {
        case .collect where playing.entry.data.isEmpty: break
        // Whoever wants a file writes it when the request is finished, which is no place to wait.
        case .collect, .file:
            result.body = playing.entry.data
            tellProgress(to: playing.entry.data.count, of: playing, handler, turn)
        case .chunks: break
        }
        if result.metrics.resourceFetchType == .localCache {
            result.metrics.total = Int64((ContinuousClock.now - startTime) / .microseconds(1))
        }
        finish(result, turn: turn)
    }
}
