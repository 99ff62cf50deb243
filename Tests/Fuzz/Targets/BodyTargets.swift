import FoundationEssentials

@testable import OutletCompression
@testable import OutletCurl
@testable import OutletHTTP
@testable import OutletSession
import OutletTransport

/// Parsers of bodies, of content codings and of WebSocket frames.
let bodyTargets: [FuzzTarget] =
    [
        FuzzTarget("server-sent-events") { data in
            func events(_ size: Int) -> [ServerSentEvent] {
                var parser = ServerSentEventParser(limit: 1 << 16)
                var rest = data
                var events: [ServerSentEvent] = []
                while !rest.isEmpty {
                    parser.feed(Data(rest.prefix(size))) { result in
                        if case .success(let event) = result { events.append(event) }
                    }
                    rest = rest.dropFirst(size)
                }
                return events
            }
            let whole = events(max(1, data.count))
            try expect(events(1) == whole && events(3) == whole, "pieces bring other events")
            for event in whole {
                try expect(!event.id.utf8.contains(0) && !event.event.isEmpty, "\(event)")
            }
        },
        FuzzTarget("json") { data in
            guard let value = try? JSONValue(parsing: data, maximumDepth: 64) else { return }
            for format in [JSONFormat.compact, .pretty] {
                let text = value.text(format)
                try expect(try JSONValue(parsing: text) == value, "it reads otherwise: \(text)")
                try expect(
                    !text.utf8.contains { $0 < 0x20 && $0 != 0x0A }, "a control character: \(text)")
            }
        },
        FuzzTarget("text-parser") { data in
            var parser = TextParser()
            var rest = data
            var text = ""
            while !rest.isEmpty {
                parser.feed(Data(rest.prefix(2))) { text += $0.get() }
                rest = rest.dropFirst(2)
            }
            parser.finish { text += $0.get() }
            guard let whole = String(validating: data, as: UTF8.self) else { return }
            try expect(text.hasSameBytes(as: whole), "pieces bring another text")
        },
        FuzzTarget("websocket-frames") { data in
            func events(_ size: Int) -> (events: [WebSocketFrames.Event], fault: Bool) {
                guard
                    let frames = WebSocketFrames(
                        maximumMessageSize: 1 << 16, blocks: BlockPool())
                else {
                    return ([], false)
                }
                var received = Fifo<WebSocketFrames.Event>()
                for start in stride(from: 0, to: data.count, by: size) {
                    let piece = Array(data.dropFirst(start).prefix(size))
                    piece.withUnsafeBytes { frames.receive($0, into: &received) }
                }
                var events: [WebSocketFrames.Event] = []
                while let event = received.popFirst() { events.append(event) }
                var output: [UInt8] = []
                while frames.wantsToSend {
                    frames.encode(into: &output)
                    output = []
                }
                return (events, frames.fault != nil)
            }
            let whole = events(max(1, data.count))
            let parted = events(3)
            try expect(
                whole.events == parted.events && whole.fault == parted.fault,
                "pieces bring other messages")
        },
    ]
    + ["gzip", "deflate", "br", "zstd"].map { coding in
        FuzzTarget("decoder-\(coding)") { data in
            func decoded(_ size: Int) throws -> [UInt8]? {
                guard let decoder = try ContentDecoder.make([coding]) else { return nil }
                var all: [UInt8] = []
                for start in stride(from: 0, to: data.count, by: size) {
                    let piece = Array(data.dropFirst(start).prefix(size))
                    try piece.withUnsafeBytes { bytes in
                        var input = bytes
                        while all.count < 1 << 20 {
                            guard case .piece(let output) = try decoder.decode(&input) else {
                                return
                            }
                            all += output
                        }
                    }
                }
                return decoder.isAtEnd ? all : nil
            }
            let whole = try? decoded(max(1, data.count))
            let parted = try? decoded(5)
            guard let whole, whole.count < 1 << 20 else { return }
            try expect(parted == whole, "pieces bring other bytes")
        }
    }
