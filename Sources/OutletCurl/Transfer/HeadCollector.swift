import FoundationEssentials
import OutletHTTP

/// Gathers the header lines that libcurl hands over one by one (`CURLOPT_HEADERFUNCTION`) into
/// heads and trailers.
struct HeadCollector: ~Copyable {
    /// What a line did.
    enum Event {
        /// Nothing yet.
        case none
        /// It was the empty line behind a head: an interim one (1xx) or the final one.
        case complete
        /// The head or the trailers are larger than allowed.
        case tooLarge
    }

    /// Heads and trailers above this many bytes are refused.
    static var limit: Int { 1 << 20 }

    private var bytes = ByteBuffer()
    private var isInTrailers = false

    /// Whether a line has come since the last complete head.
    var isInsideHead: Bool { !isInTrailers && bytes.count > 0 }

    /// Takes the next line, its line end included.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Event {
        let isEnd = line.count <= 2 && (line.first == 0x0D || line.first == 0x0A)
        if isInTrailers {
            if isEnd { return .none }
            if Self.isStatusLine(line) {
                // A further head on the same transfer: the answer to an authentication round.
                isInTrailers = false
                bytes.clear()
            }
        }
        guard bytes.count + line.count <= Self.limit, bytes.append(line) else { return .tooLarge }
        return isEnd ? .complete : .none
    }

    /// The head that is complete; `nil` when it does not begin as HTTP does.
    mutating func takeHead(url: URL?) -> HTTPResponse? {
        guard let response = makeResponse(url: url) else { return nil }
        bytes.clear()
        isInTrailers = !(100..<200).contains(response.statusCode) || response.statusCode == 101
        return response
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
    private func makeResponse(url: URL?) -> HTTPResponse? {
        let block = bytes.bytes
        guard Self.isStatusLine(block) else { return nil }
        var blank = 5
        while blank < 16, blank + 4 < block.count, block[blank] != UInt8(ascii: " ") { blank += 1 }
        var status = 0
        for offset in 1...3 {
            guard blank + offset < block.count else { return nil }
            let digit = block[blank + offset]
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            status = status * 10 + Int(digit & 0x0F)
        }
        return HTTPResponse(
            url: url, statusCode: status, httpVersion: Self.version(block, blank),
            headers: HTTPHeaders(HeaderBlock(bytes: Array(block))))
    }

    private static func version(_ block: UnsafeRawBufferPointer, _ end: Int) -> String {
        if end == 8, block[5] == UInt8(ascii: "1"), block[7] == UInt8(ascii: "1") {
            return "HTTP/1.1"
        }
        return String(decoding: block[..<end], as: UTF8.self)
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > 5 && line[0] == UInt8(ascii: "H") && line[1] == UInt8(ascii: "T")
            && line[2] == UInt8(ascii: "T") && line[3] == UInt8(ascii: "P")
            && line[4] == UInt8(ascii: "/")
    }
}
