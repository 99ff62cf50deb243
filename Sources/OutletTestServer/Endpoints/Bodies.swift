internal import CZlib

/// Endpoints about response bodies: their size, speed and encoding.
extension Endpoint {
    private static let largestBody = 1 << 40

    /// `/bytes/{n}`: the first `n` bytes of ``BytePattern``, with a `Content-Length`.
    static func bytes(_ request: Request) -> Answer {
        guard let count = request.number(in: 0...largestBody) else {
            return .now(.error(400, "bytes: not a count from 0 to \(largestBody)"))
        }
        let type = [("Content-Type", "application/octet-stream")]
        return .now(Reply(headers: type, body: .pattern(count: count)))
    }

    /// `/stream/{n}`: `n` lines of JSON, chunked.
    static func stream(_ request: Request) -> Answer {
        guard let count = request.number(in: 0...1_000_000) else {
            return .now(.error(400, "stream: not a count from 0 to 1000000"))
        }
        guard case .object(let members) = description(of: request) else {
            return .now(.error(500, "stream: no description of the request"))
        }
        let body = ReplyBody.lines(count: count) { number in
            JSON.object([("id", .integer(Int64(number)))] + members).encoded + [UInt8(ascii: "\n")]
        }
        return .now(Reply(headers: [("Content-Type", "application/json")], body: body))
    }

    /// `/gzip`: JSON with `Content-Encoding: gzip`, regardless of `Accept-Encoding`.
    static func gzip(_ request: Request) -> Answer {
        let exchange = request.exchange
        let json: JSON = [
            "gzipped": .bool(true), "headers": JSON(headers: exchange.headers),
            "method": .string(exchange.method), "origin": .string("127.0.0.1"),
        ]
        guard let bytes = gzip(json.encoded) else {
            return .now(.error(500, "gzip: zlib refused"))
        }
        return .now(
            Reply(
                headers: [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
                body: .bytes(bytes)))
    }

    /// `/drip?duration=SECONDS&numbytes=N&code=CODE&delay=SECONDS`: a body sent byte by byte.
    ///
    /// The head is sent after the delay. The defaults are 2 s, 10 bytes, 200 and 2 s.
    static func drip(_ request: Request) -> Answer {
        func value(_ name: String, default: Double) -> Double? {
            guard let text = request.exchange.queryValue(name) else { return `default` }
            return Double(text).flatMap { (0...longestWait).contains($0) ? $0 : nil }
        }
        guard let duration = value("duration", default: 2), let delay = value("delay", default: 2),
            let count = value("numbytes", default: 10), let code = value("code", default: 200),
            (200...599).contains(code)
        else { return .now(.error(400, "drip: a number is missing or out of range")) }
        let reply = Reply(
            status: Int(code), headers: [("Content-Type", "application/octet-stream")],
            body: .drip(count: Int(count), interval: duration / max(1, count)))
        return delay == 0 ? .now(reply) : .after(seconds: delay, reply)
    }

    /// Compresses bytes to the gzip format (RFC 1952); `nil` if zlib fails.
    private static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        let gzipWindow: Int32 = 15 + 16
        guard
            deflateInit2_(
                &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzipWindow, 8, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let result = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        guard result == Z_STREAM_END else { return nil }
        return Array(output.prefix(Int(stream.total_out)))
    }
}
