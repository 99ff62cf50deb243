import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Storing, updating and invalidating entries.
extension CacheRules {
    /// Returns the entry to store for a response; `nil` if it must not be stored (RFC 9111 §3).
    ///
    /// - Parameter facts: Those of the response.
    func entry(
        for response: HTTPResponse, _ facts: CacheEntry.Facts, data: Data,
        to request: CacheRequest, requestTime: Date, responseTime: Date
    ) -> CacheEntry? {
        let directives = facts.directives
        guard request.method == .get, request.key != nil, !request.directives.noStore,
            !directives.noStore, response.statusCode >= 200,
            // Partial responses are not stored, nor are responses to the user's own conditional
            // requests.
            response.statusCode != 206, response.statusCode != 304,
            // A stored challenge would be returned again for each request that answers it.
            response.statusCode != 401, response.statusCode != 407,
            request.headers.values(for: "Range").isEmpty,
            let selectors = request.selectors(for: response, isPublic: directives.isPublic)
        else { return nil }
        let isExplicit =
            directives.maxAge != nil || directives.isPublic
            || facts.hasCacheFields && !response.headers.values(for: "Expires").isEmpty
        guard Self.isCacheable(response.statusCode) || isExplicit else { return nil }
        var stored = response
        for name in Self.connectionNames(in: response.headers) {
            stored.headers.remove(name: name)
        }
        return CacheEntry(
            response: stored, data: data, requestTime: requestTime, responseTime: responseTime,
            selectors: selectors, userInfo: nil, storagePolicy: .allowed, facts: facts)
    }

    /// Fields of the connection, and of the proxy that forwarded the response (RFC 9111 §3.1).
    private static let connection: FieldNames = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info",
        "Proxy-Authorization", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    ]

    /// Fields that a server must not name in `Connection` (RFC 9110 §7.6.1), and that stay because
    /// the cache depends on them.
    private static let needed: FieldNames = [
        "Age", "Cache-Control", "Content-Encoding", "Date", "ETag", "Expires", "Last-Modified",
        "Pragma", "Vary",
    ]

    /// Returns the names, in lower case, of the fields that are not stored because they belong to
    /// the connection; empty for most responses.
    private static func connectionNames(in headers: HTTPHeaders) -> Set<String> {
        guard headers.containsAny(of: connection) else { return [] }
        var names = Set(headers.map(\.name).filter(connection.contains).map(\.lowercasedASCII))
        for value in headers.values(for: "Connection") {
            names.formUnion(value.listItems().map(\.lowercasedASCII))
        }
        return names.filter { !needed.contains($0) }
    }

    /// Returns the fields that revalidate a stored response (RFC 9111 §4.3.1), without values that
    /// cannot be sent.
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

    /// Returns the entry updated with a 304 (RFC 9111 §4.3.4); `nil` if the 304 is about another
    /// version.
    func freshened(
        _ entry: CacheEntry, by response: HTTPResponse, requestTime: Date, responseTime: Date
    ) -> CacheEntry? {
        for name in ["ETag", "Last-Modified"] {
            guard let new = response.headers.values(for: name).first,
                let old = entry.response.headers.values(for: name).first
            else { continue }
            // The same tag identifies the version. It may be weak on one side only, because some
            // servers weaken the tags of compressed responses, but not those of a 304.
            if Self.isSame(new, old) { break }
            return nil
        }
        var fresh = entry
        fresh.requestTime = requestTime
        fresh.responseTime = responseTime
        var seen: Set<String> = []
        let connection = Self.connectionNames(in: response.headers)
        for field in response.headers {
            let name = field.name.lowercasedASCII
            guard !Self.content.contains(name), !connection.contains(name) else { continue }
            if seen.insert(name).inserted {
                fresh.response.headers.remove(name: field.name)
            }
            fresh.response.headers.append(field)
        }
        // The stored age and date are not those of this response. Without a date it counts as
        // generated when it was received (RFC 9110 §6.6.1).
        for name in ["Age", "Date"] where response.headers.values(for: name).isEmpty {
            fresh.response.headers.remove(name: name)
        }
        return fresh
    }

    /// What the response to a `HEAD` shows about a stored response (RFC 9111 §4.3.5).
    enum HeadVerdict: Equatable {
        /// The stored response is unchanged; the entry is updated.
        case same(CacheEntry)
        /// The stored response has changed.
        case other
        /// The response to the `HEAD` does not show whether it has changed.
        case unknown
    }

    /// Compares what identifies a response: entity tag, time of last change, length.
    func compare(
        _ entry: CacheEntry, withHead response: HTTPResponse, requestTime: Date, responseTime: Date
    ) -> HeadVerdict {
        guard response.statusCode == 200, entry.response.statusCode == 200 else { return .unknown }
        let (new, old) = (response.headers, entry.response.headers)
        var isKnown = false
        // `Content-Length` is the length of the encoded body.
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

    /// Compares two values by weak comparison (RFC 9110 §8.8.3.2); values that cannot be sent back
    /// unchanged count as different.
    private static func isSame(_ new: String, _ old: String) -> Bool {
        isReturnable(new) && opaque(new).hasSameBytes(as: opaque(old))
    }

    private static func opaque(_ tag: String) -> Substring {
        tag.droppingBytes(tag.startsWithBytes(of: "W/") ? 2 : 0)
    }

    /// Fields of the content, which a 304 does not update (RFC 9111 §3.2).
    private static let content: FieldNames = [
        "Content-Encoding", "Content-Length", "Content-Range", "Content-Type", "Trailer",
    ]

    /// Whether a response outdates the stored ones of its URL even if it is not stored itself, as
    /// with `no-store`, with `Vary: *`, and above the maximum size.
    ///
    /// The stored ones must then be removed: the cache would go back to them.
    func outdates(_ response: HTTPResponse, to request: CacheRequest) -> Bool {
        request.method == .get && Self.isCacheable(response.statusCode)
    }

    /// Returns the keys of the entries that a response invalidates (RFC 9111 §4.4).
    ///
    /// URLs in `Location` and `Content-Location` count only if they have the request's origin.
    func invalidated(by response: HTTPResponse, to request: HTTPRequest) -> [String] {
        guard !request.method.isSafe, (200..<400).contains(response.statusCode),
            let url = request.url, let key = CacheRequest.key(of: request)
        else { return [] }
        let others = ["Location", "Content-Location"].flatMap { response.headers.values(for: $0) }
            .compactMap { URL(escaping: $0, relativeTo: url)?.absoluteURL }
            .filter { Origin.isSame($0, url) }
            .compactMap { other in
                var named = request
                named.url = other
                return CacheRequest.key(of: named)
            }
        return [key] + others
    }
}
