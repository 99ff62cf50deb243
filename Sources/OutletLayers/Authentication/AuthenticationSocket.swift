import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A WebSocket that opens again with a credential when a challenge requests one.
///
/// Messages are queued until it is open.
final class AuthenticationSocket: WebSocketConnection {
    let identifier = TransferIdentifier.next()
    private let layer: AuthenticationLayer
    private let job: WebSocketJob
    private let authentication: AuthenticationState
    private let inner: InnerTransfer

    private struct State: Sendable {
        /// Set to `nil` at the end, so that the end is reported only once.
        var handler: (any WebSocketHandler)?
        var challenge = ChallengeBody()
    }
    private let mutable: Lock<State>
    private let orders = PendingMessages()

    static func start(
        _ job: WebSocketJob, _ layer: AuthenticationLayer, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let socket = AuthenticationSocket(job, layer, handler)
        socket.begin()
        return socket
    }

    private init(
        _ job: WebSocketJob, _ layer: AuthenticationLayer, _ handler: any WebSocketHandler
    ) {
        self.job = job
        self.layer = layer
        authentication = AuthenticationState(
            layer, job.request, own: job.credential, memory: job.memory, opensWebSocket: true)
        inner = InnerTransfer(job.request, reportsProgress: false)
        mutable = Lock(State(handler: handler))
    }

    // MARK: State and control

    var state: TransferState { inner.state }
    var currentRequest: HTTPRequest? { inner.currentRequest }
    var proxy: String { inner.proxy }
    var isServerVerified: Bool { inner.isServerVerified }
    var source: ResponseSource { inner.source }
    var credentialsSent: Int { authentication.sent }

    func cancel() {
        if inner.cancel() { layer.queue.async { self.end(.cancelled) } }
    }

    func suspend() { inner.suspend() }
    func resume() { inner.resume() }

    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        orders.send(message, completion: completion)
    }

    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        orders.sendPing(completion: completion)
    }

    /// Closes the WebSocket; cancels it if it is not open yet.
    func close(code: WebSocketCloseCode, reason: Data?) {
        guard let connection = orders.isOpen ? connection : nil else { return cancel() }
        connection.close(code: code, reason: reason)
    }

    private var connection: (any WebSocketConnection)? { inner.connection }

    // MARK: Handshakes

    private func begin() {
        let additions = authentication.next()
        var job = job
        // A credential that only identifies the user is not sent with a handshake.
        job.credential = additions.use == .identifiesOnly ? nil : additions.credential
        job.challenge = additions.challenge
        let isBegun = inner.begin { _ in layer.next.connect(job, handler: self) }
        if !isBegun { end(.cancelled) }
    }

    private var handler: (any WebSocketHandler)? { mutable.withLock { $0.handler } }

    /// Ends the WebSocket without a connection.
    private func end(_ error: TransferError) {
        let turn = TransportTurn()
        finish(TransferResult(error: error), turn: turn)
        turn.end()
    }

    /// Reports the end to the handler, at most once.
    private func finish(_ result: TransferResult, turn: TransportTurn) {
        let handler = mutable.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
        inner.complete()
        orders.end(result.error ?? .webSocketIsOver)
        handler?.transferDidFinish(self, result: result, turn: turn)
    }
}

extension AuthenticationSocket: WebSocketHandler {
    func transferIsPending(_ task: any TransferTask) {
        inner.control(task)
        handler?.transferIsPending(self)
    }

    func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        handler?.transfer(self, didRefuseServer: refusal)
    }

    func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        inner.note(task)
        handler?.transfer(self, didUse: head, turn: turn)
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        inner.note(task)
        guard let handler else { return .cancel }
        guard head.isFinal else { return handler.transfer(self, didReceive: head, turn: turn) }
        guard authentication.answer(to: head, from: task) else {
            authentication.settle(head)
            // Before the handler is called, because it may send and close at once.
            if head.statusCode == 101, let connection = task as? any WebSocketConnection {
                orders.open(connection)
            }
            return handler.transfer(self, didReceive: head, turn: turn)
        }
        mutable.withLock { $0.challenge.begin() }
        handler.transfer(self, didUse: head, turn: turn)
        // The challenge's body is dropped in `transfer(_:didReceive:turn:)`.
        return .deliver(.chunks)
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        let (handler, dropping) = mutable.withLock { ($0.handler, $0.challenge.drop(chunk)) }
        if let dropping { return dropping }
        return handler?.transfer(self, didReceive: chunk, turn: turn) ?? .cancel
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        inner.end(task)
        if mutable.withLock({ $0.challenge.end(with: result) }) { return begin() }
        finish(result, turn: turn)
    }

    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision {
        handler?.webSocket(self, didReceive: message, turn: turn) ?? .cancel
    }

    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {
        handler?.webSocket(self, didCloseWith: code, reason: reason, turn: turn)
    }
}
