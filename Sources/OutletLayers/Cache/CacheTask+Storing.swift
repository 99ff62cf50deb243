import Dispatch
import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletTransport

/// Stores complete responses.
extension CacheTask {
    /// Stores a response, whether its body is in memory or in a file, and reports the end.
    ///
    /// - Parameter facts: Those of the response.
    func keep(
        _ response: HTTPResponse, _ facts: CacheEntry.Facts, _ result: TransferResult,
        _ now: Date, _ turn: TransportTurn
    ) {
        let (delivery, passed) = course.withLock { ($0.delivery, $0.passed) }
        switch delivery {
        case .collect: store(result.body ?? Data(), response, facts, result, now, turn)
        case .file(let path, 0) where mayStoreFile(response, facts, now):
            // The transport's thread must not wait for a disk.
            DiskQueue.shared.async { [self] in
                let turn = TransportTurn()
                let data = Data(contentOf: path, limit: caching.cache.bodyLimit)
                store(data, response, facts, result, now, turn)
                turn.end()
            }
        case .chunks, .file: store(passed, response, facts, result, now, turn)
        }
    }

    /// Whether to read a downloaded file, because the response can be stored and is small enough.
    ///
    /// Responses without fields for caching are stored only if the request's cache policy uses
    /// them.
    private func mayStoreFile(
        _ response: HTTPResponse, _ facts: CacheEntry.Facts, _ now: Date
    ) -> Bool {
        let answersAgain =
            facts.hasCacheFields || request.policy == .returnCacheDataElseLoad
            || request.policy == .returnCacheDataDontLoad
        return answersAgain && mayStore(response, facts, now)
    }

    /// Whether a response can be stored and its body is small enough, as far as its length is
    /// known.
    func mayStore(_ response: HTTPResponse, _ facts: CacheEntry.Facts, _ now: Date) -> Bool {
        response.expectedContentLength <= Int64(caching.cache.bodyLimit)
            && entry(for: response, facts, Data(), now) != nil
    }

    private func entry(
        for response: HTTPResponse, _ facts: CacheEntry.Facts, _ data: Data, _ now: Date
    ) -> CacheEntry? {
        caching.cache.rules.entry(
            for: response, facts, data: data, to: request, requestTime: start, responseTime: now)
    }

    private func store(
        _ data: Data?, _ response: HTTPResponse, _ facts: CacheEntry.Facts,
        _ result: TransferResult, _ now: Date, _ turn: TransportTurn
    ) {
        guard let key = request.key else { return finish(result, turn: turn) }
        guard let data, data.count <= caching.cache.bodyLimit,
            let entry = entry(for: response, facts, data, now)
        else {
            if caching.cache.rules.outdates(response, to: request) { caching.cache.remove(key) }
            return finish(result, turn: turn)
        }
        var result = result
        result.proposedForCache = CachedResponse(entry)
        let ended = result
        let isDone = caching.store(entry, for: key, of: self, asking: storing, since: removals) {
            [self] in
            let turn = TransportTurn()
            finish(ended, turn: turn)
            turn.end()
        }
        if isDone { finish(ended, turn: turn) }
    }
}
