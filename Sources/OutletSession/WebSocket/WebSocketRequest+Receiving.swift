public import FoundationEssentials
import OutletHTTP

extension WebSocketRequest: WebSocketHandler {
    /// Takes a message for all handlers.
    public func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision {
        let (attempt, isWanted) = mutable.withLock { mutable in
            (mutable.machine.attempt, mutable.machine.state != .cancelled)
        }
        guard isWanted else { return .proceed }
        let size = message.size
        let pipes = socket.withLock { socket -> [Pipe] in
            socket.backlog.add(size, handlers: socket.pipes.count, attempt: attempt)
            return socket.pipes
        }
        for pipe in pipes {
            pipe.offer(.message(message), of: self) {
                self.consumed(size, of: connection, attempt: attempt)
            }
        }
        return makePeerWait { socket.withLock { $0.backlog.isFull(core.configuration) } }
    }

    /// A handler is done with so many bytes.
    private func consumed(_ size: Int, of connection: any WebSocketConnection, attempt: Int) {
        letPeerGoOn(on: connection, attempt: attempt) {
            socket.withLock { socket in
                socket.backlog.remove(size, attempt: attempt)
                    && socket.backlog.isLow(core.configuration)
            }
        }
    }

    /// Takes the news that both ends have closed the connection.
    public func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {
        let isCancelled = isCancelled
        let pipes = socket.withLock { socket -> [Pipe] in
            defer { socket.isConnected = false }
            let isWanted = socket.isConnected && (!isCancelled || socket.isClosing)
            return isWanted ? socket.pipes : []
        }
        for pipe in pipes { pipe.offer(.disconnected(code, reason: reason), of: self) {} }
    }

    // MARK: Handlers

    /// Adds a handler's way; starts the request.
    ///
    /// One that comes while the connection is open is told of that first.
    func add(_ pipe: Pipe) {
        var isGreeted = false
        while true {
            let greeting = socket.withLock { socket -> Item? in
                guard !isGreeted, socket.isConnected else {
                    socket.pipes.append(pipe)
                    return nil
                }
                return .connected(protocol: socket.chosenProtocol)
            }
            guard let greeting else { break }
            pipe.offer(greeting, of: self) {}
            isGreeted = true
        }
        append(
            ResponseHandler(destination: .anywhere, isQuick: true) { request, _ in
                ResponseHandler.Serialized(failure: nil) { _ in
                    guard let request = request as? WebSocketRequest else { return }
                    pipe.offer(.completion, of: request, isLast: true) {}
                }
            })
    }

    /// What handlers are told at the end.
    var completion: Completion {
        mutable.withLock { mutable in
            Completion(
                request: mutable.requests.last, response: mutable.response,
                metrics: mutable.lastMetrics, error: mutable.error)
        }
    }
}

extension WebSocketMessage {
    /// What it costs to keep, about, in bytes.
    fileprivate var size: Int {
        switch self {
        case .data(let data): 64 + data.count
        case .string(let text): 64 + text.utf8.count
        }
    }
}
