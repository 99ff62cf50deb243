internal import CZlib

/// Decodes `gzip` (RFC 1952, with any number of members) and `deflate` with zlib.
///
/// `deflate` is the zlib format (RFC 1950), but some servers send raw deflate (RFC 1951).
final class Inflater: ContentDecoder.Engine {
    /// The format around the deflated data.
    enum Wrapping {
        case gzip, deflate
    }

    private let wrapping: Wrapping
    private let stream: UnsafeMutablePointer<z_stream>
    private var hasBegun = false
    private(set) var isAtEnd = false
    private var emptyMembers = EmptyMembers()

    init(_ wrapping: Wrapping) throws(ContentDecoder.Failure) {
        self.wrapping = wrapping
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let bits = wrapping == .gzip ? MAX_WBITS + 16 : MAX_WBITS
        let code = inflateInit2_(
            stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw failure(code) }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecoder.Failure) -> Int {
        var written = 0
        while written < output.count {
            if input.isEmpty, !hasBegun || isAtEnd { break }
            if isAtEnd { try beginMember(input) }
            if !hasBegun { try begin(input) }
            let code = run(
                &input, into: UnsafeMutableRawBufferPointer(rebasing: output[written...]),
                &written)
            switch code {
            case Z_OK: continue
            case Z_STREAM_END:
                isAtEnd = true
                try emptyMembers.end(isEmpty: stream.pointee.total_out == 0, "\(wrapping)")
            // No progress is possible: the input is consumed.
            case Z_BUF_ERROR: return written
            default: throw failure(code)
            }
        }
        return written
    }

    private func run(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        _ written: inout Int
    ) -> Int32 {
        let given = uInt(clamping: input.count)
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = given
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = uInt(output.count)
        let code = inflate(stream, Z_NO_FLUSH)
        input = UnsafeRawBufferPointer(rebasing: input[Int(given - stream.pointee.avail_in)...])
        written += output.count - Int(stream.pointee.avail_out)
        return code
    }

    /// Switches to raw deflate if the first byte is not that of a zlib header.
    ///
    /// The lower four bits of that byte are 8; no encoder makes a raw block that begins so.
    private func begin(_ input: UnsafeRawBufferPointer) throws(ContentDecoder.Failure) {
        hasBegun = true
        guard wrapping == .deflate, let first = input.first, first & 0x0F != 8 else { return }
        let code = inflateReset2(stream, -MAX_WBITS)
        guard code == Z_OK else { throw failure(code) }
    }

    private func beginMember(_ input: UnsafeRawBufferPointer) throws(ContentDecoder.Failure) {
        guard wrapping == .gzip, input.first == 0x1F else {
            throw ContentDecoder.Failure(
                description: "\(wrapping): \(input.count) bytes follow the end of the coding")
        }
        isAtEnd = false
        let code = inflateReset(stream)
        guard code == Z_OK else { throw failure(code) }
    }

    private func failure(_ code: Int32) -> ContentDecoder.Failure {
        let words = stream.pointee.msg.map { String(cString: $0) }
        return ContentDecoder.Failure(
            description: "\(wrapping): \(words ?? String(cString: zError(code)))")
    }
}
