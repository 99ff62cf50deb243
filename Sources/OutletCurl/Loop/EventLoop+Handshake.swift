import CCurl
import OutletHTTP
import OutletTransport

/// The opening handshake of a WebSocket, on a connection that libcurl has established.
extension EventLoop {
    /// Sends the handshake.
    func shakeHands(_ transfer: CurlTransfer, _ link: WebSocketLink, _ easy: EasyHandle) {
        assertOnLoop()
        link.descriptor = ccurl_get_socket(easy.raw)
        guard link.descriptor >= 0, let handshake = link.handshake else {
            return complete(
                transfer,
                TransferError(
                    code: .networkConnectionLost, stage: .connecting,
                    reason: "the connection was lost as soon as it was made"))
        }
        link.stage = .handshaking
        link.headAt = now
        link.put(handshake.head)
        if settings.logsWire {
            handshake.head.withUnsafeBytes {
                transfer.logWire(CURLINFO_HEADER_OUT, $0)
            }
        }
        transfer.lastProgress = now
        advance(transfer, link)
    }

    /// Processes received bytes until the head of the response is complete.
    ///
    /// - Returns: The bytes after the head.
    /// - Throws: `TransferError` if the head is too large or malformed, or refuses the handshake.
    func takeHead(
        _ bytes: UnsafeRawBufferPointer, _ transfer: CurlTransfer, _ link: WebSocketLink
    ) throws(TransferError) -> UnsafeRawBufferPointer {
        assertOnLoop()
        guard let easy = transfer.easy else { return bytes }
        if link.firstByteAt == 0 { link.firstByteAt = now }
        var rest = bytes
        while link.stage == .handshaking, transfer.phase == .active, !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.count
            link.line.append(contentsOf: rest[..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
            guard link.line.count <= easy.head.lines.pointee.limit else {
                _ = transfer.refuseHead()
                throw transfer.failure ?? .webSocketClosed
            }
            guard link.line.last == UInt8(ascii: "\n") else { continue }
            // Otherwise a server that speaks another protocol, and waits, would be found out by the
            // time limit only.
            let isFirst = easy.head.bytes.isEmpty
            guard !isFirst || link.line.starts(with: "HTTP/".utf8) else {
                throw link.line.withUnsafeBytes { transfer.notHTTP($0) }
            }
            link.headBytesReceived += Int64(link.line.count)
            if settings.logsWire {
                link.line.withUnsafeBytes {
                    transfer.logWire(CURLINFO_HEADER_IN, $0)
                }
            }
            let isTaken = link.line.withUnsafeMutableBytes { line in
                ccurl_collect_header(
                    line.baseAddress?.assumingMemoryBound(to: CChar.self), 1, line.count,
                    easy.head.lines) == line.count
            }
            link.line.removeAll(keepingCapacity: true)
            guard isTaken else { throw transfer.failure ?? .cancelled }
        }
        return rest
    }

    /// Processes the final head.
    ///
    /// - Returns: Whether it is acceptable. If not, `failure` has the reason, or the handler has
    ///   cancelled. A head other than 101 is acceptable and ends the transfer.
    func greet(_ transfer: CurlTransfer, _ link: WebSocketLink, _ head: HTTPResponse) -> Bool {
        assertOnLoop()
        guard head.statusCode == 101 else {
            guard transfer.accept(head, self) else { return false }
            complete(transfer, nil as TransferError?)
            return true
        }
        do throws(TransferError) {
            try link.handshake?.check(head)
            let frames = WebSocketFrames(
                maximumMessageSize: link.job.maximumMessageSize, blocks: blocks)
            guard let frames else {
                throw TransferError(
                    code: .unknown, host: transfer.address?.host, reason: "no memory left")
            }
            link.open(frames, handler: transfer.handler)
        } catch {
            transfer.response = head
            transfer.failure = error
            return false
        }
        guard transfer.accept(head, self) else { return false }
        // An open WebSocket may last for days, so it frees its place for other transfers.
        if let origin = transfer.giveUpPlace() {
            origin.figures.webSockets += 1
            leave(origin)
        }
        return true
    }
}
