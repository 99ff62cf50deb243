/// The header of a WebSocket frame (RFC 6455 §5.2), parsed to find the frame's end, and to describe
/// a faulty frame in an error.
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
    /// The first byte: whether the frame is final, the reserved bits and the opcode.
    private let kind: UInt8
    /// The second byte: whether the frame is masked, and its short length.
    private let shape: UInt8

    /// Parses a header; `nil` if it is incomplete.
    init?(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard bytes.count >= 2 else { return nil }
        kind = bytes[bytes.startIndex]
        shape = bytes[bytes.startIndex + 1]
        let code = shape & 0x7F
        let lengthSize = code == 127 ? 8 : code == 126 ? 2 : 0
        let maskSize = shape & 0x80 == 0 ? 0 : 4
        size = 2 + lengthSize + maskSize
        guard bytes.count >= size else { return nil }
        payloadLength =
            lengthSize == 0
            ? UInt64(code)
            : bytes.dropFirst(2).prefix(lengthSize).reduce(0) { $0 << 8 | UInt64($1) }
        isControl = kind & 0x8 != 0 && lengthSize == 0
        isClose = isControl && kind & 0xF == 0x8
    }

    /// What RFC 6455 forbids in the header of a server's frame; `nil` if it may be valid.
    var fault: String? {
        if shape & 0x80 != 0 { return "a masked frame" }
        if kind & 0x70 != 0 { return "a frame with a reserved bit, without an extension" }
        let isControlKind = kind & 0x8 != 0
        switch kind & 0xF {
        case 0, 1, 2, 8, 9, 10: break
        case let opcode: return "a frame of the unknown kind \(opcode)"
        }
        if isControlKind, kind & 0x80 == 0 { return "a fragment of a ping, pong or close frame" }
        if isControlKind, shape > 125 { return "a ping, pong or close frame above 125 bytes" }
        let isShortest = shape < 126 || payloadLength >= (shape == 126 ? 126 : 65_536)
        guard isShortest, payloadLength <= UInt64(Int64.max) else {
            return "a frame whose length is not in its shortest form, or is negative"
        }
        return nil
    }

    /// The size of the whole frame in bytes; limited to `UInt64.max`.
    var frameLength: UInt64 {
        let (length, isTooMuch) = payloadLength.addingReportingOverflow(UInt64(size))
        return isTooMuch ? .max : length
    }
}
