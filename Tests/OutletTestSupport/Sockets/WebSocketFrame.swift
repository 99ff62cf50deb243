internal import COpenSSL

/// A WebSocket frame (RFC 6455 §5.2), encoded without the code under test.
public struct WebSocketFrame: Sendable, Equatable {
    /// The opcode of a frame; undefined ones can be sent as well.
    public struct Opcode: RawRepresentable, Sendable, Equatable {
        /// The opcode's number, four bits.
        public let rawValue: UInt8

        /// Makes an opcode of any number from 0 to 15.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Continues a fragmented message.
        public static let continuation = Opcode(rawValue: 0)
        /// Begins a text message.
        public static let text = Opcode(rawValue: 1)
        /// Begins a binary message.
        public static let binary = Opcode(rawValue: 2)
        /// Closes the connection.
        public static let close = Opcode(rawValue: 8)
        /// Requests a pong.
        public static let ping = Opcode(rawValue: 9)
        /// Answers a ping.
        public static let pong = Opcode(rawValue: 10)
    }

    /// The frame's opcode.
    public var opcode: Opcode
    /// The payload, unmasked.
    public var payload: [UInt8]
    /// Whether the frame is the last one of its message (FIN).
    public var isFinal: Bool
    /// Whether the frame is masked; frames sent from here are masked with zeros.
    public var isMasked: Bool

    /// Makes a frame.
    public init(
        opcode: Opcode, payload: [UInt8] = [], isFinal: Bool = true, isMasked: Bool = false
    ) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.isMasked = isMasked
    }

    /// Makes a frame with a complete text message.
    public static func text(_ text: String) -> WebSocketFrame {
        WebSocketFrame(opcode: .text, payload: Array(text.utf8))
    }

    /// Makes a close frame; if `code` is `nil`, the frame has no status code.
    public static func close(_ code: Int?, _ reason: String = "") -> WebSocketFrame {
        let number = code.map { [UInt8($0 >> 8 & 0xFF), UInt8($0 & 0xFF)] } ?? []
        return WebSocketFrame(opcode: .close, payload: number + Array(reason.utf8))
    }

    /// The payload as text.
    public var text: String { String(decoding: payload, as: UTF8.self) }

    /// The status code of a close frame; `nil` for other frames and without one.
    public var closeCode: Int? {
        opcode == .close && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil
    }

    /// The encoded frame.
    public var bytes: [UInt8] {
        var bytes = [(isFinal ? 0x80 : 0) | opcode.rawValue]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case ..<126: bytes.append(mask | UInt8(payload.count))
        case ..<65536:
            bytes += [mask | 126] + withUnsafeBytes(of: UInt16(payload.count).bigEndian, Array.init)
        default:
            bytes += [mask | 127] + withUnsafeBytes(of: UInt64(payload.count).bigEndian, Array.init)
        }
        return bytes + (isMasked ? [0, 0, 0, 0] : []) + payload
    }

    /// The reply of an echo server; `nil` for a pong.
    var echo: WebSocketFrame? {
        switch opcode {
        case .pong: nil
        case .ping: WebSocketFrame(opcode: .pong, payload: payload)
        default: WebSocketFrame(opcode: opcode, payload: payload, isFinal: isFinal)
        }
    }

    /// Returns the response head that accepts a WebSocket handshake (RFC 6455 §4.2.2).
    ///
    /// - Parameters:
    ///   - head: The head of the request.
    ///   - lines: Further header lines; each replaces the standard line of the same name.
    public static func acceptance(of head: String, _ lines: [String] = []) -> String {
        let key =
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
            .map { $0.split(separator: " ").last.map(String.init) ?? "" } ?? ""
        let own = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(accept(key))",
        ]
        let names = lines.map { $0.prefix { $0 != ":" } }
        let kept = own.filter { line in !names.contains { line.hasPrefix($0 + ":") } }
        return (kept + lines).joined(separator: "\r\n") + "\r\n\r\n"
    }

    private static func accept(_ key: String) -> String {
        var text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        var digest = [UInt8](repeating: 0, count: 20)
        text.withUTF8 { _ = EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha1(), nil) }
        var encoded = [UInt8](repeating: 0, count: 29)
        let count = EVP_EncodeBlock(&encoded, digest, Int32(digest.count))
        return String(decoding: encoded.prefix(Int(count)), as: UTF8.self)
    }
}

extension Step {
    /// Sends a WebSocket frame.
    public static func send(_ frame: WebSocketFrame) -> Step { .send(frame.bytes) }
}
