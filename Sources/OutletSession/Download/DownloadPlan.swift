import OutletHTTP

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
    init(_ head: HTTPResponse, offset: Int64, validator: String?) {
        guard offset > 0 else {
            self = .whole
            return
        }
        let range = head.headers.value(for: "Content-Range").flatMap(ContentRange.init)
        switch head.statusCode {
        case 206:
            let isSame = Self.agrees(head, with: validator)
            self = range?.start == offset && isSame ? .continued : .restart
        case 416: self = range?.start == nil && range?.total == offset ? .complete : .restart
        case 200..<300: self = .whole
        default: self = .aside
        }
    }

    /// A server that knows nothing of `If-Range` may send the rest of another content.
    private static func agrees(_ head: HTTPResponse, with validator: String?) -> Bool {
        guard let validator, validator.startsWithBytes(of: "\""),
            let tag = head.headers.value(for: "ETag")
        else { return true }
        return tag.hasSameBytes(as: validator)
    }
}

/// A `Content-Range` field of bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// The first byte; `nil` when the range could not be satisfied.
    let start: Int64?
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
            start = nil
            return
        }
        guard let (first, last) = range.cut(at: "-"), let first = first.decimal(Int64.self),
            let last = last.decimal(Int64.self), first <= last, last < total ?? .max
        else { return nil }
        start = first
    }
}
