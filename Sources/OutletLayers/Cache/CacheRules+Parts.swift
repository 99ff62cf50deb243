import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Parts of a stored response that is whole (RFC 9111 §4, RFC 9110 §14).
///
/// Parts themselves are not stored, and what one range asks for comes from a fresh response only:
/// whatever else there is to decide is the server's to say.
extension CacheRules {
    /// Whether the request is for a single range of bytes.
    func asksForPart(_ request: CacheRequest) -> Bool {
        let isConditional = request.headers.containsAny(of: Self.preconditions)
        return request.method == .get && !isConditional
            && ByteRange(request.headers.values(for: "Range")) != nil
    }

    private static let preconditions: FieldNames = [
        "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]

    /// What becomes of a request for a part, by what would become of one for the whole.
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

    /// The answer to a request for a part: 206, or 416 if there is no such part; `nil` when the
    /// stored response cannot tell.
    func part(of entry: CacheEntry, for request: CacheRequest) -> CacheEntry? {
        // Ranges count the bytes of the coded body (RFC 9110 §14.1.2), and only the decoded is
        // kept.
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

/// One range of bytes, as a request asks for it (RFC 9110 §14.1.2).
struct ByteRange: Equatable {
    private let first: Int?
    /// The last byte, or how many of the end without a first one.
    private let last: Int?

    /// Reads the values of `Range` fields; `nil` unless they are one range of bytes.
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

    /// Digits, or nothing; `nil` for anything else.
    private static func number(_ text: Substring) -> Int?? {
        if text.isEmpty { return .some(nil) }
        return text.clampedDecimal().map { .some($0) }
    }

    /// The bytes that it means of so many; `nil` when there are none.
    func bounds(in total: Int) -> Range<Int>? {
        guard let first else {
            guard let last, last > 0, total > 0 else { return nil }
            return max(0, total - last)..<total
        }
        guard first < total else { return nil }
        return first..<min(last.map { $0 < .max ? $0 + 1 : .max } ?? total, total)
    }
}
