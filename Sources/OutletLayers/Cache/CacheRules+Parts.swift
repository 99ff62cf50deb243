import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Answers range requests from complete stored responses (RFC 9111 §4, RFC 9110 §14).
///
/// Partial responses are not stored. A range is answered only from a stored response that may be
/// used without revalidation; all other range requests are sent to the server.
extension CacheRules {
    /// Whether the request asks for a single byte range and is not conditional.
    func asksForPart(_ request: CacheRequest) -> Bool {
        request.method == .get && !request.fields.hasConditions
            && ByteRange(request.headers.values(for: "Range")) != nil
    }

    /// Returns the decision about a range request.
    ///
    /// - Parameters:
    ///   - request: The range request.
    ///   - whole: The decision about the same request without a range.
    /// - Returns: The decision; it never validates a stored response.
    func decideAboutPart(_ request: CacheRequest, _ whole: Decision) -> Decision {
        switch whole {
        case .respond(let entry):
            if let part = part(of: entry, for: request) { return .respond(part) }
            let mustNotLoad =
                request.policy == .returnCacheDataDontLoad || request.directives.onlyIfCached
            return mustNotLoad ? .refuse : .load(fallback: nil)
        case .refuse: return .refuse
        default: return .load(fallback: nil)
        }
    }

    /// Returns the response to a range request: 206, or 416 if the range is not satisfiable.
    ///
    /// `nil` if the stored response cannot answer it.
    func part(of entry: CacheEntry, for request: CacheRequest) -> CacheEntry? {
        // Ranges refer to the encoded body (RFC 9110 §14.1.2), but only the decoded one is stored.
        guard entry.response.statusCode == 200,
            entry.response.headers.values(for: "Content-Encoding").isEmpty,
            let range = ByteRange(request.headers.values(for: "Range"))
        else { return nil }
        let total = entry.data.count
        var part = entry
        if let bounds = range.bounds(in: total) {
            part.response.statusCode = 206
            part.response.headers.update(
                name: "Content-Range",
                value: "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(total)")
            part.data = Data(entry.data.dropFirst(bounds.lowerBound).prefix(bounds.count))
        } else {
            part.response.statusCode = 416
            part.response.headers.update(name: "Content-Range", value: "bytes */\(total)")
            part.response.headers.remove(name: "Content-Type")
            part.data = Data()
        }
        part.response.headers.update(name: "Content-Length", value: "\(part.data.count)")
        return part
    }
}

/// A single byte range of a request (RFC 9110 §14.1.2).
struct ByteRange: Equatable {
    private let first: Int?
    /// The last byte; without `first`, the number of bytes at the end.
    private let last: Int?

    /// Parses the values of `Range` fields; `nil` unless they are a single byte range.
    init?(_ fields: [String]) {
        guard fields.count == 1, let field = fields.first,
            field.startsIgnoringCase(with: "bytes="),
            let (start, end) = field.droppingBytes(6).cut(at: "-"),
            let first = Self.number(start.trimmingBlanks),
            let last = Self.number(end.trimmingBlanks),
            first != nil || last != nil
        else { return nil }
        if let first, let last, last < first { return nil }
        (self.first, self.last) = (first, last)
    }

    /// Parses digits or an empty text; `nil` for anything else.
    private static func number(_ text: Substring) -> Int?? {
        if text.isEmpty { return .some(nil) }
        return text.clampedDecimal().map { .some($0) }
    }

    /// Returns the offsets of the range in a body of this size; `nil` if it contains no bytes.
    func bounds(in total: Int) -> Range<Int>? {
        guard let first else {
            guard let last, last > 0, total > 0 else { return nil }
            return max(0, total - last)..<total
        }
        guard first < total else { return nil }
        return first..<min(last.map { $0 < .max ? $0 + 1 : .max } ?? total, total)
    }
}
