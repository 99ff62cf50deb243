/// The header of a WebSocket frame (RFC 6455 §5.2), parsed only to find the frame's end.
///
/// wslay checks whether the frame is valid.
struct WebSocketFrameHeader: Equatable {
    /// The size of the header in bytes.
    let size: Int
    /// The number of bytes after the header.
    let payloadLength: UInt64
    /// Whether it is a ping, pong or close frame of valid size.
    let isControl: Bool
    /// Whether it is a close frame of valid size.
    let isClose: Bool

    /// Parses a header; `nil` if it is incomplete.
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
        isClose = isControl && bytes[bytes.startIndex] & 0xF == 0x8
    }

    /// The size of the whole frame in bytes; limited to `UInt64.max`.
    var frameLength: UInt64 {
        let (length, isTooMuch) = payloadLength.addingReportingOverflow(UInt64(size))
        return isTooMuch ? .max : length
    }
}
