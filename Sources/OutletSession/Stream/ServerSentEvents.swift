import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTransport

/// One event of an event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Equatable {
    /// What kind of event; `message` unless the server says otherwise.
    public var event: String
    /// The text, its lines joined by line feeds.
    public var data: String
    /// The last id that the server has sent, for `Last-Event-ID`; empty when it sent none.
    public var id: String
    /// How long to wait before connecting again, as far as the server has said by now.
    public var retry: Duration?

    /// Makes an event.
    public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}

/// Reads an event stream piece by piece, as a value (WHATWG HTML §9.2.6).
struct ServerSentEventParser: StreamParser {
    /// Refuses a response that is none (WHATWG HTML §9.2.2).
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

    /// No event may be longer, in bytes.
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

    mutating func feed(_ bytes: Data) -> [Result<ServerSentEvent, SessionError>] {
        var events: [Result<ServerSentEvent, SessionError>] = []
        bytes.withUnsafeBytes { feed($0, &events) }
        return events
    }

    private mutating func feed(
        _ bytes: UnsafeRawBufferPointer, _ events: inout [Result<ServerSentEvent, SessionError>]
    ) {
        guard let last = bytes.last else { return }
        var lines = LineEnds(bytes)
        if sawCarriageReturn, bytes.first == 0x0A { lines.start = 1 }
        sawCarriageReturn = last == 0x0D
        while let range = lines.next() {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[range])
            guard fits(rest.count, &events) else { return }
            guard line.isEmpty else {
                line.append(contentsOf: rest)
                let whole = line
                line.removeAll(keepingCapacity: true)
                if let event = whole.withUnsafeBytes({ endLine($0) }) {
                    events.append(.success(event))
                }
                continue
            }
            if let event = endLine(rest) { events.append(.success(event)) }
        }
        guard fits(bytes.count - lines.start, &events) else { return }
        line.append(contentsOf: bytes[lines.start...])
    }

    /// Whether so many bytes more are not too many; if they are, that is the last that is said.
    private mutating func fits(
        _ count: Int, _ events: inout [Result<ServerSentEvent, SessionError>]
    ) -> Bool {
        guard !isBroken else { return false }
        guard line.count + count + dataSize > limit else { return true }
        isBroken = true
        events.append(
            .failure(
                .responseSerializationFailed(
                    reason: .customSerializationFailed(
                        error: ServerSentEventError.tooLarge(limit: limit)))))
        return false
    }

    /// Takes a line; an empty one ends an event.
    private mutating func endLine(_ line: UnsafeRawBufferPointer) -> ServerSentEvent? {
        var line = line
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) {
                line = UnsafeRawBufferPointer(rebasing: line[3...])
            }
        }
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        let isBlank = colon + 1 < line.count && line[colon + 1] == UInt8(ascii: " ")
        let start = min(colon + (isBlank ? 2 : 1), line.count)
        take(
            UnsafeRawBufferPointer(rebasing: line[..<colon]),
            UnsafeRawBufferPointer(rebasing: line[start...]))
        return nil
    }

    private mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if name.elementsEqual("data".utf8) {
            dataSize += value.count + 1
            let text = String(decoding: value, as: UTF8.self)
            if data == nil {
                data = text
            } else {
                data?.append("\n")
                data?.append(text)
            }
        } else if name.elementsEqual("event".utf8) {
            event = String(decoding: value, as: UTF8.self)
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { lastID = String(decoding: value, as: UTF8.self) }
        } else if name.elementsEqual("retry".utf8) {
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

/// The lines in some bytes, each ended by a carriage return, a line feed, or both.
///
/// No byte is looked at more than twice, whatever the lines are ended by.
private struct LineEnds {
    private let bytes: UnsafeRawBufferPointer
    /// Where the next line begins.
    var start = 0
    /// The next line feed and the next carriage return; those before ``start`` are to be looked for.
    private var lineFeed = -1
    private var carriageReturn = -1

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The next line, without its end; `nil` where it has none.
    mutating func next() -> Range<Int>? {
        if lineFeed < start { lineFeed = index(of: 0x0A) }
        if carriageReturn < start { carriageReturn = index(of: 0x0D) }
        let end = min(lineFeed, carriageReturn)
        guard end < bytes.count else { return nil }
        let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
        defer { start = end + (isPair ? 2 : 1) }
        return start..<end
    }

    private func index(of byte: Int32) -> Int {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, byte, bytes.count - start)
        else { return bytes.count }
        return UnsafeRawPointer(found) - base
    }
}
