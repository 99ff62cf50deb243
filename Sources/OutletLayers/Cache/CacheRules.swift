import FoundationEssentials
import OutletHTTP

/// The decisions of a private cache about requests (RFC 9111, RFC 5861).
struct CacheRules: Sendable {
    /// Whether a response without an explicit lifetime is fresh for a tenth of the time since its
    /// last change, at most a day (RFC 9111 §4.2.2).
    var usesHeuristics = false

    /// What is done with a request.
    enum Decision: Sendable, Equatable {
        /// Respond with the stored response.
        case respond(CacheEntry)
        /// Respond with the stored response, then revalidate it.
        case respondAndValidate(CacheEntry)
        /// Revalidate the stored response.
        case validate(CacheEntry)
        /// Send the request; if it fails, the stored response may be used.
        case load(fallback: CacheEntry?)
        /// Fail, because the request must not be sent and no usable response is stored.
        case refuse
    }

    /// Whether a stored response may be used for a request at all.
    func maySearch(for request: CacheRequest) -> Bool {
        guard request.key != nil, request.isRead else { return false }
        switch request.policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return false
        // A conditional request has to be answered by the server itself (RFC 9111 §4.3.2).
        default:
            return !request.fields.hasConditions
                && (!request.fields.hasRange || asksForPart(request))
        }
    }

    func decide(_ request: CacheRequest, _ entry: CacheEntry?, now: Date) -> Decision {
        let decision = decideWhole(request, entry, now: now)
        if case .load(nil) = decision { return decision }
        return request.fields.hasRange ? decideAboutPart(request, decision) : decision
    }

    private func decideWhole(_ request: CacheRequest, _ entry: CacheEntry?, now: Date) -> Decision {
        let mustNotLoad =
            request.policy == .returnCacheDataDontLoad || request.directives.onlyIfCached
        guard let entry, maySearch(for: request), !request.directives.noStore else {
            return mustNotLoad ? .refuse : .load(fallback: nil)
        }
        switch request.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return .respond(entry)
        case .reloadRevalidatingCacheData: return ask(entry)
        default: break
        }
        guard entry.hasCacheFields || request.directives != CacheControl() else {
            return .load(fallback: nil)
        }
        let directives = entry.directives
        guard !directives.noCache, !request.directives.noCache else {
            return mustNotLoad ? .refuse : ask(entry)
        }
        let staleness = staleness(of: entry, for: request.directives, now: now)
        if staleness <= 0 { return .respond(entry) }
        guard !directives.mustRevalidate else { return mustNotLoad ? .refuse : ask(entry) }
        if let allowed = request.directives.maxStale, staleness <= Double(allowed) {
            return .respond(entry)
        }
        if mustNotLoad { return .refuse }
        if let allowed = directives.staleWhileRevalidate, staleness <= Double(allowed),
            request.directives.maxAge == nil, request.directives.minFresh == nil
        {
            return .respondAndValidate(entry)
        }
        return ask(entry)
    }

    /// Revalidates a stored response, or loads it anew if it has nothing to validate it by.
    func ask(_ entry: CacheEntry) -> Decision {
        validators(of: entry).isEmpty ? .load(fallback: entry) : .validate(entry)
    }

    // MARK: Freshness

    /// How long a response has been too old for a request, in seconds; 0 or less if it is not.
    func staleness(of entry: CacheEntry, for wish: CacheControl, now: Date) -> Double {
        // The clock was set back, so the age is unknown.
        guard now.timeIntervalSince(entry.responseTime) > -1 else { return .infinity }
        let age = age(of: entry, now: now)
        var lifetime = lifetime(of: entry) - Double(wish.minFresh ?? 0)
        if let maxAge = wish.maxAge { lifetime = min(lifetime, Double(maxAge)) }
        // "Fresh" means that the age is below the lifetime (§4.2).
        return age < lifetime ? 0 : max(age - lifetime, .leastNonzeroMagnitude)
    }

    /// The age of a response, in seconds (RFC 9111 §4.2.3).
    func age(of entry: CacheEntry, now: Date) -> Double {
        let apparent = max(0, entry.responseTime.timeIntervalSince(entry.date))
        let delay = max(0, entry.responseTime.timeIntervalSince(entry.requestTime))
        let resident = max(0, now.timeIntervalSince(entry.responseTime))
        return max(apparent, Double(entry.receivedAge) + delay) + resident
    }

    /// The freshness lifetime of a response, in seconds (RFC 9111 §4.2.1, §4.2.2).
    func lifetime(of entry: CacheEntry) -> Double {
        if let maxAge = entry.directives.maxAge { return Double(maxAge) }
        let headers = entry.response.headers
        if let expires = headers.values(for: "Expires").first {
            // An invalid date, such as "0", counts as a time in the past (§5.3).
            return HTTPDate.parse(expires)?.timeIntervalSince(entry.date) ?? 0
        }
        guard usesHeuristics, Self.isCacheable(entry.response.statusCode),
            let changed = headers.value(for: "Last-Modified").flatMap(HTTPDate.parse)
        else { return 0 }
        return min(max(0, entry.date.timeIntervalSince(changed) / 10), 86_400)
    }

    /// Whether a stale response may be used instead of an error (RFC 5861 §4).
    func mayReplaceError(_ entry: CacheEntry, for request: CacheRequest, now: Date) -> Bool {
        let directives = entry.directives
        guard !directives.mustRevalidate, !directives.noCache, !request.directives.noCache,
            request.policy == .useProtocolCachePolicy,
            let allowed = request.directives.staleIfError ?? directives.staleIfError
        else { return false }
        return staleness(of: entry, for: CacheControl(), now: now) <= Double(allowed)
    }

    /// Whether a status code counts as an error for `stale-if-error` (RFC 5861 §4).
    static func isFailure(_ statusCode: Int) -> Bool { [500, 502, 503, 504].contains(statusCode) }

    /// Whether a status code may be stored without explicit permission (RFC 9110 §15.1); partial
    /// responses (206) are left out.
    static func isCacheable(_ statusCode: Int) -> Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(statusCode)
    }
}
