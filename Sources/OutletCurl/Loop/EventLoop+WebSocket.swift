import CCurl
import Glibc
import OutletHTTP
import OutletPointers
import OutletTransport

/// Runs WebSocket connections: libcurl connects (`CURLOPT_CONNECT_ONLY`), then this code polls the
/// socket.
///
/// The handle stays in the multi handle, which closes the connection when the handle is removed.
extension EventLoop {
    /// How long the peer may take to close the connection after this end's close frame, in µs.
    private static let closePatience: Int64 = 5_000_000
    /// How long a peer that violated the protocol may take to close the connection, in µs.
    ///
    /// Closing the socket while data is coming in would discard this end's close frame.
    private static let refusalPatience: Int64 = 1_000_000
    /// After so many reads other transfers are processed.
    private static let readsInARow = 32
    /// The size of a read in bytes: one TLS record.
    private static let readSize = 16 << 10

    // MARK: Orders

    /// Processes an order to a WebSocket, or queues it until the WebSocket is open.
    ///
    /// Messages and pings are sent by ``sendOrders()``.
    func take(_ order: WebSocketOrder) {
        assertOnLoop()
        let transfer = order.transfer
        guard let link = transfer.link, transfer.phase != .finished else {
            return order.answer(.failure(.webSocketClosed))
        }
        switch order.kind {
        case .close(let code, let reason):
            guard link.frames != nil else { return end(transfer, .cancelled) }
            guard link.ownClose == nil, link.peerClose == nil, link.stage == .open else { return }
            link.ownClose = (code, reason)
            // From now on only what is sent counts as progress.
            transfer.lastProgress = now
            // Reading must continue to receive the peer's close frame.
            transfer.pauses = []
            link.isSuspended = false
            link.take(order)
        case .send, .ping:
            guard link.ownClose == nil, link.stage != .refusing else {
                return order.answer(.failure(.webSocketClosed))
            }
            link.take(order)
            if !link.isListed {
                link.isListed = true
                ordered.append(transfer)
            }
            return
        }
        if link.isConnected, transfer.phase == .active { advance(transfer, link) }
    }

    /// Sends the messages and pings that were taken since the last call, those of a WebSocket in
    /// as few system calls as possible.
    func sendOrders() {
        assertOnLoop()
        while let transfer = ordered.popLast() {
            guard let link = transfer.link else { continue }
            link.isListed = false
            guard link.isConnected, transfer.phase == .active, let easy = transfer.easy else {
                continue
            }
            // A close waits for the peer's, and a flood may be over, after which there may be data
            // to read that epoll does not report.
            let mayOnlyWrite = link.ownClose == nil && !link.isFlooded
            if mayOnlyWrite { write(transfer, link, easy) }
            if mayOnlyWrite, link.writeError == nil {
                watch(transfer, link)
            } else {
                advance(transfer, link)
            }
        }
    }

    // MARK: Progress

    /// Writes and reads all that is possible without waiting.
    func advance(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        assertOnLoop()
        guard let easy = transfer.easy else { return }
        write(transfer, link, easy)
        do throws(TransferError) {
            try read(transfer, link, easy)
            guard transfer.phase == .active else { return }
            write(transfer, link, easy)
            if let error = link.writeError, !transfer.isPaused { throw error }
        } catch {
            // Losing the connection after a close is not an error.
            return link.isClosed ? conclude(transfer, link) : complete(transfer, error)
        }
        if link.peerClose != nil, !link.hasOutput || link.writeError != nil {
            return conclude(transfer, link)
        }
        watch(transfer, link)
    }

    private func watch(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        ccurl_poller_watch(
            poller, link.descriptor, mayRead(transfer, link), link.maySend, socketIsReady,
            ObjectPointer.unretained(transfer))
        watchSocket(transfer, link)
    }

    private func mayRead(_ transfer: CurlTransfer, _ link: WebSocketLink) -> Bool {
        !transfer.isPaused && link.peerClose == nil && (!link.isFlooded || link.stage == .refusing)
    }

    /// Cancels a transfer; a WebSocket that is being closed, and has sent its close frame, ends as
    /// if the peer had closed it.
    func cancel(_ transfer: CurlTransfer) {
        assertOnLoop()
        if let link = transfer.link, link.ownClose != nil, link.isClosed, transfer.phase == .active
        {
            return conclude(transfer, link)
        }
        end(transfer, .cancelled)
    }

