/// The response of one HTTP/1.1 exchange over a plain socket, for tests of servers.
public struct HTTPExchange: Sendable {
    /// The status code; 0 if the server sent none.
    public let status: Int
    /// The status line and the header lines, as received.
    public let head: String
    /// The body without chunk framing.
    public let body: [UInt8]

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Returns the values of a header field in order; the case of `name` is ignored.
    public func values(of name: String) -> [String] {
        head.split(separator: "\r\n").dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
            return String(parts[1].drop { $0 == " " })
        }
    }

    /// Sends a request on a new connection, and reads until the server closes it.
    ///
    /// - Parameters:
    ///   - target: The request target as sent.
    ///   - method: The method.
    ///   - headers: Header lines added to `Host` and `Connection`.
    ///   - body: The body; sent with a `Content-Length` if not empty.
    ///   - address: The server's address.
    /// - Throws: ``TestSupportError`` if no server listens there, or the exchange takes longer than
    ///   60 s (times ``patience``).
    public static func perform(
        _ target: String, method: String = "GET", headers: [String] = [], body: String = "",
        at address: SocketAddress
    ) async throws -> HTTPExchange {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"]
        lines += headers
        if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
        let request = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
        let gate = try Gate()
        let socket = try StreamSocket(connectingTo: address, gate: gate)
        let answer = Once<[UInt8]>()
        try onOwnThread {
            socket.send(request)
            answer.set(socket.receiveAll())
        }
        defer { gate.open() }
        return HTTPExchange(try await answer.value())
    }

    private init(_ bytes: [UInt8]) {
        let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) ?? bytes.count..<bytes.count
        head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
        status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        let rest = bytes[end.upperBound...]
        body =
            head.lowercased().contains("transfer-encoding: chunked") ? Self.join(rest) : Array(rest)
    }

    private static func join(_ chunks: ArraySlice<UInt8>) -> [UInt8] {
        var rest = chunks
        var body: [UInt8] = []
        while let end = rest.firstRange(of: Array("\r\n".utf8)) {
            let line = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
            guard let size = Int(line, radix: 16), size > 0 else { break }
            body += rest[end.upperBound...].prefix(size)
            rest = rest[end.upperBound...].dropFirst(size + 2)
        }
        return body
    }
}
