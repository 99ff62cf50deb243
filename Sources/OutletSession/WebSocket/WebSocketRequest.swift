import Dispatch
import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A request that opens a WebSocket (RFC 6455), delivers its messages and sends messages.
///
/// The handshake is processed like other requests: it is adapted, redirected, validated and
/// retried. Reading from the connection is paused while more than
/// ``SessionConfiguration/streamBufferSize`` bytes wait for handlers, counted once for each
/// handler, and continues at a quarter of that. Messages that arrive before the first handler is
/// added are kept for it; beyond that limit, the oldest are dropped.
///
/// An open connection may be idle for any time; `timeoutIntervalForResource` limits its duration.
public final class WebSocketRequest: Request, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// Validates the response to the handshake; returning a failure refuses it.
    ///
    /// `request` is the last request, as adapted.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) -> ValidationResult

    /// An item for a handler.
    enum Item: Sendable {
        case connected(protocol: String?)
        /// - Parameter receipt: `nil` for a message that does not count in the backlog.
        case message(WebSocketMessage, receipt: Receipt? = nil)
        case disconnected(WebSocketCloseCode, reason: Data?)
        /// The last item.
        case completion
    }

    /// What a message of a handler counts in the backlog.
    struct Receipt: Sendable {
        let size: Int
        let attempt: Int
    }

    /// The queue of items of one handler.
    typealias Pipe = StreamPipe<WebSocketRequest, Item>

    /// The mutable state besides that of every request.
    struct SocketState: Sendable {
        var pipes: [Pipe] = []
        var validators: [Validation] = []
        /// Whether the validators have run in this attempt.
        var isValidated = false
        /// The open connection; `nil` before, so that a handshake that is refused and retried loses
        /// no queued message.
        var connection: (any WebSocketConnection)?
        /// Messages, pings and a close that wait for ``connection``, in order.
        var waiting: [Order] = []
        /// Whether a thread is passing ``waiting`` to the connection.
        var isFlushing = false
        /// Whether the connection is open, and handlers got `connected`.
        var isConnected = false
        /// The subprotocol that the server chose.
        var chosenProtocol: String?
        /// Whether `close(sending:reason:)` was called: a cancelled transfer is then no error.
        var isClosing = false
        /// Whether `cancel()` was called while an open connection was being closed: a cancelled
        /// transfer is an error then, because its close frame was not sent.
        var isCutOff = false
        /// Whether the request has ended: nothing more is sent.
        var isOver = false
        var pingToken: Deadlines.Token?
        var backlog: HandlerBacklog
        /// The items that arrived before the first handler was added; `nil` afterwards.
        var unheard: BufferedItems? = BufferedItems()

        /// Returns the pipes for an item; without any, keeps it for the first handler.
        mutating func listeners(
            to item: @autoclosure () -> Item, of size: Int = 0, limit: Int = .max
        ) -> [Pipe] {
            unheard?.append(item(), of: size, limit: limit)
            return pipes
        }

        /// Returns the items that a new handler gets first.
        mutating func takeMissed() -> [Item] {
            if let unheard = unheard.take() { return unheard.items }
            return isConnected ? [.connected(protocol: chosenProtocol)] : []
        }

        /// Returns the connection to begin an order on; `nil` if the order has to wait, and was
        /// queued.
        mutating func connection(for order: Order) -> (any WebSocketConnection)? {
            if let connection, !isFlushing, waiting.isEmpty { return connection }
            waiting.append(order)
            return nil
        }
    }

    /// The settings of the WebSocket.
    public let configuration: Configuration
    let socket: Lock<SocketState>

    init(
        core: SessionCore, convertible: any URLRequestConvertible, configuration: Configuration,
        interceptor: Boxed<any RequestInterceptor>?, shouldAutomaticallyResume: Bool?
    ) {
        self.configuration = configuration
        socket = Lock(
            SocketState(backlog: HandlerBacklog(limit: core.configuration.streamBufferSize)))
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        watchesHeads = true
    }

    // MARK: Steps

    // Its handlers serialize nothing that could fail at the end.
    override var mayRunAgain: Bool { false }

    override func prepare(_ request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        var wire = try super.prepare(request)
        wire.url = wire.url?.handshakeAddress
        if let name = configuration.protocol { wire.headers.update(.websocketProtocol(name)) }
        return wire
    }

    override var opensWebSocket: Bool { true }

    override func begin(_ job: TransferJob) -> any TransferTask {
        var socketJob = WebSocketJob(
            request: job.request, maximumMessageSize: configuration.maximumMessageSize)
        socketJob.credential = job.credential
        socketJob.memory = job.memory
        socketJob.serverTrustManager = job.serverTrustManager
        socketJob.addressPolicy = job.addressPolicy
        socketJob.firstURL = job.firstURL
        return core.stack.connect(socketJob, handler: self)
    }

    override func accept(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        let decision = super.accept(head, from: task)
        guard head.statusCode == 101 else { return decision }
        let attempt = mutable.withLock { $0.machine.attempt }
        guard socket.withLock({ !$0.validators.isEmpty }) else {
            didConnect(task, head, attempt: attempt)
            return decision
        }
        mutable.withLock { $0.machine.hold(.judgement) }
        core.serializationQueue.async {
            self.validate(head)
            if self.error == nil {
                self.didConnect(task, head, attempt: attempt)
                self.release(.judgement, of: task, attempt: attempt)
            } else {
                task.cancel()
            }
        }
        return .pause
    }

    private func didConnect(_ task: any TransferTask, _ head: HTTPResponse, attempt: Int) {
        let chosen = head.headers.values(for: "Sec-WebSocket-Protocol").lazy
            .compactMap { $0.listItems().first }.first.map { String($0) }
        let pipes = mutable.withLock { mutable -> [Pipe]? in
            guard mutable.machine.mayProceed(attempt: attempt) else { return nil }
            // Under both locks: a close comes before this, or finds the connection.
            return socket.withLock { socket in
                socket.isConnected = true
                socket.chosenProtocol = chosen
                socket.connection = task as? any WebSocketConnection
                return socket.listeners(to: .connected(protocol: chosen))
            }
        }
        guard let pipes else { return }
        flush()
        for pipe in pipes { pipe.offer(.connected(protocol: chosen), of: self) }
        pingLater()
    }

    override func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? {
        let (isClosing, isCutOff) = socket.withLock { socket in
            socket.isConnected = false
            socket.connection = nil
            return (socket.isClosing, socket.isCutOff)
        }
        if isClosing, mutable.attempt.error?.isCancellation == true {
            mutable.attempt.overrule(isCutOff ? .explicitlyCancelled : nil)
        }
        return super.take(result, &mutable)
    }

    /// Ends the request at once: with ``SessionError/explicitlyCancelled``, or without an error if
    /// ``close(sending:reason:)`` has sent its close frame, or was called before the connection was
    /// open.
    ///
    /// Has no effect on a request that has ended.
    @discardableResult
    public override func cancel() -> Self {
        // A close has changed the state already, and may still wait for the server.
        let closing = mutable.withLock { mutable in
            let isClosing = socket.withLock { socket in
                guard socket.isClosing, !socket.isOver else { return false }
                socket.isCutOff = socket.connection != nil
                return true
            }
            return isClosing ? mutable.currentTask : nil
        }
        closing?.cancel()
        return super.cancel()
    }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        socket.withLock { socket in
            socket.isValidated = false
            socket.backlog.forget()
        }
    }

    override func cleanUp() {
        // The captures of closures, often the request itself, are released outside the lock.
        let (waiting, token, _, _) = socket.withLock { socket in
            defer {
                socket.waiting = []
                socket.pingToken = nil
                socket.pipes = []
                socket.validators = []
            }
            socket.isOver = true
            socket.isConnected = false
            return (socket.waiting, socket.pingToken, socket.pipes, socket.validators)
        }
        if let token { core.deadlines.remove(token) }
        for order in waiting { order.answer(.failure(.webSocketIsOver)) }
    }

    // MARK: Validation

    /// Adds a validator of the response to the handshake, after those added before.
    ///
    /// - Parameter validation: Called once for each attempt, unless a validator before it has
    ///   failed. If it returns a failure, the attempt fails with the error inside
    ///   ``SessionError/responseValidationFailed(reason:)``, or with a ``SessionError`` as it is,
    ///   and the connection is closed before handlers get `connected` or a message.
    ///
    /// Thread: the session's ``Session/serializationQueue``; the request's finishing queue (see
    /// ``Request``) if the server refused the handshake.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        socket.withLock { $0.validators.append(validation) }
        return self
    }

    override func validation(_ mutable: inout Mutable) -> ValidationCost {
        socket.withLock { $0.validators.isEmpty ? .quick : .slow }
    }

    override func runValidators() {
        let (response, sent) = mutable.withLock {
            ($0.attempt.response, $0.history.performedRequests.last)
        }
        if let response { validate(response) }
        guard error == nil, response?.statusCode != 101, !isCancelled else { return }
        var refusal = TransferError(
            code: response == nil ? .unsupportedURL : .badServerResponse, stage: .receiving,
            host: response?.url?.host(),
            reason: response.map {
                "the server answered \($0.statusCode) to the WebSocket handshake, not 101"
            } ?? "a WebSocket is opened at ws:// and wss:// addresses")
        refusal.statusCode = response?.statusCode
        note(.sessionTaskFailed(error: refusal.naming(sent, opensWebSocket: true)))
    }

    private func validate(_ response: HTTPResponse) {
        let validators = socket.withLock { socket in
            defer { socket.isValidated = true }
            return socket.isValidated ? [] : socket.validators
        }
        let request = mutable.withLock { $0.history.lastRequest }
        for validator in validators where error == nil {
            refuse(validator(request, response))
        }
    }
}

/// The items of a WebSocket that arrive before its first handler is added.
struct BufferedItems: Sendable {
    /// The items other than messages from before the oldest message in ``queue``.
    private var kept: [WebSocketRequest.Item] = []
    private var queue = Fifo<(item: WebSocketRequest.Item, size: Int)>()
    private var size = 0

    /// The items, in order.
    var items: [WebSocketRequest.Item] { kept + queue.all.map(\.item) }

    /// Adds an item; beyond `limit` bytes in all, drops the oldest messages.
    ///
    /// - Parameter size: The size of a message; 0 for another item, which is always kept.
    mutating func append(_ item: WebSocketRequest.Item, of size: Int, limit: Int) {
        queue.append((item, size))
        self.size += size
        while self.size > limit, let oldest = queue.popFirst() {
            self.size -= oldest.size
            if oldest.size == 0 { kept.append(oldest.item) }
        }
    }
}

extension SessionError {
    /// Whether the error is the result of a cancel.
    fileprivate var isCancellation: Bool {
        switch self {
        case .explicitlyCancelled: true
        case .sessionTaskFailed(let error): (error as? TransferError)?.code == .cancelled
        default: false
        }
    }
}
