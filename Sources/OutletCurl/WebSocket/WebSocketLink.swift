import FoundationEssentials
import OutletTransport

/// The state of a WebSocket in addition to its transfer's: its stage, and what waits to be sent.
///
/// Thread: its loop's.
final class WebSocketLink {
    /// The stages of the connection.
    enum Stage: Equatable {
        /// libcurl is connecting: DNS, TCP, proxy, TLS.
        case connecting
        /// The handshake is being sent or received.
        case handshaking
        /// Messages can be sent and received.
        case open
        /// The peer violated the protocol and gets a close frame; what it still sends is discarded.
        case refusing
    }

    let job: WebSocketJob
    var stage = Stage.connecting
    /// Whether writing is paused; `CurlTransfer.pauses` pauses reading only.
    var isSuspended = false
    var descriptor: Int32 = -1
    var handshake: WebSocketHandshake?
    var frames: WebSocketFrames?
    /// An incomplete line of the handshake's response.
    var line: [UInt8] = []
    /// Receives the messages; `nil` before the connection is open and after its end.
    private(set) var handler: (any WebSocketHandler)?
    /// Received events that the handler has not got yet.
    ///
    /// Exclusive access to it is checked as to the frames' events.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var received = Fifo<WebSocketFrames.Event>()
    /// The peer's close frame; `nil` before it.
    var peerClose: (code: WebSocketCloseCode, reason: Data?)?
    /// The close that this end has requested; `nil` before it.
    var ownClose: (code: WebSocketCloseCode, reason: Data?)?
    /// Whether the last byte of this end's close frame was sent.
    private(set) var isCloseSent = false
    /// The error that ended writing; there may still be data to read.
    var writeError: TransferError?
    /// When the peer must have closed the connection, in µs; `nil` for no limit.
    var closeDeadline: Int64?

    /// The capacity in bytes up to which the output's memory is kept while nothing is sent.
    private static let keptOutput = 4096

    /// The bytes that are being sent; those before ``outputStart`` were sent.
    private var output: [UInt8] = []
    private var outputStart = 0
    private var orders = Fifo<WebSocketOrder>()
    /// Whether it is in the loop's list of WebSockets with new orders.
    var isListed = false
    /// The message that is being encoded.
    private var current: WebSocketOrder?
    /// The messages that end before `end` in ``output``.
    private var encoded = Fifo<
        (order: WebSocketOrder, end: Int, result: Result<Void, TransferError>)
    >()
    private var pings: [(number: UInt64, order: WebSocketOrder)] = []
    private var lastPing: UInt64 = 0

    // For the metrics, in µs and bytes.

    var headAt: Int64 = 0
    var firstByteAt: Int64 = 0
    var bytesSent: Int64 = 0
    var bytesReceived: Int64 = 0
    var headBytesReceived: Int64 = 0

    init(_ job: WebSocketJob) {
        self.job = job
    }

    /// Whether libcurl has connected.
    var isConnected: Bool { stage != .connecting }
    /// Whether the connection was closed with a close frame, by either end.
    var isClosed: Bool { peerClose != nil || isCloseSent }
    /// Whether there are bytes to send.
    var hasOutput: Bool { outputStart < output.count }
    /// Whether there are bytes to send as soon as the socket is writable.
    var maySend: Bool { hasOutput && !isSuspended && writeError == nil }
    /// Whether more than 1024 frames wait to be sent, so that nothing more is read.
    ///
    /// A peer that sends pings but does not read the pongs would otherwise fill the memory.
    var isFlooded: Bool { (frames?.backlog ?? 0) > 1024 }

    /// Allows messages to be sent and received, after the handshake.
    func open(_ frames: WebSocketFrames, handler: (any TransferHandler)?) {
        stage = .open
        self.frames = frames
        self.handler = handler as? any WebSocketHandler
    }

    // MARK: Sending

