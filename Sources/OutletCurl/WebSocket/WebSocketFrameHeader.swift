/// Where a frame of a WebSocket begins and ends (RFC 6455 §5.2), as a value.
///
/// Rules are wslay's affair; this only finds out how far a frame goes.
struct WebSocketFrameHeader: Equatable {
    /// How many bytes the header has.
    let size: Int
    /// How many bytes follow it.
    let payloadLength: UInt64
    /// Whether it is a ping, a pong or a close frame, of a size that they may have.
    let isControl: Bool

    /// `nil` when the header goes on behind these bytes.
    init?(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard bytes.count >= 2 else { return nil }
        let code = bytes[bytes.startIndex + 1] & 0x7F
        let lengthSize = code == 127 ? 8 : code == 126 ? 2 : 0
        let maskSize = bytes[bytes.startIndex + 1] & 0x80 == 0 ? 0 : 4
        size = 2 + lengthSize + maskSize
        guard bytes.count >= size else { return nil }
        payloadLength =
            lengthSize == 0
            ? UInt64(code)
            : bytes.dropFirst(2).prefix(lengthSize).reduce(0) { $0 << 8 | UInt64($1) }
        isControl = bytes[bytes.startIndex] & 0x8 != 0 && lengthSize == 0
    }

    /// The bytes of the whole frame; the most there can be if that is more.
    var frameLength: UInt64 {
        let (length, isTooMuch) = payloadLength.addingReportingOverflow(UInt64(size))
        return isTooMuch ? .max : length
    }
}
