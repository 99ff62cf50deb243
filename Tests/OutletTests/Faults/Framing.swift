import OutletTestSupport
import Testing

/// A whole response in one of the ways in which a body's end is marked (RFC 9112 §6.3).
struct Framing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let head: String
    let payload: [UInt8]
    /// The number of bytes at the end that libcurl does not wait for.
    var slack = 0
    /// Whether only the end of the connection marks the end of the body.
    var endsWithConnection = false
    /// Whether the content coding marks the end of the body, too.
    var isCoded = false
    /// The decoded body.
    let body: String

    var bytes: [UInt8] { Array("HTTP/1.1 200 OK\r\n\(head)\r\n".utf8) + payload }
    /// Where the body begins.
    var bodyStart: Int { bytes.count - payload.count }

    static let text = "0123456789"

    static let plain = [
        Framing(
            testDescription: "length", head: "X-A: b\r\nContent-Length: 10\r\n",
            payload: Array(text.utf8), body: text),
        Framing(
            testDescription: "chunked", head: "Transfer-Encoding: chunked\r\n",
            payload: Array("4;a=b\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n".utf8), slack: 1, body: text),
        Framing(
            testDescription: "chunked with trailers",
            head: "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n",
            payload: Array("a\r\n0123456789\r\n0\r\nX-Sum: 45\r\nX-B: c\r\n\r\n".utf8), slack: 1,
            body: text),
        Framing(
            testDescription: "until the end", head: "X-A: b\r\n", payload: Array(text.utf8),
            endsWithConnection: true, body: text),
    ]

    /// "0123456789", compressed by `gzip`.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0x30,
        0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xB7, 0xB0, 0x04, 0x00, 0xC6, 0xC7,
        0x84, 0xA6, 0x0A, 0x00, 0x00, 0x00,
    ]

    static let coded = [
        Framing(
            testDescription: "length, gzip",
            head: "Content-Encoding: gzip\r\nContent-Length: \(gzip.count)\r\n", payload: gzip,
            body: text),
        Framing(
            testDescription: "chunked, gzip",
            head: "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            payload: Array("\(String(gzip.count, radix: 16))\r\n".utf8) + gzip
                + Array("\r\n0\r\n\r\n".utf8), slack: 1, body: text),
        Framing(
            testDescription: "until the end, gzip", head: "Content-Encoding: gzip\r\n",
            payload: gzip, endsWithConnection: true, isCoded: true, body: text),
        Framing(
            testDescription: "until the end, deflate", head: "Content-Encoding: deflate\r\n",
            payload: [
                0x78, 0x5E, 0x33, 0x30, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xB7, 0xB0, 0x04, 0x00,
                0x0A, 0xFF, 0x02, 0x0E,
            ], endsWithConnection: true, isCoded: true, body: text),
        Framing(
            testDescription: "until the end, br", head: "Content-Encoding: br\r\n",
            payload: [0x8B, 0x04, 0x80] + text.utf8 + [0x03],
            endsWithConnection: true, isCoded: true, body: text),
        Framing(
            testDescription: "until the end, zstd", head: "Content-Encoding: zstd\r\n",
            payload: [0x28, 0xB5, 0x2F, 0xFD, 0x24, 0x0A, 0x51, 0x00, 0x00] + text.utf8
                + [0xE7, 0x67, 0x18, 0xA8],
            endsWithConnection: true, isCoded: true, body: text),
    ]
}
