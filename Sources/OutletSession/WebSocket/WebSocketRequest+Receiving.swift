public import FoundationEssentials
import OutletHTTP
public import OutletTransport

extension WebSocketRequest: WebSocketHandler {
    /// Passes a message to all handlers.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - message: The message.
    ///   - turn: Collects work for dispatch queues until the turn ends; do not keep it.
    ///
    /// Thread: the transport's.
    public func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision {
        let (attempt, isWanted) = mutable.withLock { mutable in
            (mutable.machine.attempt, mutable.machine.state != .cancelled)
        }
        guard isWanted else { return .proceed }
        let size = message.size
        let limit = core.configuration.streamBufferSize
        let (pipes, isFull) = socket.withLock { socket -> ([Pipe], Bool) in
            socket.backlog.add(size, handlers: socket.pipes.count, attempt: attempt)
            let pipes = socket.listeners(to: .message(message), of: size, limit: limit)
            return (pipes, socket.backlog.isFull)
        }
        let receipt = Receipt(size: size, attempt: attempt)
        for pipe in pipes {
            let isTaken = pipe.offer(.message(message, receipt: receipt), of: self)
            if !isTaken { consumed(receipt) }
        }
        return isFull ? makePeerWait { socket.withLock { $0.backlog.isFull } } : .proceed
    }

    /// Called when a handler has processed an item, with what that counts in the backlog; `nil` for
    /// nothing.
    func consumed(_ receipt: Receipt?) {
        guard let receipt else { return }
        let waiting = socket.withLock { socket in
            socket.backlog.remove(receipt.size, attempt: receipt.attempt) ? socket.connection : nil
        }
        guard let waiting else { return }
        letPeerGoOn(on: waiting, attempt: receipt.attempt) {
            socket.withLock { $0.backlog.isFull }
        }
    }

    /// Passes the end of the connection to all handlers; called when both ends have closed it.
    ///
    /// - Parameters:
    ///   - connection: The WebSocket.
    ///   - code: The peer's close code; the local one if the peer has sent no close frame.
    ///   - reason: The reason in the same close frame; `nil` if it had none.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    ///
    /// Thread: the transport's.
    public func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {
        let isCancelled = isCancelled
        let pipes = socket.withLock { socket -> [Pipe] in
            defer { socket.isConnected = false }
            let isWanted = socket.isConnected && (!isCancelled || socket.isClosing)
            return isWanted ? socket.listeners(to: .disconnected(code, reason: reason)) : []
        }
        for pipe in pipes { pipe.offer(.disconnected(code, reason: reason), of: self) }
    }

    // MARK: Handlers

    /// Adds the pipe of a handler; starts the request.
    ///
    /// The first pipe gets the events that occurred before; any other gets `connected` first if the
    /// connection is open.
    func add(_ pipe: Pipe) {
        let missed = socket.withLock { socket in
            let missed = socket.takeMissed()
            pipe.put(missed, of: self)
            socket.pipes.append(pipe)
            return missed.count
        }
        pipe.letOut(missed)
        append(
            ResponseHandler(destination: .anywhere, isQuick: true) { request, _ in
                ResponseHandler.Serialized(failure: nil) { _ in
                    guard let request = request as? WebSocketRequest else { return }
                    pipe.offer(.completion, of: request, isLast: true)
                }
            })
    }

    /// The value of the `completed` event.
    var completion: Completion {
        mutable.withLock { mutable in
            Completion(
                request: mutable.history.lastRequest, response: mutable.attempt.response,
                metrics: mutable.attempt.lastMetrics, error: mutable.attempt.error)
        }
    }
}

extension WebSocketMessage {
    /// The approximate memory that a queued message takes, in bytes.
    fileprivate var size: Int {
        switch self {
        case .data(let data): HandlerBacklog.itemOverhead + data.count
        case .string(let text): HandlerBacklog.itemOverhead + text.utf8.count
        }
    }
}
