import CCurl
import FoundationEssentials
import Glibc
import OutletHTTP

/// The header lines of a response, as heads and trailers.
struct HeadCollector: ~Copyable {
    /// What libcurl's callback fills (`CURLOPT_HEADERDATA`).
    let lines: UnsafeMutablePointer<ccurl_head>
    /// What the status line of the last head says.
    private(set) var statusCode = 0
    /// Whether the last head came over HTTP/2.
    private(set) var isHTTP2 = false

    init() {
        lines = .allocate(capacity: 1)
        lines.initialize(to: ccurl_head())
    }

    /// Refuses heads and trailers with more bytes or more fields than these.
    func limit(bytes: Int, fields: Int) {
        lines.pointee.limit = max(0, bytes)
        lines.pointee.line_limit = max(0, fields)
    }

    /// Whether a head is refused for the number of its fields; its status line counts as one.
    var hasTooManyFields: Bool { lines.pointee.lines > lines.pointee.line_limit }

    /// What is wrong with the last head; `nil` when nothing is.
    private(set) var fault: HeadFault?

    /// What is wrong with the trailers that have come; `nil` when nothing is.
    var trailerFault: HeadFault? {
        guard lines.pointee.is_behind, lines.pointee.count > 0,
            lines.pointee.fault != CCURL_HEAD_SOUND
        else { return nil }
        return HeadFault(lines.pointee)
    }

    deinit {
        free(lines.pointee.bytes)
        lines.deallocate()
    }

    /// Whether the last head is followed by another one (1xx).
    var isInterim: Bool { statusCode < 200 && statusCode >= 100 && statusCode != 101 }

    /// Whether a line has come since the last complete head.
    var isInsideHead: Bool { !lines.pointee.is_behind && lines.pointee.count > 0 }

    /// The lines that have come.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: lines.pointee.bytes, count: lines.pointee.count)
    }

    /// The head that is complete; `nil` when it does not begin as HTTP does.
    mutating func takeHead(url: consuming URL?) -> HTTPResponse? {
        guard let response = makeResponse(url: url) else { return nil }
        if lines.pointee.fault != CCURL_HEAD_SOUND {
            fault = HeadFault(lines.pointee)
        } else if fault != nil {
            fault = nil
        }
        lines.pointee.count = 0
        lines.pointee.lines = 0
        lines.pointee.is_behind = !isInterim
        return response
    }

    /// The trailer fields, if any came behind the final head.
    var trailers: HTTPHeaders? {
        guard lines.pointee.is_behind, lines.pointee.count > 0 else { return nil }
        return HTTPHeaders(HeaderBlock(copying: bytes, marks: lines.pointee.marks))
    }

    /// Forgets everything, and keeps the memory unless it was an unusual head.
    func reset() {
        lines.pointee.is_behind = false
        lines.pointee.count = 0
        lines.pointee.lines = 0
        guard lines.pointee.capacity > ByteBuffer.copyLimit else { return }
        free(lines.pointee.bytes)
        lines.pointee.bytes = nil
        lines.pointee.capacity = 0
    }

    /// `HTTP/1.1 200 OK`: the version up to the first blank, then three digits (RFC 9112 §4).
    private mutating func makeResponse(url: consuming URL?) -> HTTPResponse? {
        let block = bytes
        guard block.count > 5, let start = block.baseAddress, memcmp(start, "HTTP/", 5) == 0 else {
            return nil
        }
        var blank = 5
        while blank < 16, blank + 4 < block.count, block[blank] != UInt8(ascii: " ") { blank += 1 }
        var status = 0
        for offset in 1...3 {
            guard blank + offset < block.count else { return nil }
            let digit = block[blank + offset]
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            status = status * 10 + Int(digit & 0x0F)
        }
        statusCode = status
        isHTTP2 = blank == 6 && block[5] == UInt8(ascii: "2")
        return HTTPResponse(
            url: url, statusCode: status, httpVersion: Self.version(block, blank),
            headers: HTTPHeaders(HeaderBlock(copying: block, marks: lines.pointee.marks)))
    }

    private static func version(_ block: UnsafeRawBufferPointer, _ end: Int) -> String {
        if end == 8, block[5] == UInt8(ascii: "1"), block[7] == UInt8(ascii: "1") {
            return "HTTP/1.1"
        }
        return String(decoding: block[..<end], as: UTF8.self)
    }
}

/// Why a head, or trailers, mean one thing to one reader and something else to another.
struct HeadFault {
    /// The line that shows it, as far as it may be shown.
    private let line: String
    private let kind: ccurl_head_fault

    init(_ lines: ccurl_head) {
        kind = lines.fault
        let bytes = UnsafeRawBufferPointer(start: lines.bytes, count: lines.count)
        let found = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(lines.fault_start))
        // What a name has to say may be a secret.
        let colon = kind == CCURL_HEAD_NAME ? found.firstIndex(of: UInt8(ascii: ":")) : nil
        line = Self.shown(UnsafeRawBufferPointer(rebasing: found[..<(colon ?? found.count)]))
    }

    /// The fact, for an error.
    ///
    /// - Parameter place: What it is wrong in: "the answer", "the trailers".
    func reason(in place: String) -> String {
        switch kind {
        case CCURL_HEAD_LENGTH: "\(place)'s Content-Length is not one number: '\(line)'"
        case CCURL_HEAD_CODING: "\(place)'s Transfer-Encoding is not 'chunked', once: '\(line)'"
        case CCURL_HEAD_FOLD: "\(place) says on several lines where the body ends: '\(line)'"
        default: "\(place) has a header field whose name is no token: '\(line)'"
        }
    }

    /// The first line of what a server sent, no more than 80 bytes of it, without secrets and
    /// without what would act on a terminal.
    static func shown(_ bytes: UnsafeRawBufferPointer) -> String {
        let line = bytes.prefix(80).prefix { $0 != 0x0D && $0 != 0x0A }
        let isCut = line.count == 80 && bytes.count > 80
        return Redaction.standard.text(
            TerminalText.visibleLine(String(decoding: line, as: UTF8.self)))
            + (isCut ? "…" : "")
    }
}
