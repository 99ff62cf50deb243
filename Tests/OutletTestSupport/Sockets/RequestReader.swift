/// Parses requests and WebSocket frames that arrive on a connection.
///
/// Every method blocks until it has what it returns.
struct RequestReader {
    let socket: StreamSocket
    /// Called with the bytes of each read.
    let arrived: (_ bytes: [UInt8]) -> Void
    private var buffer: [UInt8] = []

    init(socket: StreamSocket, arrived: @escaping (_ bytes: [UInt8]) -> Void) {
        self.socket = socket
        self.arrived = arrived
    }

    /// Returns the next request's head with its empty line; `nil` if the connection ends before.
    mutating func head() -> String? {
        text(through: "\r\n\r\n")
    }

    /// Returns the body that belongs to a head, with chunk framing if it is chunked.
    ///
    /// Answers an `Expect` field with 100 first.
    ///
    /// - Returns: The body; `nil` if the connection ends before.
    mutating func body(of head: String) -> [UInt8]? {
        let fields = head.split(separator: "\r\n").dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (
                name: parts[0].lowercased(),
                value: parts.count < 2 ? "" : parts[1].drop { $0 == " " }
            )
        }
        if fields.contains(where: { $0.name == "expect" }) {
            socket.send("HTTP/1.1 100 Continue\r\n\r\n")
        }
        if fields.contains(where: { $0.name == "transfer-encoding" }) {
            return chunks()
        }
        let length = fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        return take(length)
    }

    /// Returns the next WebSocket frame, unmasked; `nil` if the connection ends before.
    mutating func frame() -> WebSocketFrame? {
        guard let start = take(2) else { return nil }
        var length = Int(start[1] & 0x7F)
        if length >= 126 {
            guard let bytes = take(length == 126 ? 2 : 8) else { return nil }
            length = bytes.reduce(0) { $0 << 8 | Int($1) }
        }
        let isMasked = start[1] & 0x80 != 0
        guard let mask = take(isMasked ? 4 : 0), var payload = take(length) else { return nil }
        if isMasked { Self.unmask(&payload, mask) }
        return WebSocketFrame(
            opcode: .init(rawValue: start[0] & 0x0F), payload: payload,
            isFinal: start[0] & 0x80 != 0, isMasked: isMasked)
    }

    /// Removes the mask, eight bytes at a time, because tests send many MiB.
    private static func unmask(_ payload: inout [UInt8], _ mask: [UInt8]) {
        let word = (mask + mask).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        payload.withUnsafeMutableBytes { bytes in
            var index = 0
            while index + 8 <= bytes.count {
                let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                bytes.storeBytes(of: masked ^ word, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < bytes.count {
                bytes[index] ^= mask[index % 4]
                index += 1
            }
        }
    }

    /// Sends FIN, then reads and drops bytes until the client closes the connection.
    ///
    /// Closing the socket with unread bytes would send a reset (RST) instead.
    mutating func finish() {
        socket.finishSending()
        drop()
    }

    /// Reads and drops bytes until the client closes the connection.
    mutating func drop() {
        while fill() { buffer = [] }
    }

    /// Returns the bytes received, at least one; `nil` if the connection ends before.
    mutating func anything() -> [UInt8]? {
        guard !buffer.isEmpty || fill() else { return nil }
        return take(buffer.count)
    }

    private mutating func chunks() -> [UInt8]? {
        var body: [UInt8] = []
        while true {
            guard let line = text(through: "\r\n") else { return nil }
            body += line.utf8
            let digits = line.prefix { $0.isHexDigit }
            guard let size = Int(digits, radix: 16), size > 0 else { break }
            guard let chunk = take(size + 2) else { return nil }
            body += chunk
        }
        while true {
            guard let line = text(through: "\r\n") else { return nil }
            body += line.utf8
            if line == "\r\n" { return body }
        }
    }

    private mutating func text(through end: String) -> String? {
        let end = Array(end.utf8)
        var start = 0
        while true {
            if let match = buffer[start...].firstRange(of: end) {
                return take(match.upperBound).map { String(decoding: $0, as: UTF8.self) }
            }
            start = max(0, buffer.count - end.count + 1)
            guard fill() else { return nil }
        }
    }

    private mutating func take(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    private mutating func fill() -> Bool {
        guard let bytes = socket.receive() else { return false }
        arrived(bytes)
        buffer += bytes
        return true
    }
}
