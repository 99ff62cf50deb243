public import OutletHTTP
internal import OutletTransport

/// A body stream over bytes in memory, which counts its rewinds.
public final class TestStream: BodyStream {
    /// The error of a stream that cannot be rewound.
    public struct Gone: Error {}

    private let bytes: [UInt8]
    private let canRewind: Bool
    private let state = Lock((position: 0, rewinds: 0))
    /// The declared length in bytes; `nil` if unknown.
    public let length: Int64?

    /// Makes a stream.
    ///
    /// - Parameters:
    ///   - text: The content.
    ///   - length: The length that the stream declares, in bytes; `nil` if it declares none.
    ///   - canRewind: Whether ``rewind()`` succeeds.
    public init(_ text: String, length: Int64? = nil, canRewind: Bool = true) {
        bytes = Array(text.utf8)
        self.length = length
        self.canRewind = canRewind
    }

    /// How often the stream was rewound.
    public var rewinds: Int { state.withLock { $0.rewinds } }

    /// Copies the next bytes into `buffer`.
    ///
    /// - Returns: The number of bytes; 0 at the end.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        state.withLock { state in
            let piece = bytes[state.position...].prefix(buffer.count)
            buffer.copyBytes(from: piece)
            state.position += piece.count
            return piece.count
        }
    }

    /// Goes back to the first byte.
    ///
    /// - Throws: ``Gone`` if the stream was made with `canRewind: false`.
    public func rewind() throws {
        guard canRewind else { throw Gone() }
        state.withLock { $0 = (0, $0.rewinds + 1) }
    }
}
