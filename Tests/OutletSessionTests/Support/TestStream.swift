import OutletHTTP
import OutletSession
import OutletTransport

/// A stream of bytes in memory that counts how often it was taken back.
final class TestStream: BodyStream {
    struct Gone: Error {}

    private let bytes: [UInt8]
    private let canRewind: Bool
    private let state = Lock((position: 0, rewinds: 0))
    let length: Int64?

    init(_ text: String, length: Int64? = nil, canRewind: Bool = true) {
        bytes = Array(text.utf8)
        self.length = length
        self.canRewind = canRewind
    }

    var rewinds: Int { state.withLock { $0.rewinds } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        state.withLock { state in
            let piece = bytes[state.position...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            state.position += piece.count
            return piece.count
        }
    }

    func rewind() throws {
        guard canRewind else { throw Gone() }
        state.withLock { $0 = (0, $0.rewinds + 1) }
    }
}
