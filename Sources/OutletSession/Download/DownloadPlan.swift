import OutletHTTP
import OutletTransport

/// What to do with a download's body, decided from the head of its response.
enum DownloadPlan: Equatable, Sendable {
    /// No head has arrived.
    case undecided
    /// The body is the whole content; the file is overwritten from its start.
    case whole
    /// The body is the rest of the content, and is appended to the file.
    case continued
    /// The body is not the content but, for example, an error text. It is written to a separate
    /// file, and the part stays as it is.
    case aside
    /// Nothing is missing: the file is complete.
    case complete
    /// The body does not continue the part: the whole content is requested again.
    case restart

    /// Decides what to do with a body.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - offset: The first byte that was requested; 0 for the whole content.
    ///   - validator: The `ETag` or `Last-Modified` that was sent as `If-Range`.
    ///   - total: The length of the content in bytes; `nil` if it is not known.
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

    /// Whether the response's validator is the expected one: a server without support for
    /// `If-Range` may send the rest of changed content.
    private static func agrees(_ head: HTTPResponse, with validator: String?) -> Bool {
        guard let validator else { return true }
        func isSame(_ stated: String) -> Bool {
            isReturnable(stated) && stated.hasSameBytes(as: validator)
        }
        let tag = head.headers.value(for: "ETag")
        if validator.startsWithBytes(of: "\"") { return tag.map(isSame) ?? true }
        guard let date = head.headers.value(for: "Last-Modified") else { return true }
        // Some servers send tags without quotes.
        return isSame(date) || tag.map(isSame) == true
    }
}

/// A `Content-Range` field of bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// The first byte; `nil` when the range could not be satisfied.
    let start: Int64?
    /// The byte after the last one; `nil` when the range could not be satisfied.
    let end: Int64?
    /// The length of the whole content in bytes; `nil` when it is not known.
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

    /// The length of the part in bytes; `nil` when the range could not be satisfied.
    var length: Int64? { start.flatMap { start in end.map { $0 - start } } }

    /// Whether the range is consistent with content of this length; always if it is not known.
    func agrees(withTotal known: Int64?) -> Bool {
        guard let known else { return true }
        return total.map { $0 == known } ?? ((end ?? 0) <= known)
    }
}

extension HTTPResponse {
    /// The length of the body if it is a single part without a content coding, else `nil`; from
    /// `Content-Length`, else from `Content-Range`.
    fileprivate var lengthOfPart: Int64? {
        let codings = headers.values(for: "Content-Encoding").flatMap { $0.listItems() }
        guard codings.allSatisfy({ $0.equalsIgnoringCase("identity") }),
            mimeType != "multipart/byteranges"
        else { return nil }
        if expectedContentLength >= 0 { return expectedContentLength }
        return headers.value(for: "Content-Range").flatMap(ContentRange.init)?.length
    }
}
