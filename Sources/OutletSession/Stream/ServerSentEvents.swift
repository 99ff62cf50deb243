import FoundationEssentials
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
        for byte in bytes {
            guard !isBroken else { break }
            defer { sawCarriageReturn = byte == 0x0D }
            switch byte {
            case 0x0A where sawCarriageReturn: continue
            case 0x0A, 0x0D: if let event = endLine() { events.append(.success(event)) }
            default:
                line.append(byte)
                guard line.count + dataSize > limit else { continue }
                isBroken = true
                events.append(
                    .failure(
                        .responseSerializationFailed(
                            reason: .customSerializationFailed(
                                error: ServerSentEventError.tooLarge(limit: limit)))))
            }
        }
        return events
    }

    /// Takes a line; an empty one ends an event.
    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let name = String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self)
        var value = line[(colon.map { $0 + 1 } ?? line.endIndex)...]
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        take(name, String(decoding: value, as: UTF8.self))
        return nil
    }

    private mutating func take(_ name: String, _ value: String) {
        switch name {
        case "event": event = value
        case "data":
            data = data.map { $0 + "\n" + value } ?? value
            dataSize += value.utf8.count + 1
        case "id" where !value.utf8.contains(0): lastID = value
        case "retry":
            if let milliseconds = value.decimal(Int64.self) { retry = .milliseconds(milliseconds) }
        default: break
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
