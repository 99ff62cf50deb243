import FoundationEssentials
import OutletHTTP

/// Gathers the header lines that libcurl hands over one by one (`CURLOPT_HEADERFUNCTION`) into
/// heads and trailers.
struct HeadCollector: ~Copyable {
    /// What a line completed.
    enum Event {
        /// Nothing yet.
        case none
        /// A head: an interim one (1xx) or the final one.
        case head(HTTPResponse)
        /// The head or the trailers are larger than allowed.
        case tooLarge
        /// The first line is no status line.
        case malformed
    }

    /// Heads and trailers above this many bytes are refused.
    static var limit: Int { 1 << 20 }

    private var bytes = ByteBuffer()
    private var isInTrailers = false

    /// Whether a line has come since the last complete head.
    var isInsideHead: Bool { !isInTrailers && bytes.count > 0 }

    /// Takes the next line, its line end included.
    mutating func append(_ line: UnsafeRawBufferPointer, url: URL?) -> Event {
        if isInTrailers, Self.isStatusLine(line) {
            // A further head on the same transfer: the answer to an authentication round.
            isInTrailers = false
            bytes.clear()
        }
        let isEnd = line.count <= 2 && line.allSatisfy { $0 == 0x0D || $0 == 0x0A }
        if isInTrailers, isEnd { return .none }
        guard bytes.count + line.count <= Self.limit, bytes.append(line) else { return .tooLarge }
        guard isEnd else { return .none }
        guard let response = makeResponse(url: url) else { return .malformed }
        bytes.clear()
        isInTrailers = !(100..<200).contains(response.statusCode) || response.statusCode == 101
        return .head(response)
    }

    /// The trailer fields, if any came behind the final head.
    var trailers: HTTPHeaders? {
        guard isInTrailers, bytes.count > 0 else { return nil }
        return HTTPHeaders(HeaderBlock(bytes: Array(bytes.bytes)))
    }

    /// Forgets everything and keeps the memory.
    mutating func reset() {
        isInTrailers = false
        bytes.trim()
    }

    /// `HTTP/1.1 200 OK`: the version up to the first blank, then three digits (RFC 9112 §4).
    private borrowing func makeResponse(url: URL?) -> HTTPResponse? {
        let block = bytes.bytes
        guard Self.isStatusLine(block),
            let blank = block.prefix(16).firstIndex(of: UInt8(ascii: " ")),
            block.count >= blank + 4
        else { return nil }
        var status = 0
        for byte in block[(blank + 1)...(blank + 3)] {
            guard (0x30...0x39).contains(byte) else { return nil }
            status = status * 10 + Int(byte & 0x0F)
        }
        return HTTPResponse(
            url: url, statusCode: status,
            httpVersion: String(decoding: block[..<blank], as: UTF8.self),
            headers: HTTPHeaders(HeaderBlock(bytes: Array(block))))
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > 5 && line[0] == UInt8(ascii: "H") && line[1] == UInt8(ascii: "T")
            && line[2] == UInt8(ascii: "T") && line[3] == UInt8(ascii: "P")
            && line[4] == UInt8(ascii: "/")
    }
}
