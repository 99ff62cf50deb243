import FoundationEssentials
import OutletHTTP
import OutletTransport

/// One part of a form: its header fields and the source of its bytes.
struct MultipartPart: Sendable {
    /// Where a part's bytes come from.
    enum Source: Sendable {
        case data(Data)
        /// A file; its length is `nil` if only reading it tells.
        case file(path: String, url: URL, length: UInt64?)
        case stream(MultipartSource)
    }

    let headers: HTTPHeaders
    let source: Source

    /// The number of bytes; `nil` when it is not known.
    var length: UInt64? {
        switch source {
        case .data(let data): UInt64(data.count)
        case .file(_, _, let length): length
        case .stream(let source): source.length
        }
    }
}

/// A stream given as a part; rewound only if it was read before.
final class MultipartSource: Sendable {
    let stream: any BodyStream
    let length: UInt64?
    private let wasRead = Lock(false)

    init(stream: any BodyStream, length: UInt64?) {
        self.stream = stream
        self.length = length
    }

    /// Rewinds the stream to its first byte if it was read before.
    func begin() throws {
        let isUsed = wasRead.withLock { wasRead in
            defer { wasRead = true }
            return wasRead
        }
        if isUsed { try stream.rewind() }
    }
}

/// A multipart body that encodes its parts while it is read: files and streams are never held
/// in memory as a whole.
final class MultipartBody: BodyStream, @unchecked Sendable {
    // because the calls of a `BodyStream` never overlap.

    private enum Segment {
        case bytes(Data)
        case file(path: String, url: URL, length: UInt64?)
        case stream(MultipartSource)
    }

    let length: Int64?
    private let segments: [Segment]
    /// The segment that is read next, and how many of its bytes were read.
    private var index = 0
    private var offset = 0
    /// The stream of the segment being read.
    private var open: Open?

    private typealias Open = (stream: any BodyStream, expected: UInt64?, count: UInt64)

    init(boundary: MultipartBoundary, parts: [MultipartPart]) {
        var segments: [Segment] = []
        var length: UInt64? = 0
        func add(_ segment: Segment, _ count: UInt64?) {
            segments.append(segment)
            length = length.flatMap { total in count.map { total.addingClamped($0) } }
        }
        for (index, part) in parts.enumerated() {
            let delimiter = index == 0 ? boundary.initial : boundary.encapsulated
            let head = delimiter + MultipartHead.encoded(part.headers)
            add(.bytes(head), UInt64(head.count))
            switch part.source {
            case .data(let data): add(.bytes(data), part.length)
            case .file(let path, let url, let length):
                add(.file(path: path, url: url, length: length), part.length)
            case .stream(let source): add(.stream(source), part.length)
            }
        }
        // The body of a form without parts is empty.
        if !parts.isEmpty { add(.bytes(boundary.final), UInt64(boundary.final.count)) }
        self.segments = segments
        self.length = length.map { Int64(clamping: $0) }
    }

    /// The name of the stream that is read next.
    var name: String { source?.stream.name ?? "the form of the request's body" }

    /// The stream that is read next; `nil` if the next bytes come from memory or from a file.
    private var source: MultipartSource? {
        guard index < segments.count, case .stream(let source) = segments[index] else { return nil }
        return source
    }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool {
        guard let source else { return false }
        do {
            // A stream that was read before is rewound first, else it would answer for its end.
            let current = try open ?? begin(source)
            open = current
            return current.stream.mustWait(ready: ready)
        } catch {
            // `read` tries the same again, and throws.
            return false
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var filled = 0
        while filled < buffer.count, index < segments.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            switch segments[index] {
            case .bytes(let data): filled += copy(data, to: rest)
            case .file(let path, let url, let length):
                filled += try readStream(rest, of: url) { try Self.file(path, url, length) }
            case .stream(let source):
                // The next call asks before whether the stream must be waited for.
                guard filled == 0 else { return filled }
                filled += try readStream(rest) { try begin(source) }
            }
        }
        return filled
    }

    func rewind() {
        // Streams are rewound, and files opened again, when their segment is reached.
        open = nil
        index = 0
        offset = 0
    }

    private func copy(_ data: Data, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, data.count - offset)
        let start = data.startIndex + offset
        buffer.copyBytes(from: data[start..<start + count])
        offset += count
        if offset == data.count { advance() }
        return count
    }

    private func readStream(
        _ buffer: UnsafeMutableRawBufferPointer, of file: URL? = nil, begin: () throws -> Open
    ) throws -> Int {
        var current = try open ?? begin()
        let count = try reading { try current.stream.read(into: buffer) }
        guard 0...buffer.count ~= count else {
            throw SessionError.multipartEncodingFailed(
                reason: .inputStreamReadFailed(
                    error: TransferError(
                        code: .badRequest, stage: .sending,
                        reason: "the stream of a part returned \(count) for a buffer of "
                            + "\(buffer.count) bytes")))
        }
        current.count += UInt64(count)
        open = current
        if let expected = current.expected,
            current.count > expected || (count == 0 && current.count < expected)
        {
            throw SessionError.multipartEncodingFailed(
                reason: .inputStreamReadFailed(
                    error: SessionError.UnexpectedInputStreamLength(
                        bytesExpected: expected, bytesRead: current.count, file: file)))
        }
        if count == 0 { advance() }
        return count
    }

    private func advance() {
        open = nil
        offset = 0
        index += 1
    }

    private func begin(_ source: MultipartSource) throws -> Open {
        try reading { try source.begin() }
        return (source.stream, source.length, 0)
    }

    private static func file(_ path: String, _ url: URL, _ length: UInt64?) throws -> Open {
        do {
            return (try FileBodyStream(path: path), length, 0)
        } catch {
            throw SessionError.multipartEncodingFailed(
                reason: .bodyPartFileNotReachableWithError(atURL: url, error: error))
        }
    }

    private func reading<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw SessionError.multipartEncodingFailed(
                reason: .inputStreamReadFailed(error: error))
        }
    }
}

extension UInt64 {
    /// The sum of two lengths, at most `max`: a length may be any number that a program was given.
    func addingClamped(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
