public import Dispatch
public import FoundationEssentials
public import OutletTransport

extension WebSocketRequest {
    /// A frame or message to send, with its completion.
    struct Order: Sendable {
        enum Kind: Sendable {
            case message(WebSocketMessage)
            case ping
            case close(WebSocketCloseCode, reason: Data?)
        }

        let kind: Kind
        let answer: @Sendable (Result<Void, TransferError>) -> Void

        func begin(on connection: any WebSocketConnection) {
            switch kind {
            case .message(let message): connection.send(message, completion: answer)
            case .ping: connection.sendPing(completion: answer)
            case .close(let code, let reason): connection.close(code: code, reason: reason)
            }
        }
    }

    /// Sends a message, after the messages sent before.
    ///
    /// Until the connection is open, the message is queued. This does not start the request.
    ///
    /// - Parameters:
    ///   - message: The message to send.
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once: with success when the last byte was written to
    ///     the connection, or with a ``SessionError``, for example if the connection could not be
    ///     opened or the request has ended. If a message handler has the same serial queue, it gets
    ///     messages that arrive later, such as the reply, after this call.
    public func send(
        _ message: WebSocketMessage, queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        sendAtOnce(message) { result in
            self.core.call(on: queue) { completionHandler(result) }
        }
    }

    /// Like ``send(_:queue:completionHandler:)``, but calls `completion` at once, on the
    /// transport's thread or the caller's.
    func sendAtOnce(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        carryOut(.message(message)) { result in
            completion(result.mapError { self.sendError($0) })
        }
    }

    /// Sends a ping, after the messages sent before.
    ///
    /// - Parameters:
    ///   - queue: Where `onResponse` runs; the session's callback queue if `nil`.
    ///   - onResponse: Called exactly once, with the pong or the reason why there is none. There is
    ///     no time limit of its own: without a pong, it is called when the request ends.
    public func sendPing(
        respondingOn queue: DispatchQueue? = nil,
        onResponse: @escaping @Sendable (PingResponse) -> Void
    ) {
        ping { response in self.core.call(on: queue) { onResponse(response) } }
    }

    private func ping(_ answer: @escaping @Sendable (PingResponse) -> Void) {
        guard isResumed else { return answer(.unsent) }
        let start = Date()
        let watch = Stopwatch()
        carryOut(.ping) { result in
            switch result {
            case .success:
                answer(.pong(.init(start: start, end: Date(), latency: watch.seconds)))
            case .failure(let error): answer(.error(self.sendError(error)))
            }
        }
    }

    private func sendError(_ error: TransferError) -> any Error {
        guard error.code == .cancelled || error == .webSocketIsOver else {
            return SessionError.sessionTaskFailed(error: error)
        }
        if let error = self.error { return error }
        // A close changes the state, too.
        let isCancelled = isCancelled && socket.withLock { !$0.isClosing || $0.isCutOff }
        return isCancelled
            ? SessionError.explicitlyCancelled : SessionError.sessionTaskFailed(error: error)
    }

    private func carryOut(
        _ kind: Order.Kind, answer: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        let order = Order(kind: kind, answer: answer)
        let isCancelled = isCancelled
        let (connection, isOver) = socket.withLock { socket -> ((any WebSocketConnection)?, Bool) in
            if socket.isOver || isCancelled { return (nil, true) }
            return (socket.connection(for: order), false)
        }
        if isOver { return answer(.failure(.webSocketIsOver)) }
        if let connection { order.begin(on: connection) } else { expectStart(retained: true) }
    }

    /// Passes the queued orders to the connection, in order.
    func flush() {
        while true {
            let (orders, connection) = socket.withLock {
                socket -> ([Order], (any WebSocketConnection)?) in
                guard let connection = socket.connection, !socket.waiting.isEmpty else {
                    socket.isFlushing = false
                    return ([], nil)
                }
                defer { socket.waiting = [] }
                socket.isFlushing = true
                return (socket.waiting, connection)
            }
            guard let connection else { return }
            for order in orders { order.begin(on: connection) }
        }
    }

    // MARK: Automatic pings

    /// Sends the next ping after ``Configuration/pingInterval``, while the connection is open.
    func pingLater() {
        guard let interval = configuration.pingInterval, interval > 0 else { return }
        let token = core.deadlines.add(after: interval) { [weak self] in self?.pingNow() }
        let (former, isWanted) = socket.withLock { socket in
            let isWanted = socket.isConnected && !socket.isClosing && !socket.isOver
            let former = socket.pingToken
            socket.pingToken = isWanted ? token : nil
            return (former, isWanted)
        }
        if let former { core.deadlines.remove(former) }
        if !isWanted { core.deadlines.remove(token) }
    }

    private func pingNow() {
        guard socket.withLock({ $0.isConnected }) else { return }
        // No pings while the request is suspended.
        guard isResumed else { return pingLater() }
        ping { response in
            guard case .pong = response else { return }
            self.pingLater()
        }
    }

    // MARK: Closing

    /// Closes the connection with a close frame, after the messages sent before (RFC 6455 §7.1.2).
    ///
    /// The request's state becomes `cancelled`, but it completes without an error. If the
    /// connection is open, handlers get a `disconnected` event; messages that arrive from now on are
    /// dropped, also answers to messages sent before. Waits only a few seconds for the
    /// server to close the connection too, and not longer than `timeoutIntervalForRequest` for it to
    /// read what was sent before. ``cancel()`` ends the wait. Has no effect on a request that has
    /// ended.
    ///
    /// If the connection is lost, the time is over, or the request is cancelled, before the close
    /// frame was sent, and the server has not closed the connection either, the request completes with
    /// that error, without a `disconnected` event.
    ///
    /// - Parameters:
    ///   - closeCode: The reason as a number; codes that must not be sent are left out.
    ///   - reason: The reason as UTF-8 text of at most 123 bytes, cut off beyond; `nil` for none.
    @discardableResult
    public func close(sending closeCode: WebSocketCloseCode, reason: Data? = nil) -> Self {
        let monitors = monitors
        let (action, task) = mutable.withLock {
            mutable -> (RequestMachine.Action?, (any TransferTask)?) in
            guard let action = mutable.machine.cancel() else { return (nil, nil) }
            socket.withLock { $0.isClosing = true }
            monitors?.observe(.didCancel, of: self)
            let task = mutable.currentTask
            mutable.endingTask = task?.identifier
            if action == .cancelTransfer, let task {
                monitors?.observe(.didCancelTask(task), of: self)
            }
            return (action, task)
        }
        guard let action else { return self }
        if action != .cancelTransfer || !closeConnection(closeCode, reason) {
            perform(action, on: task)
        }
        return self
    }

    /// Sends or queues a close frame.
    ///
    /// - Returns: `false` if there is no open connection.
    private func closeConnection(_ closeCode: WebSocketCloseCode, _ reason: Data?) -> Bool {
        let order = Order(kind: .close(closeCode, reason: reason)) { _ in }
        let (isOpen, connection) = socket.withLock { socket -> (Bool, (any WebSocketConnection)?) in
            guard socket.connection != nil else { return (false, nil) }
            // After the messages that ``flush()`` is passing to the connection on another thread.
            return (true, socket.connection(for: order))
        }
        if let connection { order.begin(on: connection) }
        return isOpen
    }
}
