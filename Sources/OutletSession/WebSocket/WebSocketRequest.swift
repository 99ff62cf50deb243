import Dispatch
import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A request that opens a WebSocket (RFC 6455), and hands over what comes on it.
///
/// The handshake goes the way of every request: made, adapted, sent, redirected, validated, retried.
/// Handlers that cannot keep up make the peer wait: once ``SessionConfiguration/streamBufferSize``
/// bytes lie before them, no more is read.
public final class WebSocketRequest: Request, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// Judges the answer to the handshake; answering a failure refuses it.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse) -> ValidationResult

    /// What goes to a handler.
    enum Item: Sendable {
        case connected(protocol: String?)
        case message(WebSocketMessage)
        case disconnected(WebSocketCloseCode, reason: Data?)
        /// The last.
        case completion
    }

    /// A handler's way.
    typealias Pipe = StreamPipe<WebSocketRequest, Item>

    /// What changes besides what changes in every request.
    struct SocketState: Sendable {
        var pipes: [Pipe] = []
        var validators: [Validation] = []
        /// The validators have seen the answer of this attempt.
        var isValidated = false
        /// `nil` until it is open: a handshake that is refused takes no message along.
        var connection: (any WebSocketConnection)?
        /// Messages, pings and a close for a connection that is not there yet, in order.
        var waiting: [Order] = []
        /// Somebody is giving ``waiting`` to the connection.
        var isFlushing = false
        /// The connection is open, and handlers were told.
        var isConnected = false
        /// The subprotocol that the server chose.
        var chosenProtocol: String?
        /// The connection is to be closed in order: that is no failure.
        var isClosing = false
        /// Nothing is sent any more.
        var isOver = false
        var pingToken: Deadlines.Token?
        var backlog = HandlerBacklog()
        /// What has come before anybody listened; `nil` once somebody does.
        var unheard: UnheardItems? = UnheardItems()

        /// Who is to be given an item, which is kept for the first handler where there is none.
        mutating func listeners(
            to item: Item, of size: Int = 0, limit: Int = .max
        ) -> [Pipe] {
            unheard?.append(item, of: size, limit: limit)
            return pipes
        }

        /// What a new handler has missed.
        mutating func takeMissed() -> [Item] {
            if let unheard = unheard.take() { return unheard.items }
            return isConnected ? [.connected(protocol: chosenProtocol)] : []
        }

        /// The connection to begin an order on; `nil` if it has to wait behind others, which is seen to.
        mutating func connection(for order: Order) -> (any WebSocketConnection)? {
            if let connection, !isFlushing, waiting.isEmpty { return connection }
            waiting.append(order)
            return nil
        }
    }

    /// The settings.
    public let configuration: Configuration
    let socket = Lock(SocketState())

    init(
        core: SessionCore, convertible: any URLRequestConvertible, configuration: Configuration,
        interceptor: Boxed<any RequestInterceptor>?, shouldAutomaticallyResume: Bool?
    ) {
        self.configuration = configuration
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        watchesHeads = true
    }

    // MARK: Steps

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
        let isWanted = mutable.withLock { $0.machine.mayProceed(attempt: attempt) }
        guard isWanted else { return }
        let chosen = head.headers.value(for: "Sec-WebSocket-Protocol")
        let pipes = socket.withLock { socket in
            socket.isConnected = true
            socket.chosenProtocol = chosen
            socket.connection = task as? any WebSocketConnection
            return socket.listeners(to: .connected(protocol: chosen))
        }
        flush()
        for pipe in pipes { pipe.offer(.connected(protocol: chosen), of: self) {} }
        pingLater()
    }

    override func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? {
        let isClosing = socket.withLock { socket in
            socket.isConnected = false
            socket.connection = nil
            return socket.isClosing
        }
        if isClosing, mutable.attempt.error?.isCancellation == true {
            mutable.attempt.overrule(nil)
        }
        return super.take(result, &mutable)
    }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        socket.withLock { socket in
            socket.isValidated = false
            socket.backlog.forget()
        }
    }

    override func cleanUp() {
        // What handlers hold, often the request itself, is let go of outside the lock.
        let (waiting, token, _) = socket.withLock { socket in
            defer {
                socket.waiting = []
                socket.pingToken = nil
                socket.pipes = []
            }
            socket.isOver = true
            socket.isConnected = false
            return (socket.waiting, socket.pingToken, socket.pipes)
        }
        if let token { core.deadlines.remove(token) }
        for order in waiting { order.answer(.failure(.webSocketIsOver)) }
    }

    // MARK: Validation

    /// Judges the answer to the handshake with a closure, after those added before; the first
    /// failure wins, and the connection is closed without a message having been handed over.
    ///
    /// Thread: the session's ``Session/serializationQueue``, or where the request is being finished.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        socket.withLock { $0.validators.append(validation) }
        return self
    }

    override func validation(_ mutable: inout Mutable) -> ValidationEffort {
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
        let request = mutable.withLock { $0.history.requests.last }
        for validator in validators where error == nil {
            refuse(validator(request, response))
        }
    }
}

/// What has come on a WebSocket that nobody listens to yet.
struct UnheardItems: Sendable {
    private(set) var items: [WebSocketRequest.Item] = []
    private var sizes: [Int] = []
    private var size = 0

    /// Keeps an item; beyond the limit, in bytes, the oldest messages are dropped.
    mutating func append(_ item: WebSocketRequest.Item, of size: Int, limit: Int) {
        items.append(item)
        sizes.append(size)
        self.size += size
        while self.size > limit, let oldest = sizes.firstIndex(where: { $0 > 0 }) {
            self.size -= sizes.remove(at: oldest)
            items.remove(at: oldest)
        }
    }
}

extension SessionError {
    /// Whether somebody wanted the end.
    fileprivate var isCancellation: Bool {
        switch self {
        case .explicitlyCancelled: true
        case .sessionTaskFailed(let error): (error as? TransferError)?.code == .cancelled
        default: false
        }
    }
}
