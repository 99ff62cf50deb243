import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTransport

/// An event of a server-sent event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Equatable {
    /// The type of the event; `message` if the server sent none.
    public var event: String
    /// The data; several lines are joined by line feeds.
    public var data: String
    /// The last id sent up to this event, for `Last-Event-ID`; empty if there was none.
    public var id: String
    /// The last reconnection delay sent up to this event; `nil` if there was none.
    public var retry: Duration?

    /// Makes an event, for instance in tests.
    ///
    /// - Parameters:
    ///   - event: The type of the event.
    ///   - data: The data; lines are separated by line feeds.
    ///   - id: The last id; empty for none.
    ///   - retry: The reconnection delay; `nil` for none.
    public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}

/// A parser of event streams (WHATWG HTML §9.2.6).
struct ServerSentEventParser: StreamParser {
    static var endsAtFailure: Bool { true }

    /// Refuses a response that is not an event stream (WHATWG HTML §9.2.2).
    static func refusal(of head: HTTPResponse) -> SessionError? {
        let type = head.headers.value(for: "Content-Type")
        if head.statusCode == 200, let known = type.flatMap(MediaType.init),
            MediaType("text/event-stream")?.matches(known) == true
        {
            return nil
        }
        return .responseValidationFailed(
            reason: .customValidationFailed(
                error: ServerSentEventError.notAnEventStream(
                    statusCode: head.statusCode, contentType: type)))
    }

    /// The maximum length of an event, in bytes.
    private let limit: Int
    private var line: [UInt8] = []
    private var sawCarriageReturn = false
    private var isFirstLine = true
    private var isBroken = false

    private var event = ""
    private var data: String?
    private var dataSize = 0
    private var lastID = ""
    private var retry: Duration?

    init(limit: Int = 16 << 20) {
        self.limit = limit
    }

    mutating func feed(
        _ data: Data, _ receive: (consuming Result<ServerSentEvent, SessionError>) -> Void
    ) {
        data.withUnsafeBytes { feed($0, receive) }
    }

    private mutating func feed(
        _ bytes: UnsafeRawBufferPointer,
        _ receive: (consuming Result<ServerSentEvent, SessionError>) -> Void
    ) {
        guard !isBroken, let last = bytes.last else { return }
        var lines = LineEnds(bytes)
        if sawCarriageReturn, bytes.first == 0x0A { lines.start = 1 }
        sawCarriageReturn = last == 0x0D
        while let rest = lines.next() {
            guard fits(rest.count) else { return refuseSize(receive) }
            guard line.isEmpty else {
                line.append(contentsOf: rest)
                let whole = line
                line.removeAll(keepingCapacity: true)
                if let event = whole.withUnsafeBytes({ endLine($0) }) { receive(.success(event)) }
                continue
            }
            if let event = endLine(rest) { receive(.success(event)) }
        }
        guard fits(bytes.count - lines.start) else { return refuseSize(receive) }
        line.append(contentsOf: bytes[lines.start...])
    }

    /// Whether the event fits into the limit with `count` more bytes.
    private func fits(_ count: Int) -> Bool { line.count + count + dataSize <= limit }

    /// Passes the error of an event above the limit, after which the parser passes nothing more.
    private mutating func refuseSize(
        _ receive: (consuming Result<ServerSentEvent, SessionError>) -> Void
    ) {
        isBroken = true
        receive(
            .failure(
                .responseSerializationFailed(
                    reason: .customSerializationFailed(
                        error: ServerSentEventError.tooLarge(limit: limit)))))
    }

    /// Processes a line; an empty line ends an event.
    private mutating func endLine(_ line: UnsafeRawBufferPointer) -> ServerSentEvent? {
        var line = line
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) {
                line = line.part(from: 3, to: line.count)
            }
        }
        guard !line.isEmpty else { return endEvent() }
        take(line)
        return nil
    }

    private mutating func take(_ line: UnsafeRawBufferPointer) {
        if let value = line.value(of: "data") {
            dataSize += value.count + 1
            let text = String(decoding: value, as: UTF8.self)
            if data == nil {
                data = text
            } else {
                data?.append("\n")
                data?.append(text)
            }
        } else if let value = line.value(of: "event") {
            event = String(decoding: value, as: UTF8.self)
        } else if let value = line.value(of: "id") {
            if !value.contains(0) { lastID = String(decoding: value, as: UTF8.self) }
        } else if let value = line.value(of: "retry") {
            let text = String(decoding: value, as: UTF8.self)
            if let milliseconds = text.decimal(Int64.self) { retry = .milliseconds(milliseconds) }
        }
    }

    private mutating func endEvent() -> ServerSentEvent? {
        defer {
            event = ""
            data = nil
            dataSize = 0
        }
        return data.map { data in
            ServerSentEvent(
                event: event.isEmpty ? "message" : event, data: data, id: lastID, retry: retry)
        }
    }
}

/// Iterates over lines that end with a carriage return, a line feed, or both.
///
/// Scans each byte at most twice, for any kind of line ends.
private struct LineEnds {
    private let bytes: UnsafeRawBufferPointer
    /// The start of the next line.
    var start = 0
    /// The next line feed and the next carriage return; out of date if before ``start``.
    private var lineFeed = -1
    private var carriageReturn = -1

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Returns the next line without its end; `nil` if no complete line is left.
    @inline(__always)
    mutating func next() -> UnsafeRawBufferPointer? {
        if lineFeed < start { lineFeed = index(of: 0x0A) }
        if carriageReturn < start { carriageReturn = index(of: 0x0D) }
        let end = min(lineFeed, carriageReturn)
        guard end < bytes.count else { return nil }
        let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
        defer { start = end + (isPair ? 2 : 1) }
        return bytes.part(from: start, to: end)
    }

    @inline(__always)
    private func index(of byte: Int32) -> Int {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, byte, bytes.count - start)
        else { return bytes.count }
        return UnsafeRawPointer(found) - base
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes from one position to another, both inside of the bounds.
    @inline(__always)
    fileprivate func part(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// The value of a line if it is the field with this name; `nil` otherwise.
    ///
    /// The name ends at the first colon or at the end of the line; one space before the value
    /// does not count. Inlined, so that the name is compared as an integer.
    @inline(__always)
    fileprivate func value(of name: StaticString) -> UnsafeRawBufferPointer? {
        let end = name.utf8CodeUnitCount
        guard let baseAddress, count >= end, memcmp(baseAddress, name.utf8Start, end) == 0 else {
            return nil
        }
        guard count > end else { return part(from: end, to: end) }
        guard self[end] == UInt8(ascii: ":") else { return nil }
        let hasSpace = count > end + 1 && self[end + 1] == UInt8(ascii: " ")
        return part(from: end + (hasSpace ? 2 : 1), to: count)
    }
}
