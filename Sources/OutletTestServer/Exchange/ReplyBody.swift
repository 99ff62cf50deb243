import OutletPointers

internal import CMicroHTTPD
internal import Dispatch

/// A response body: bytes in memory, or bytes generated while they are sent.
enum ReplyBody {
    case bytes([UInt8])
    /// `count` bytes of ``BytePattern``, with a `Content-Length`.
    case pattern(count: Int)
    /// `count` lines, generated one by one and sent chunked.
    case lines(count: Int, line: (Int) -> [UInt8])
    /// `count` asterisks with a `Content-Length`: one at once, then one every `interval` seconds.
    case drip(count: Int, interval: Double)

    private static let blockSize = 64 * 1024

    /// Makes the libmicrohttpd response, which the caller must destroy; `nil` if out of memory.
    func makeResponse(connection: OpaquePointer, suspensions: Suspensions) -> OpaquePointer? {
        let source: any BodySource
        let size: UInt64
        switch self {
        case .bytes(let bytes):
            return bytes.withUnsafeBytes {
                MHD_create_response_from_buffer(
                    $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress),
                    .RESPMEM_MUST_COPY)
            }
        case .pattern(let count):
            source = BytePattern()
            size = UInt64(count)
        case .lines(let count, let line):
            source = LineSource(count: count, line: line)
            size = UInt64.max  // MHD_SIZE_UNKNOWN
        case .drip(let count, let interval):
            source = SlowSource(interval: interval, connection: connection, suspensions)
            size = UInt64(count)
        }
        return MHD_create_response_from_callback(
            size, Self.blockSize, readBody,
            ObjectPointer.retained(BodyReader(source: source)), releaseBody)
    }
}

/// Generates the bytes of a body while libmicrohttpd sends them.
///
/// Thread: called on the daemon's thread.
protocol BodySource {
    /// Writes the bytes of the body from `position` on to the start of `buffer`.
    ///
    /// - Returns: The number of bytes; 0 if the connection was suspended; `nil` at the end.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int?
}

private final class BodyReader {
    var source: any BodySource

    init(source: any BodySource) {
        self.source = source
    }
}

private let readBody: MHD_ContentReaderCallback = { context, position, buffer, size in
    let endOfStream = -1  // MHD_CONTENT_READER_END_OF_STREAM
    guard let context, let buffer else { return endOfStream }
    let reader = ObjectPointer.object(at: context, as: BodyReader.self)
    let target = UnsafeMutableRawBufferPointer(start: buffer, count: size)
    return reader.source.read(into: target, at: Int(position)) ?? endOfStream
}

private let releaseBody: MHD_ContentReaderFreeCallback = { context in
    guard let context else { return }
    ObjectPointer.release(context)
}

/// A pattern in which each byte depends only on its position.
///
/// It repeats with no usual buffer size, so a test notices bytes that were lost or repeated.
struct BytePattern: BodySource {
    static func byte(at position: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: position &* 31 &+ position / 251)
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int? {
        for offset in buffer.indices { buffer[offset] = Self.byte(at: position + offset) }
        return buffer.count
    }
}

/// Lines, each generated when libmicrohttpd asks for it.
private struct LineSource: BodySource {
    let count: Int
    let line: (Int) -> [UInt8]
    private var next = 0
    private var rest: ArraySlice<UInt8> = []

    init(count: Int, line: @escaping (Int) -> [UInt8]) {
        self.count = count
        self.line = line
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int? {
        if rest.isEmpty {
            guard next < count else { return nil }
            rest = line(next)[...]
            next += 1
        }
        let piece = rest.prefix(buffer.count)
        buffer.copyBytes(from: piece)
        rest = rest.dropFirst(piece.count)
        return piece.count
    }
}

/// One byte at a time, with a fixed interval between them.
private struct SlowSource: BodySource {
    let interval: Double
    let connection: OpaquePointer
    let suspensions: Suspensions
    private let start = DispatchTime.now().uptimeNanoseconds

    init(interval: Double, connection: OpaquePointer, _ suspensions: Suspensions) {
        self.interval = interval
        self.connection = connection
        self.suspensions = suspensions
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int? {
        let elapsed = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
        let due = interval * Double(position)
        if elapsed < due, suspensions.suspend(connection, seconds: due - elapsed) { return 0 }
        buffer[0] = UInt8(ascii: "*")
        return 1
    }
}
