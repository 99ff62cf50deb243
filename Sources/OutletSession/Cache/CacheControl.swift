import OutletHTTP

/// The directives of `Cache-Control` fields that a private cache heeds (RFC 9111 §5.2, RFC 5861).
///
/// Times are seconds. `s-maxage` and `proxy-revalidate` are for shared caches.
struct CacheControl: Sendable, Equatable {
    var noStore = false
    /// With field names, too: what is told of some fields is done for all.
    var noCache = false
    var mustRevalidate = false
    var isPublic = false
    /// The least of several; 0 for what is no number, so that it counts as stale (§4.2.1).
    var maxAge: Int?
    var staleWhileRevalidate: Int?
    var staleIfError: Int?
    /// Of a request: how stale the answer may be; `Int.max` without a number.
    var maxStale: Int?
    /// Of a request: how long the answer must stay fresh.
    var minFresh: Int?
    /// Of a request: the server is not to be asked.
    var onlyIfCached = false

    init() {}

    /// Reads all `Cache-Control` fields; without any, `Pragma: no-cache` (§5.4).
    init(_ headers: HTTPHeaders) {
        let values = headers.values(for: "Cache-Control")
        for value in values { read(value) }
        guard values.isEmpty else { return }
        for value in headers.values(for: "Pragma") where value.lowercased().contains("no-cache") {
            noCache = true
        }
    }

    private mutating func read(_ text: String) {
        for (name, value) in Self.directives(of: text) {
            switch name.lowercased() {
            case "no-store": noStore = true
            case "no-cache": noCache = true
            case "must-revalidate": mustRevalidate = true
            case "public": isPublic = true
            case "only-if-cached": onlyIfCached = true
            case "max-age": maxAge = min(maxAge ?? .max, Self.seconds(value) ?? 0)
            case "max-stale": maxStale = value == nil ? .max : Self.seconds(value) ?? 0
            case "min-fresh": minFresh = Self.seconds(value)
            case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(value)
            case "stale-if-error": staleIfError = Self.seconds(value)
            default: break
            }
        }
    }

    /// Names and values between commas; a comma inside quotes does not part.
    private static func directives(of text: String) -> [(name: Substring, value: Substring?)] {
        var found: [(Substring, Substring?)] = []
        var isQuoted = false
        let parts = text.utf8.split { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return byte == UInt8(ascii: ",") && !isQuoted
        }
        for part in parts {
            let pair = Substring(part).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first else { continue }
            found.append((trimmed(name), pair.count > 1 ? trimmed(pair[1]) : nil))
        }
        return found
    }

    /// Delta-seconds (§1.2.2), quoted or not; what is too large for them counts as 2³¹.
    private static func seconds(_ text: Substring?) -> Int? {
        guard let text, !text.isEmpty,
            text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
        else { return nil }
        return min(Int(text) ?? 1 << 31, 1 << 31)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        func isPadding(_ character: Character) -> Bool {
            character == " " || character == "\t" || character == "\""
        }
        let start = text.drop(while: isPadding)
        guard let end = start.lastIndex(where: { !isPadding($0) }) else { return "" }
        return start[...end]
    }
}
