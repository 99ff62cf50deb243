import CWslay
import FoundationEssentials
import Glibc
import OutletPointers
import OutletTransport

/// Encodes and decodes a client's WebSocket frames (RFC 6455 §5) with wslay.
///
/// Converts bytes to messages and messages to bytes, without a socket or a clock.
///
/// Thread: its loop's.
final class WebSocketFrames {
    /// What was received.
    enum Event: Equatable {
        case message(WebSocketMessage)
        case pong([UInt8])
        case close(WebSocketCloseCode, reason: Data?)
    }

    /// How many bytes are encoded at a time: enough to fill two TLS records.
    static let outputSize = 32 << 10

    /// wslay's state; `nil` when neither reading nor writing is possible any more.
    private var context: wslay_event_context_ptr?
    private let maximumMessageSize: Int
    // Release builds do not check exclusive access to what each message uses, because only the
    // loop's driver uses it. The checks cost 18 % of the instructions of a received message
    // (Benchmarks/count socket-receive).

    /// The received events; exchanged for the caller's queue while wslay runs.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var events = Fifo<Event>()
    /// The bytes that wslay may read now.
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The number of bytes left of the frame that wslay is reading.
    private var frameRest: UInt64 = 0
    /// The start of an incomplete header or control frame.
    private var held: [UInt8] = []
    private var output: [UInt8] = []
    /// Whether wslay has stopped inside a frame because ``output`` is full.
    private var isInsideFrame = false
    private var masks = MaskSource()
    /// The data of the message that is being received.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var message: ByteBuffer
    /// Whether the frame that is being received is a control frame.
    private var isControlFrame = false
    /// The received close frame, if wslay 1.1.1 does not know its code, and gets 1000 in its place.
    private var newerClose: (code: WebSocketCloseCode, reason: Data)?
    private var isTooBig = false
    private var isFaulty = false
    /// Describes the last frame given to wslay, if that may have to refuse it.
    private var refusableFrame: String?

    /// Makes the state for a new connection; `nil` if memory cannot be allocated.
    ///
    /// - Parameters:
    ///   - maximumMessageSize: The maximum size of a received message, in bytes.
    ///   - blocks: The memory of large messages.
    init?(maximumMessageSize: Int, blocks: BlockPool) {
        self.maximumMessageSize = maximumMessageSize
        message = ByteBuffer(from: blocks)
        context = makeContext()
        if context == nil { return nil }
    }

    deinit {
        if let context { wslay_event_context_free(context) }
    }

    private func makeContext() -> wslay_event_context_ptr? {
        var callbacks = wslay_event_callbacks.ofFrames
        var made: wslay_event_context_ptr?
        let client = ObjectPointer.unretained(self)
        guard wslay_event_context_client_init(&made, &callbacks, client) == 0 else { return nil }
        // This class assembles messages itself. wslay would allocate memory for each fragment, even
        // an empty one, would not report which rule was violated, and would apply the limit to
        // control frames as well.
        wslay_event_config_set_no_buffering(made, 1)
        wslay_event_config_set_max_recv_msg_length(made, UInt64(Int64.max))
        return made
    }

    // MARK: Receiving

    /// Decodes received bytes, and appends the events to `received`: none after a close frame or a
    /// ``fault``.
    func receive(_ bytes: UnsafeRawBufferPointer, into received: inout Fifo<Event>) {
        guard let context, !isFaulty, !isCloseReceived else { return }
        guard held.isEmpty else {
            let bytes = held + bytes
            held = []
            return bytes.withUnsafeBytes { receive($0, into: &received) }
        }
        swap(&events, &received)
        defer { swap(&events, &received) }
        input = bytes
        let code = wslay_event_recv(context)
        held = Array(input)
        input = UnsafeRawBufferPointer(start: nil, count: 0)
        if code != 0 {
            replaceContext()
        } else if wslay_event_get_read_enabled(context) == 0, !isCloseReceived {
            isFaulty = true
        }
    }

    /// Sends a close frame with an error code for a frame that wslay cannot parse at all, because
    /// wslay itself would close without a reason.
    private func replaceContext() {
        isFaulty = true
        if let context { wslay_event_context_free(context) }
        context = isInsideFrame ? nil : makeContext()
        close(.protocolError, reason: nil)
    }

    /// The rule that the peer has violated, as a close code; `nil` if it has not violated any.
    ///
    /// The close frame with that code is sent automatically.
    var fault: WebSocketCloseCode? {
        guard isFaulty else { return nil }
        if isTooBig { return .messageTooBig }
        guard let context, wslay_event_get_close_sent(context) != 0 else { return .protocolError }
        return WebSocketCloseCode(rawValue: Int(wslay_event_get_status_code_sent(context)))
    }