    /// Ends a WebSocket whose close has taken too long.
    private func endClosing(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        assertOnLoop()
        guard !link.isClosed else { return conclude(transfer, link) }
        if let error = link.writeError { return complete(transfer, error) }
        end(
            transfer,
            TransferError(
                code: .timedOut,
                reason: "timed out while sending the close frame and what was sent before it"))
    }

    /// Ends a WebSocket after a close.
    private func conclude(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        assertOnLoop()
        if let close = link.peerClose ?? link.ownClose, let handler = link.handler {
            handler.webSocket(
                transfer, didCloseWith: close.code, reason: close.reason, turn: turn)
        }
        complete(transfer, nil as TransferError?)
    }

    // MARK: Sending

    private func write(_ transfer: CurlTransfer, _ link: WebSocketLink, _ easy: EasyHandle) {
        assertOnLoop()
        guard !link.isSuspended, link.writeError == nil else { return }
        while link.hasOutput || link.refill() {
            var count = 0
            let code = link.withOutput {
                curl_easy_send(easy.raw, $0.baseAddress, $0.count, &count)
            }
            switch code {
            case CURLE_OK:
                link.didSend(count)
                transfer.lastProgress = now
            case CURLE_AGAIN: return
            default:
                link.writeError = TransferError(
                    code: .networkConnectionLost, stage: .sending, host: transfer.address?.host,
                    reason: "the connection broke while sending: "
                        + String(cString: curl_easy_strerror(code)),
                    underlyingCode: Int32(bitPattern: code.rawValue))
                return
            }
        }
    }

    // MARK: Receiving

    private func read(
        _ transfer: CurlTransfer, _ link: WebSocketLink, _ easy: EasyHandle
    ) throws(TransferError) {
        assertOnLoop()
        deliver(transfer, link)
        var reads = 0
        while transfer.phase == .active, mayRead(transfer, link) {
            // OpenSSL may have buffered data, which epoll does not report.
            guard reads < Self.readsInARow else { return yield(transfer) }
            reads += 1
            guard try readOnce(transfer, link, easy) else { return }
            deliver(transfer, link)
            limitTurn(of: transfer)
        }
    }

