import CCurl
import FoundationEssentials
import Glibc
import OutletHTTP

/// Collects the header lines of a response into heads and trailers.
struct HeadCollector: ~Copyable {
    /// The state of the C callback that collects the lines (`CURLOPT_HEADERDATA`).
    let lines: UnsafeMutablePointer<ccurl_head>
    /// The status code of the last head.
    private(set) var statusCode = 0
    /// Whether the last head was received over HTTP/2.
    private(set) var isHTTP2 = false
    /// The size of the heads since the request was last sent, in bytes.
    private(set) var size = 0

    init() {
        lines = .allocate(capacity: 1)
        lines.initialize(to: ccurl_head())
    }

    /// Sets the limits of heads and trailers; the callback fails on larger ones.
    ///
    /// - Parameters:
    ///   - bytes: The maximum size in bytes.
    ///   - fields: The maximum number of fields.
    func limit(bytes: Int, fields: Int) {
        lines.pointee.limit = max(0, bytes)
        lines.pointee.line_limit = max(0, fields)
    }

    /// Whether a head or trailers were refused for the number of their fields, not for their size.
    var hasTooManyFields: Bool { lines.pointee.lines > lines.pointee.line_limit }

    /// What is wrong with the last head; `nil` if it is well-formed.
    private(set) var fault: HeadFault?

    /// What is wrong with the trailers received so far; `nil` if they are well-formed.
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

    /// Whether the last head is an informational one (1xx, except 101), so that another follows.
    var isInterim: Bool { statusCode < 200 && statusCode >= 100 && statusCode != 101 }

    /// Whether the end of the connection is the end of the last head's body, if it has one (RFC 9112
    /// §6.3).
    var endsWithConnection: Bool {
        !isHTTP2 && !lines.pointee.has_length && !lines.pointee.has_coding && statusCode != 204
            && statusCode != 304
    }

    /// Whether only the end of the stream of HTTP/2 is the end of the last head's body.
    var endsWithStream: Bool {
        isHTTP2 && !lines.pointee.has_length && statusCode != 204 && statusCode != 304
    }

    /// Whether a part of a head has been received.
    var isInsideHead: Bool { !lines.pointee.is_behind && lines.pointee.count > 0 }

    /// The lines received since the last complete head.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: lines.pointee.bytes, count: lines.pointee.count)
    }

    /// Parses and removes the complete head; `nil` if it does not begin with an HTTP status line.
    mutating func takeHead(url: consuming URL?) -> HTTPResponse? {
        guard let response = makeResponse(url: url) else { return nil }
        if lines.pointee.fault != CCURL_HEAD_SOUND {
            fault = HeadFault(lines.pointee)
        } else if fault != nil {
            fault = nil
        }
        size += lines.pointee.count
        lines.pointee.count = 0
        lines.pointee.lines = 0
        lines.pointee.is_behind = !isInterim
        return response
    }

    /// The trailer fields after the final head; `nil` if there are none.
    var trailers: HTTPHeaders? {
        guard lines.pointee.is_behind, lines.pointee.count > 0 else { return nil }
        return HTTPHeaders(HeaderBlock(copying: bytes, marks: lines.pointee.marks))
    }

    /// Prepares for the response to a request that is sent now.
    ///
    /// - Parameter isTimed: Whether to measure ``beginning``.
    mutating func begin(isTimed: Bool) {
        size = 0
        lines.pointee.is_timed = isTimed
        lines.pointee.began_us = 0
    }

    /// When the last head has begun, in µs of the monotonic clock; 0 if that is not known.
    var beginning: Int64 { lines.pointee.began_us }

    /// Discards all lines, and the memory too if it is larger than usual.
    mutating func reset() {
        size = 0
        lines.pointee.is_timed = false
        lines.pointee.began_us = 0
        lines.pointee.is_behind = false
        lines.pointee.count = 0
        lines.pointee.lines = 0
        guard lines.pointee.capacity > ByteBuffer.copyLimit else { return }
        free(lines.pointee.bytes)
        lines.pointee.bytes = nil
        lines.pointee.capacity = 0
    }

    /// Parses the status line, such as `HTTP/1.1 200 OK`: the version up to the first blank, then
    /// three digits (RFC 9112 §4).
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
        if blank + 4 < block.count, block[blank + 4].isDigit { return nil }
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

/// Why a head or trailers are ambiguous, so that two implementations may read them differently.
struct HeadFault {
    /// The faulty line, shortened and without secrets.
    private let line: String
    private let kind: ccurl_head_fault

    init(_ lines: ccurl_head) {
        kind = lines.fault
        let bytes = UnsafeRawBufferPointer(start: lines.bytes, count: lines.count)
        let found = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(lines.fault_start))
        // The field's value may be a secret, so only the name is shown.
        let colon = kind == CCURL_HEAD_NAME ? found.firstIndex(of: UInt8(ascii: ":")) : nil
        line = Self.shown(UnsafeRawBufferPointer(rebasing: found[..<(colon ?? found.count)]))
    }

    /// Describes the fault for an error.
    ///
    /// - Parameter place: What has the fault: "the response", "the trailer section".
    func reason(in place: String) -> String {
        switch kind {
        case CCURL_HEAD_LENGTH: "\(place)'s Content-Length is not one number: '\(line)'"
        case CCURL_HEAD_LENGTHS: "\(place) has different values of Content-Length: '\(line)'"
        case CCURL_HEAD_BOTH: "\(place) has both Content-Length and Transfer-Encoding: '\(line)'"
        case CCURL_HEAD_OLD_CODING:
            "\(place) is HTTP/1.0, which has no Transfer-Encoding: '\(line)'"
        case CCURL_HEAD_CODING: "\(place)'s Transfer-Encoding is not 'chunked', once: '\(line)'"
        case CCURL_HEAD_FOLD: "\(place) says on several lines where the body ends: '\(line)'"
        default: "\(place) has a header field whose name is no token: '\(line)'"
        }
    }

    /// Returns the first line of what a server sent, at most 80 bytes, without secrets and without
    /// characters that would control a terminal.
    static func shown(_ bytes: UnsafeRawBufferPointer) -> String {
        let line = bytes.prefix(80).prefix { $0 != 0x0D && $0 != 0x0A }
        let isCut = line.count == 80 && bytes.count > 80
        return Redaction.standard.text(
            TerminalText.visibleLine(String(decoding: line, as: UTF8.self)))
            + (isCut ? "…" : "")
    }
}
