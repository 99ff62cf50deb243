import OutletHTTP
import OutletTransport

/// What becomes of a download's body, as the head of its response tells: a value.
enum DownloadPlan: Equatable, Sendable {
    /// No head has come.
    case undecided
    /// It is the whole content; it begins the file anew.
    case whole
    /// It is the rest of what is there.
    case continued
    /// It is something else, an error's text for instance; what is there stays as it is.
    case aside
    /// There is no rest: the file is whole.
    case complete
    /// It does not fit to what is there: the whole is asked for again.
    case restart

    /// Decides.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - offset: From which byte on the content was asked for.
    ///   - validator: What the content is known by.
    ///   - total: How many bytes the content has, if that is known.
    init(_ head: HTTPResponse, offset: Int64, validator: String?, total: Int64? = nil) {
        guard offset > 0 else {
            self = .whole
            return
        }
        let range = head.headers.value(for: "Content-Range").flatMap(ContentRange.init)
        let isSame = Self.agrees(head, with: validator) && range?.agrees(withTotal: total) == true
        switch head.statusCode {
        case 206:
            let fits =
                isSame && range?.start == offset && range?.length == head.lengthOfPart
            self = fits ? .continued : .restart
        case 416:
            let isWhole = isSame && range?.start == nil && range?.total == offset
            self = isWhole ? .complete : .restart
        case 200..<300: self = .whole
        default: self = .aside
        }
    }

    /// A server that knows nothing of `If-Range` may send the rest of another content.
    private static func agrees(_ head: HTTPResponse, with validator: String?) -> Bool {
        guard let validator else { return true }
        func isSame(_ stated: String) -> Bool {
            isReturnable(stated) && stated.hasSameBytes(as: validator)
        }
        let tag = head.headers.value(for: "ETag")
        if validator.startsWithBytes(of: "\"") { return tag.map(isSame) ?? true }
        guard let date = head.headers.value(for: "Last-Modified") else { return true }
        // Some servers' tags have no quotes.
        return isSame(date) || tag.map(isSame) == true
    }
}

/// A `Content-Range` field of bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// The first byte; `nil` when the range could not be satisfied.
    let start: Int64?
    /// Behind the last byte; `nil` when the range could not be satisfied.
    let end: Int64?
    /// The whole length; `nil` when it is not known.
    let total: Int64?

    init?(_ field: String) {
        var scanner = ByteScanner(field)
        guard scanner.readToken().equalsIgnoringCase("bytes"), scanner.peek?.isBlank == true,
            let (range, length) = scanner.rest.trimmingBlanks.cut(at: "/")
        else { return nil }
        total = length.decimal()
        guard total != nil || length.hasSameBytes(as: "*") else { return nil }
        if range.hasSameBytes(as: "*") {
            (start, end) = (nil, nil)
            return
        }
        guard let (first, last) = range.cut(at: "-"), let first = first.decimal(Int64.self),
            let last = last.decimal(Int64.self), first <= last, last < total ?? .max
        else { return nil }
        (start, end) = (first, last + 1)
    }

    /// How many bytes the part has.
    var length: Int64? { start.flatMap { start in end.map { $0 - start } } }

    /// Whether it may be a part of something that is so long.
    func agrees(withTotal known: Int64?) -> Bool {
        guard let known else { return true }
        return total.map { $0 == known } ?? ((end ?? 0) <= known)
    }
}

extension HTTPResponse {
    /// How long the one part is that the body is, uncoded; as the range says where nothing else does.
    fileprivate var lengthOfPart: Int64? {
        let codings = headers.values(for: "Content-Encoding").flatMap { $0.listItems() }
        guard codings.allSatisfy({ $0.equalsIgnoringCase("identity") }),
            mimeType != "multipart/byteranges"
        else { return nil }
        if expectedContentLength >= 0 { return expectedContentLength }
        return headers.value(for: "Content-Range").flatMap(ContentRange.init)?.length
    }
}
