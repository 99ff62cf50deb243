public import Dispatch
public import FoundationEssentials
public import OutletTransport

extension WebSocketRequest {
    /// Something to be sent, and who waits for it.
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

    /// Sends a message, behind those sent before; waits until the connection is open, and does not
    /// start the request.
    ///
    /// - Parameters:
    ///   - message: Text or bytes.
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once: when the last byte was handed to the network, or
    ///     with a ``SessionError``: why the connection could not be opened, for instance, or that the
    ///     request is over already. A handler on the same queue is given the messages that came
    ///     afterwards, such as the answer, after this call.
    public func send(
        _ message: WebSocketMessage, queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        sendAtOnce(message) { result in
            self.core.call(on: queue) { completionHandler(result) }
        }
    }

    /// As ``send(_:queue:completionHandler:)``, with the completion wherever that is known.
    func sendAtOnce(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        carryOut(.message(message)) { result in
            completion(result.mapError { self.sendError($0) })
        }
    }

    /// Sends a ping.
    ///
    /// - Parameters:
    ///   - queue: Where `onResponse` runs; the session's callback queue if `nil`.
    ///   - onResponse: Called exactly once: with the pong, or why there is none.
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
        if let connection { order.begin(on: connection) }
    }

    /// Gives the connection what has waited for it.
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
        // The time of a suspended request goes by without pings.
        guard isResumed else { return pingLater() }
        ping { response in
            guard case .pong = response else { return }
            self.pingLater()
        }
    }

    // MARK: Closing

    /// Closes the connection in order, once the messages sent before are out (RFC 6455 §7.1.2).
    ///
    /// The request counts as cancelled, but completes without an error. Handlers are told that the
    /// connection was closed if it was open. No effect on a request that is over.
    ///
    /// - Parameters:
    ///   - closeCode: Why.
    ///   - reason: At most 123 bytes of UTF-8; what is beyond is cut off.
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

    /// - Returns: False when there is none to close in order.
    private func closeConnection(_ closeCode: WebSocketCloseCode, _ reason: Data?) -> Bool {
        let order = Order(kind: .close(closeCode, reason: reason)) { _ in }
        let (isOpen, connection) = socket.withLock { socket -> (Bool, (any WebSocketConnection)?) in
            guard socket.connection != nil else { return (false, nil) }
            // Behind the messages that somebody is about to give to the connection.
            return (true, socket.connection(for: order))
        }
        if let connection { order.begin(on: connection) }
        return isOpen
    }
}
