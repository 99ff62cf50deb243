import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Storing, updating and invalidating entries.
extension CacheRules {
    /// The entry that a response makes; `nil` when it is not to be stored (RFC 9111 §3).
    func entry(
        for response: HTTPResponse, data: Data, to request: CacheRequest, requestTime: Date,
        responseTime: Date
    ) -> CacheEntry? {
        let saysSomething = CacheEntry.saysSomething(response)
        let directives = saysSomething ? CacheControl(response.headers) : CacheControl()
        guard request.method == .get, request.key != nil, !request.directives.noStore,
            !directives.noStore, response.statusCode >= 200,
            // Parts are not stored, nor is what answers a condition of the user's own.
            response.statusCode != 206, response.statusCode != 304,
            // A challenge is for who asks: stored, it would meet each answer to it.
            response.statusCode != 401, response.statusCode != 407,
            request.headers.values(for: "Range").isEmpty,
            let selectors = request.selectors(for: response, isPublic: directives.isPublic)
        else { return nil }
        let isExplicit =
            directives.maxAge != nil || directives.isPublic
            || saysSomething && !response.headers.values(for: "Expires").isEmpty
        guard Self.isCacheable(response.statusCode) || isExplicit else { return nil }
        return CacheEntry(
            response: response, data: data, requestTime: requestTime, responseTime: responseTime,
            selectors: selectors, userInfo: nil, storagePolicy: .allowed)
    }

    /// The fields that ask whether a stored response still holds (§4.3.1); none that could not be
    /// sent.
    func validators(of entry: CacheEntry) -> HTTPHeaders {
        var fields = HTTPHeaders()
        if let tag = entry.response.headers.values(for: "ETag").first, isReturnable(tag) {
            fields.append(name: "If-None-Match", value: tag)
        }
        if let changed = entry.response.headers.values(for: "Last-Modified").first,
            isReturnable(changed)
        {
            fields.append(name: "If-Modified-Since", value: changed)
        }
        return fields
    }

    /// The entry brought up to date by a 304 (§4.3.4); `nil` when that is about another version.
    func freshened(
        _ entry: CacheEntry, by response: HTTPResponse, requestTime: Date, responseTime: Date
    ) -> CacheEntry? {
        if let new = response.headers.values(for: "ETag").first,
            let old = entry.response.headers.values(for: "ETag").first,
            !Self.isSame(new, old)
        {
            return nil
        }
        var fresh = entry
        fresh.requestTime = requestTime
        fresh.responseTime = responseTime
        var seen: Set<String> = []
        for field in response.headers where !Self.describesTheMessage(field.name) {
            if seen.insert(field.name.lowercasedASCII).inserted {
                fresh.response.headers.remove(name: field.name)
            }
            fresh.response.headers.append(field)
        }
        // An age of the past is no one's any more.
        if response.headers.values(for: "Age").isEmpty {
            fresh.response.headers.remove(name: "Age")
        }
        return fresh
    }

    /// What a server says about a stored response by answering a `HEAD` (§4.3.5).
    enum HeadVerdict: Equatable {
        /// It is still that response; here brought up to date.
        case same(CacheEntry)
        /// It is another one by now.
        case other
        /// The response does not say.
        case unknown
    }

    /// Compares what identifies a response: tag, time of change, length.
    func compare(
        _ entry: CacheEntry, withHead response: HTTPResponse, requestTime: Date, responseTime: Date
    ) -> HeadVerdict {
        guard response.statusCode == 200, entry.response.statusCode == 200 else { return .unknown }
        let (new, old) = (response.headers, entry.response.headers)
        var isKnown = false
        // The length is that of the coded body.
        let isSameCoding =
            new.values(for: "Content-Encoding") == old.values(for: "Content-Encoding")
        for name in ["ETag", "Last-Modified"] + (isSameCoding ? ["Content-Length"] : []) {
            guard let new = new.values(for: name).first, let old = old.values(for: name).first
            else { continue }
            guard Self.isSame(new, old) else { return .other }
            isKnown = true
        }
        let fresh = freshened(
            entry, by: response, requestTime: requestTime, responseTime: responseTime)
        guard isKnown, let fresh else { return .unknown }
        return .same(fresh)
    }

    /// Weak comparison (RFC 9110 §8.8.3.2); values that are not known byte by byte differ.
    private static func isSame(_ new: String, _ old: String) -> Bool {
        isReturnable(new) && opaque(new).hasSameBytes(as: opaque(old))
    }

    private static func opaque(_ tag: String) -> Substring {
        tag.droppingBytes(tag.startsWithBytes(of: "W/") ? 2 : 0)
    }

    /// Fields of the message or the connection, which are not stored (§3.1, §3.2).
    private static func describesTheMessage(_ name: String) -> Bool {
        [
            "content-length", "content-encoding", "content-range", "content-type",
            "transfer-encoding", "connection", "keep-alive", "proxy-authenticate",
            "proxy-authentication-info", "proxy-connection", "trailer", "upgrade", "te",
        ].contains(name.lowercasedASCII)
    }

    /// Whether a response takes the place of what was stored, and says that it is not to be stored
    /// itself (§5.2.2.5): the next request would get an outdated response.
    func forgets(by response: HTTPResponse, to request: CacheRequest) -> Bool {
        request.method == .get && response.statusCode == 200
            && CacheEntry.saysSomething(response) && CacheControl(response.headers).noStore
    }

    /// The keys of the entries that a response invalidates (§4.4).
    ///
    /// Other addresses that the answer names count only within its origin.
    func invalidated(by response: HTTPResponse, to request: HTTPRequest) -> [String] {
        let safe: [HTTPMethod] = [.get, .head, .options, .trace]
        guard !safe.contains(request.method), (200..<400).contains(response.statusCode),
            let url = request.url, let key = CacheRequest.key(of: request)
        else { return [] }
        let others = ["Location", "Content-Location"].flatMap { response.headers.values(for: $0) }
            .compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            .filter { Origin.isSame($0, url) }
            .compactMap { other in
                var named = request
                named.url = other
                return CacheRequest.key(of: named)
            }
        return [key] + others
    }
}