    /// Calls `body` with the bytes to send next.
    func withOutput<Answer>(_ body: (UnsafeRawBufferPointer) -> Answer) -> Answer {
        output.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[outputStart...])) }
    }

    /// Records that `count` bytes were sent, and completes the messages that they end.
    func didSend(_ count: Int) {
        outputStart += count
        bytesSent += Int64(count)
        completeSent()
    }

    /// Replaces the output, all of which was sent.
    func put(_ bytes: [UInt8]) {
        output = bytes
        outputStart = 0
    }

    /// Encodes as many orders as fit, after all bytes were sent.
    ///
    /// - Returns: Whether there are bytes to send.
    func refill() -> Bool {
        guard let frames else { return false }
        output.removeAll(keepingCapacity: output.capacity <= Self.keptOutput)
        outputStart = 0
        while true {
            frames.encode(into: &output)
            if frames.wantsToSend { break }
            if let order = current {
                current = nil
                encoded.append((order, output.count, Self.result(of: order, frames)))
            }
            guard output.count < WebSocketFrames.outputSize, let next = orders.popFirst() else {
                break
            }
            begin(next, frames)
        }
        completeSent()
        return hasOutput
    }

    /// The result of an order when all that could be encoded of it is sent.
    private static func result(
        of order: WebSocketOrder, _ frames: WebSocketFrames
    ) -> Result<Void, TransferError> {
        guard !frames.isBroken else { return .failure(.notSent) }
        if case .close = order.kind { return .success(()) }
        // A close frame overtakes messages that wslay has not started to send.
        let isWhole = frames.backlog == 0 && frames.fault == nil
        return isWhole ? .success(()) : .failure(.notSent)
    }

    /// Completes the messages whose last byte was sent.
    private func completeSent() {
        while let sent = encoded.popFirst(where: { $0.end <= outputStart }) {
            if case (.close, .success) = (sent.order.kind, sent.result) { isCloseSent = true }
            sent.order.answer(sent.result)
        }
    }

    private func begin(_ order: WebSocketOrder, _ frames: WebSocketFrames) {
        switch order.kind {
        case .send(let message):
            guard frames.send(message) else { return refuse(order) }
            current = order
        case .ping:
            lastPing += 1
            let payload = withUnsafeBytes(of: lastPing.bigEndian) { Array($0) }
            guard frames.ping(payload) else { return refuse(order) }
            pings.append((lastPing, order))
        case .close(let code, let reason):
            guard frames.close(code, reason: reason) else { return refuse(order) }
            current = order
        }
    }

    /// Completes an order that cannot be sent, after those before it.
    private func refuse(_ order: WebSocketOrder) {
        encoded.append((order, output.count, .failure(.notSent)))
    }

    /// Queues an order; the caller rejects orders after a close.
    func take(_ order: WebSocketOrder) {
        orders.append(order)
    }

    // MARK: Receiving

    /// Completes the ping that a pong answers and all earlier ones (RFC 6455 §5.5.3).
    func didReceivePong(_ payload: [UInt8]) {
        guard payload.count == 8 else { return }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        guard let index = pings.firstIndex(where: { $0.number == number }) else { return }
        let answered = pings[...index]
        pings.removeFirst(index + 1)
        for ping in answered { ping.order.answer(.success(())) }
    }

    /// Completes all remaining orders with an error, and releases the handler.
    func abandon(_ error: TransferError?) {
        handler = nil
        let error = error ?? .webSocketClosed
        while let sent = encoded.popFirst() { sent.order.answer(.failure(error)) }
        let waiting = [current].compactMap { $0 } + pings.map(\.order)
        current = nil
        pings = []
        for order in waiting { order.answer(.failure(error)) }
        while let order = orders.popFirst() { order.answer(.failure(error)) }
    }
}

/// An operation on a WebSocket.
final class WebSocketOrder: Sendable {
    enum Kind: Sendable {
        case send(WebSocketMessage)
        case ping
        case close(WebSocketCloseCode, reason: Data?)
    }

    let transfer: CurlTransfer
    let kind: Kind
    private let completion: (@Sendable (Result<Void, TransferError>) -> Void)?

    init(
        _ kind: Kind, of transfer: CurlTransfer,
        completion: (@Sendable (Result<Void, TransferError>) -> Void)? = nil
    ) {
        self.kind = kind
        self.transfer = transfer
        self.completion = completion
    }

    /// Calls the completion; the owner of the order does this exactly once.
    func answer(_ result: Result<Void, TransferError>) {
        completion?(result)
    }
}

extension TransferError {
    /// The error of orders to a WebSocket that has ended.
    static var webSocketClosed: TransferError {
        TransferError(
            code: .networkConnectionLost, stage: .sending, reason: "the WebSocket is closed")
    }

    fileprivate static var notSent: TransferError {
        TransferError(
            code: .networkConnectionLost, stage: .sending,
            reason: "the WebSocket is being closed, or no memory is left for the message")
    }
}