    /// What the peer has sent against the protocol, for an error; of use if ``fault`` is
    /// ``WebSocketCloseCode/protocolError``.
    var violation: String {
        refusableFrame ?? "a fragment of no message, or a message inside of another"
    }

    /// Whether the peer's close frame was received; the response to it is sent automatically.
    var isCloseReceived: Bool {
        context.map { wslay_event_get_close_received($0) != 0 } ?? false
    }

    // MARK: Sending

    /// Queues a message.
    ///
    /// - Returns: False after a close frame, or if memory cannot be allocated.
    func send(_ message: WebSocketMessage) -> Bool {
        switch message {
        case .data(let data):
            return data.withUnsafeBytes { queue(WSLAY_BINARY_FRAME, $0) }
        case .string(var text):
            return text.withUTF8 { queue(WSLAY_TEXT_FRAME, UnsafeRawBufferPointer($0)) }
        }
    }

    /// Queues a ping with a payload of at most 125 bytes.
    ///
    /// - Returns: False after a close frame, or if memory cannot be allocated.
    func ping(_ payload: [UInt8]) -> Bool {
        payload.withUnsafeBytes { queue(WSLAY_PING, $0) }
    }

    private func queue(_ opcode: wslay_opcode, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let context else { return false }
        var message = wslay_event_msg(
            opcode: UInt8(opcode.rawValue),
            msg: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), msg_length: bytes.count)
        return wslay_event_queue_msg(context, &message) == 0
    }

    /// Queues a close frame, after which nothing else is sent.
    ///
    /// A code that must not be sent (RFC 6455 §7.4) is left out together with the reason. The
    /// reason is converted to valid UTF-8 and cut off after 123 bytes.
    ///
    /// - Returns: Whether a close frame is queued or encoded: this one, or one queued before.
    @discardableResult
    func close(_ code: WebSocketCloseCode, reason: Data?) -> Bool {
        guard let context else { return false }
        var text = String(decoding: reason ?? Data(), as: UTF8.self)
        while text.utf8.count > 123 { text.unicodeScalars.removeLast() }
        let number = code.isSendable ? UInt16(code.rawValue) : 0
        let error = text.withUTF8 {
            wslay_event_queue_close(context, number, $0.baseAddress, $0.count)
        }
        return error == 0 || error == Int32(WSLAY_ERR_NO_MORE_MSG.rawValue)
    }

    /// Whether nothing more can be read or written, because memory or random bytes were missing.
    var isBroken: Bool { context == nil }

    /// Whether there are queued frames, or parts of them, to encode.
    var wantsToSend: Bool { context.map { wslay_event_want_write($0) != 0 } ?? false }

    /// The number of queued frames.
    var backlog: Int { context.map { wslay_event_get_queued_msg_count($0) } ?? 0 }

    /// Encodes queued frames and appends them to `bytes`, which get at most ``outputSize`` bytes.
    func encode(into bytes: inout [UInt8]) {
        guard let context, wantsToSend else { return }
        swap(&output, &bytes)
        defer { swap(&output, &bytes) }
        isInsideFrame = false
        if wslay_event_send(context) != 0 {
            // Memory or random bytes are missing. A frame may be incomplete, so nothing can follow
            // it.
            wslay_event_context_free(context)
            self.context = nil
        }
    }

    // MARK: Callbacks of wslay

    /// Fills wslay's buffer, up to a control frame that is incomplete or does not fit; a frame that
    /// wslay may have to refuse begins a buffer.
    ///
    /// wslay 1.1.1 checks the reason of a close frame in pieces, and skips two bytes of each piece
    /// for the code, which only the first piece contains.
    ///
    /// - Returns: The number of bytes; 0 if more must be received first.
    func takeInput(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let limit = min(buffer.count, input.count)
        var count = 0
        while count < limit {
            if frameRest == 0 {
                guard let header = WebSocketFrameHeader(input[count...]) else { break }
                if header.isControl, header.frameLength > UInt64(limit - count) { break }
                let fault = header.fault
                if fault != nil || header.isClose {
                    if count > 0 { break }
                    refusableFrame = fault
                }
                if header.isClose { return takeClose(header, into: buffer) }
                frameRest = header.frameLength
            }
            let part = min(limit - count, Int(clamping: frameRest))
            count += part
            frameRest -= UInt64(part)
        }
        return moveInput(count, into: buffer)
    }

    private func moveInput(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    /// Gives wslay a close frame at the start of ``input``, and replaces a code that wslay does not
    /// know, unless the reason is not UTF-8, which wslay refuses.
    ///
    /// - Returns: The number of bytes.
    private func takeClose(
        _ header: WebSocketFrameHeader, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let count = moveInput(Int(header.frameLength), into: buffer)
        let payload = UnsafeMutableRawBufferPointer(rebasing: buffer[header.size..<count])
        guard payload.count >= 2 else {
            if payload.count == 1 { refusableFrame = "a close frame with half a code" }
            return count
        }
        let code = (Int(payload[0]) << 8 | Int(payload[1])).closeCode
        refusableFrame = refusableFrame ?? "the close code \(code.rawValue)"
        let reason = payload.dropFirst(2)
        if code.isNewer, String(validating: reason, as: UTF8.self) != nil {
            newerClose = (code, Data(reason))
            let known = UInt16(WebSocketCloseCode.normalClosure.rawValue).bigEndian
            payload.storeBytes(of: known, as: UInt16.self)
        }
        return count
    }

    func putOutput(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = Self.outputSize - output.count
        isInsideFrame = bytes.count > room
        output.append(contentsOf: bytes.prefix(room))
        return min(bytes.count, room)
    }

    /// Makes the mask of a frame.
    ///
    /// - Returns: Whether there are random bytes.
    func makeMask(in buffer: UnsafeMutableRawBufferPointer) -> Bool { masks.take(into: buffer) }

    func beginFrame(_ frame: wslay_event_on_frame_recv_start_arg) {
        isControlFrame = frame.opcode & 0x8 != 0
        guard !isControlFrame else {
            // A close frame with half a code (RFC 6455 §5.5.1), which wslay treats as one without a
            // code.
            guard UInt32(frame.opcode) == WSLAY_CONNECTION_CLOSE.rawValue else { return }
            if frame.payload_length == 1 { refuse(with: .protocolError) }
            // Before wslay responds with the code that it was given.
            if let newerClose { close(newerClose.code, reason: newerClose.reason) }
            return
        }
        guard frame.payload_length <= UInt64(max(0, maximumMessageSize - message.count)) else {
            refuseSize()
            return
        }
        // Memory is reserved for at most 1 MiB that the peer announces; beyond, the buffer grows as
        // bytes arrive.
        message.reserve(message.count + Int(min(frame.payload_length, 1 << 20)))
    }

    private func refuseSize() {
        isTooBig = true
        refuse(with: .messageTooBig)
    }

    private func refuse(with code: WebSocketCloseCode) {
        guard let context else { return }
        isFaulty = true
        wslay_event_shutdown_read(context)
        close(code, reason: nil)
    }

    func addChunk(_ bytes: UnsafeRawBufferPointer) {
        guard !isControlFrame, !isTooBig, !bytes.isEmpty else { return }
        if !message.append(bytes) { refuseSize() }
    }

    func endMessage(_ arg: wslay_event_on_msg_recv_arg) {
        guard !isFaulty else { return }
        let payload = UnsafeRawBufferPointer(start: arg.msg, count: arg.msg_length)
        switch UInt32(arg.opcode) {
        case WSLAY_TEXT_FRAME.rawValue:
            events.append(.message(.string(String(decoding: message.bytes, as: UTF8.self))))
            message.trim()
        case WSLAY_BINARY_FRAME.rawValue:
            events.append(.message(.data(message.takeData())))
        case WSLAY_PONG.rawValue: events.append(.pong(Array(payload)))
        case WSLAY_CONNECTION_CLOSE.rawValue:
            let code =
                newerClose?.code
                ?? (arg.status_code == 0 ? .noStatusReceived : Int(arg.status_code).closeCode)
            let reason = payload.dropFirst(2)
            events.append(.close(code, reason: reason.isEmpty ? nil : Data(reason)))
        default: break
        }
    }
}

/// Makes masks from the system's random source, because masks must be unpredictable (RFC 6455
/// §10.3).
private struct MaskSource {
    /// Random bytes that were not used; so many are fetched with one system call.
    private var bytes: [UInt8] = []

    /// Fills `buffer`.
    ///
    /// - Returns: Whether the system has returned random bytes.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        if bytes.count < buffer.count {
            bytes = Array(repeating: 0, count: 256)
            guard bytes.withUnsafeMutableBytes({ getentropy($0.baseAddress, $0.count) }) == 0,
                bytes.count >= buffer.count
            else {
                bytes = []
                return false
            }
        }
        buffer.copyBytes(from: bytes.suffix(buffer.count))
        bytes.removeLast(buffer.count)
        return true
    }
}

extension Int {
    fileprivate var closeCode: WebSocketCloseCode { WebSocketCloseCode(rawValue: self) }
}

extension WebSocketCloseCode {
    /// Whether the code was registered after RFC 6455: service restart, try again later, and bad
    /// gateway.
    var isNewer: Bool { (1012...1014).contains(rawValue) }

    /// Whether the code may be sent in a close frame (RFC 6455 §7.4).
    var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1011, 3000...4999: true
        default: isNewer
        }
    }
}
