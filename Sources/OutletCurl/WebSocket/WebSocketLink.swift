import FoundationEssentials
import OutletTransport

/// What a transfer that opens a WebSocket has besides: how far it has come, what waits to be sent.
///
/// Thread: its loop's.
final class WebSocketLink {
    /// How far the connection has come.
    enum Stage: Equatable {
        /// libcurl is at work: name, TCP, proxy, TLS.
        case connecting
        /// The handshake is under way.
        case handshaking
        /// Messages pass.
        case open
        /// The peer broke a rule and was told so; what it still sends is dropped.
        case refusing
    }

    let job: WebSocketJob
    var stage = Stage.connecting
    /// CurlTransfer's own flag stops reading; this one stops writing, too.
    var isSuspended = false
    var descriptor: Int32 = -1
    var handshake: WebSocketHandshake?
    var frames: WebSocketFrames?
    /// An incomplete line of the answer to the handshake.
    var line: [UInt8] = []
    /// What the peer has sent and its handler has not seen.
    var received = Fifo<WebSocketFrames.Event>()
    /// How the peer has closed the connection.
    var peerClose: (code: WebSocketCloseCode, reason: Data?)?
    /// How this end closes the connection.
    var ownClose: (code: WebSocketCloseCode, reason: Data?)?
    /// Why nothing can be written any more; there may still be something to be read.
    var writeError: TransferError?
    /// When the peer must have closed the connection, µs.
    var closeDeadline: Int64?

    /// Bytes on their way out, from ``outputStart`` on.
    private var output: [UInt8] = []
    private var outputStart = 0
    private var orders = Fifo<WebSocketOrder>()
    /// The message whose bytes are on their way.
    private var current: WebSocketOrder?
    private var pings: [(number: UInt64, order: WebSocketOrder)] = []
    private var lastPing: UInt64 = 0

    // For the metrics, µs and bytes.

    var headAt: Int64 = 0
    var firstByteAt: Int64 = 0
    var bytesSent: Int64 = 0
    var bytesReceived: Int64 = 0
    var headBytesReceived: Int64 = 0

    init(_ job: WebSocketJob) {
        self.job = job
    }

    /// libcurl has handed over its connection.
    var isConnected: Bool { stage != .connecting }
    /// Whether bytes wait to go out.
    var hasOutput: Bool { outputStart < output.count }
    /// Whether they will, once the network takes them.
    var maySend: Bool { hasOutput && !isSuspended && writeError == nil }
    /// The peer answers faster than it reads: no more is read from it.
    var isFlooded: Bool { (frames?.backlog ?? 0) > 1024 }

    // MARK: Out

    /// The bytes to be sent next.
    func withOutput<Answer>(_ body: (UnsafeRawBufferPointer) -> Answer) -> Answer {
        output.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[outputStart...])) }
    }

    /// So many of them were sent.
    func didSend(_ count: Int) {
        outputStart += count
        bytesSent += Int64(count)
    }

    /// Puts bytes in the place of those that were sent.
    func put(_ bytes: [UInt8]) {
        output = bytes
        outputStart = 0
    }

    /// Makes the next bytes, now that all are sent; completes what has gone out with them.
    ///
    /// - Returns: Whether there are any.
    func refill() -> Bool {
        guard let frames else { return false }
        while true {
            let bytes = frames.makeBytes()
            if !bytes.isEmpty {
                put(bytes)
                return true
            }
            if let sent = current {
                current = nil
                // A close frame overtakes messages that were not begun.
                let isSent = frames.backlog == 0 && frames.fault == nil
                sent.answer(isSent ? .success(()) : .failure(.notSent))
            }
            guard let next = orders.popFirst() else { return false }
            begin(next, frames)
        }
    }

    private func begin(_ order: WebSocketOrder, _ frames: WebSocketFrames) {
        switch order.kind {
        case .send(let message):
            guard frames.send(message) else { return order.answer(.failure(.notSent)) }
            current = order
        case .ping:
            lastPing += 1
            let payload = withUnsafeBytes(of: lastPing.bigEndian) { Array($0) }
            guard frames.ping(payload) else { return order.answer(.failure(.notSent)) }
            pings.append((lastPing, order))
        case .close(let code, let reason): frames.close(code, reason: reason)
        case .goOn: break
        }
    }

    /// Takes an order; nothing goes out behind a close.
    func take(_ order: WebSocketOrder) {
        orders.append(order)
    }

    // MARK: In

    /// A pong has come: it answers its ping and those before (RFC 6455 §5.5.3).
    func didReceivePong(_ payload: [UInt8]) {
        guard payload.count == 8 else { return }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        guard let index = pings.firstIndex(where: { $0.number == number }) else { return }
        let answered = pings[...index]
        pings.removeFirst(index + 1)
        for ping in answered { ping.order.answer(.success(())) }
    }

    /// Answers all orders that nobody will carry out.
    func abandon(_ error: TransferError?) {
        let error = error ?? .webSocketClosed
        let waiting = [current].compactMap { $0 } + pings.map(\.order)
        current = nil
        pings = []
        for order in waiting { order.answer(.failure(error)) }
        while let order = orders.popFirst() { order.answer(.failure(error)) }
    }
}

/// What is asked of a WebSocket.
final class WebSocketOrder: Sendable {
    enum Kind: Sendable {
        case send(WebSocketMessage)
        case ping
        case close(WebSocketCloseCode, reason: Data?)
        /// Read on, after other transfers have had their turn.
        case goOn
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

    /// Says what became of it; the one who holds the order does so once.
    func answer(_ result: Result<Void, TransferError>) {
        completion?(result)
    }
}

extension TransferError {
    /// The connection is over.
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
