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
        guard let validator, validator.hasPrefix("\""), let tag = head.headers.value(for: "ETag")
        else { return true }
        return tag == validator
    }
}

/// A `Content-Range` field of bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// The first byte; `nil` when the range could not be satisfied.
    let start: Int64?
    /// The whole length; `nil` when it is not known.
    let total: Int64?

    init?(_ field: String) {
        let words = field.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        total = Int64(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            start = nil
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0,
            last >= first
        else { return nil }
        start = first
    }
}