    /// Reads once.
    ///
    /// - Returns: Whether there may be more to read.
    private func readOnce(
        _ transfer: CurlTransfer, _ link: WebSocketLink, _ easy: EasyHandle
    ) throws(TransferError) -> Bool {
        assertOnLoop()
        let result = withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 1) {
            buffer -> Result<Bool, TransferError> in
            var count = 0
            let code = curl_easy_recv(easy.raw, buffer.baseAddress, buffer.count, &count)
            if code == CURLE_AGAIN { return .success(false) }
            guard code == CURLE_OK, count > 0 else {
                return .failure(end(of: transfer, link, code))
            }
            // For the handshake's response there is one time limit, however slowly it arrives. A peer
            // that sends without end, but does not read, must not keep a close from ending.
            if link.stage != .handshaking, link.ownClose == nil { transfer.lastProgress = now }
            link.bytesReceived += Int64(count)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
            return Result { () throws(TransferError) in
                try take(bytes, transfer, link)
                return true
            }
        }
        return try result.get()
    }

    /// Returns the error of a connection that ended, by end of file or by an error.
    private func end(
        of transfer: CurlTransfer, _ link: WebSocketLink, _ code: CURLcode
    ) -> TransferError {
        if link.stage == .refusing { return refusal(transfer, link) }
        let reason =
            code != CURLE_OK
            ? "the connection broke: \(String(cString: curl_easy_strerror(code)))"
            : link.stage == .open
                ? "the server closed the connection without a close frame"
                : "the server closed the connection inside the WebSocket handshake"
        return TransferError(
            code: .networkConnectionLost, stage: TransferError.Stage(transfer),
            host: transfer.address?.host, reason: reason,
            underlyingCode: code == CURLE_OK ? nil : Int32(bitPattern: code.rawValue))
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ transfer: CurlTransfer, _ link: WebSocketLink
    ) throws(TransferError) {
        assertOnLoop()
        switch link.stage {
        case .connecting, .refusing: break
        case .handshaking:
            let rest = try takeHead(bytes, transfer, link)
            if link.stage == .open, !rest.isEmpty { try take(rest, transfer, link) }
        case .open:
            guard let frames = link.frames else { return }
            frames.receive(bytes, into: &link.received)
            guard frames.fault != nil else { return }
            link.stage = .refusing
            link.closeDeadline = now + Self.refusalPatience
        }
    }

    /// Delivers the received events until the handler pauses.
    private func deliver(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        assertOnLoop()
        let handler = link.handler
        while transfer.phase == .active, !transfer.isPaused,
            let event = link.received.popFirst()
        {
            countPiece(of: transfer)
            switch event {
            case .pong(let payload): link.didReceivePong(payload)
            case .close(let code, let reason): link.peerClose = (code, reason)
            case .message(let message):
                guard link.ownClose == nil, let handler else { break }
                let decision = handler.webSocket(transfer, didReceive: message, turn: turn)
                switch decision {
                case .proceed, .deliver: break
                case .pause: pause(transfer, CURLPAUSE_RECV, for: .request)
                case .cancel: end(transfer, .cancelled)
                }
            }
        }
    }

    // MARK: Time limits

    private func watchSocket(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        assertOnLoop()
        var due = settings.resourceLimit.map { transfer.arrived + $0 }
        let waits = link.stage == .handshaking && !link.isSuspended || link.maySend
        if waits, let patience = transfer.patience ?? link.ownClose.map({ _ in Self.closePatience })
        {
            due = min(due ?? .max, transfer.lastProgress + patience)
        }
        if link.ownClose != nil, link.closeDeadline == nil, !link.maySend {
            link.closeDeadline = now + min(Self.closePatience, transfer.patience ?? .max)
        }
        // The handler still gets what was received before.
        if let deadline = link.closeDeadline, link.received.isEmpty || link.ownClose != nil {
            due = min(due ?? .max, deadline)
        }
        if let due { deadlines.set(transfer, to: due) } else { deadlines.remove(transfer) }
    }

    /// Checks the time limits of a connected WebSocket.
    func expire(_ transfer: CurlTransfer, _ link: WebSocketLink) {
        assertOnLoop()
        if let deadline = link.closeDeadline, deadline <= now {
            if link.ownClose != nil { return endClosing(transfer, link) }
            if link.received.isEmpty { return complete(transfer, refusal(transfer, link)) }
        }
        watchSocket(transfer, link)
        guard transfer.deadlineIndex >= 0, transfer.deadline <= now else { return }
        if link.ownClose != nil { return endClosing(transfer, link) }
        let stage = TransferError.Stage(transfer)
        let activity =
            link.stage == .open
            ? link.hasOutput ? "sending a message" : "connected" : stage.activity
        end(
            transfer,
            TransferError(code: .timedOut, reason: "timed out while \(activity)"))
    }

    /// Returns the error for the rule that the peer has violated.
    private func refusal(_ transfer: CurlTransfer, _ link: WebSocketLink) -> TransferError {
        let fault = link.frames?.fault ?? .protocolError
        let limit = link.job.maximumMessageSize
        return switch fault {
        case .messageTooBig:
            TransferError(
                code: .dataLengthExceedsMaximum, stage: .receiving, host: transfer.address?.host,
                reason: "the server sent a message above the limit of \(limit) bytes",
                advice: "raise maximumMessageSize")
        case .invalidFramePayloadData:
            TransferError(
                code: .badServerResponse, stage: .receiving, host: transfer.address?.host,
                reason: "the server sent a text that is not UTF-8")
        default:
            TransferError(
                code: .badServerResponse, stage: .receiving, host: transfer.address?.host,
                reason: "the server broke the WebSocket protocol: it sent "
                    + (link.frames?.violation ?? "a faulty frame"))
        }
    }
}

/// Called by the poller when the socket is ready or has failed; reading finds out which.
private func socketIsReady(_ client: UnsafeMutableRawPointer) {
    let transfer = ObjectPointer.object(at: client, as: CurlTransfer.self)
    guard let loop = transfer.loop, let link = transfer.link, transfer.phase == .active else {
        return
    }
    loop.advance(transfer, link)
}
