import Dispatch
public import FoundationEssentials
import OutletHTTP
import OutletSession
public import OutletTransport

/// One step of a stubbed WebSocket server.
///
/// After the last step the server answers pings, ignores messages, and closes when the client does.
public enum StubSocketStep: Sendable {
    /// Sends a message to the client.
    case send(WebSocketMessage)
    /// Waits for one message from the client, and discards it.
    case receive
    /// Sends each message from the client back; the last step, because it never ends.
    case echo
    /// Closes the connection with a code and a reason, without waiting for the client.
    case close(WebSocketCloseCode, reason: Data? = nil)
    /// Ends the connection with an error.
    case failure(TransferError)
}

extension StubAnswer {
    /// Returns an answer that accepts a WebSocket handshake.
    ///
    /// - Parameters:
    ///   - protocol: The chosen subprotocol, for `Sec-WebSocket-Protocol`; `nil` for none.
    ///   - script: The steps of the server, in order.
    public static func webSocket(
        protocol: String? = nil, _ script: [StubSocketStep]
    ) -> StubAnswer {
        var headers: HTTPHeaders = ["Upgrade": "websocket", "Connection": "Upgrade"]
        if let name = `protocol` { headers.add(.websocketProtocol(name)) }
        var answer = StubAnswer(statusCode: 101, headers: headers)
        answer.script = script
        return answer
    }
}

/// One stubbed WebSocket connection; runs on the transport's queue.
final class StubSocket: WebSocketConnection {
    typealias Completion = @Sendable (Result<Void, TransferError>) -> Void

    let identifier = TransferIdentifier.next()
    private let queue: DispatchQueue
    private let job: WebSocketJob

    private enum Stage { case opening, open, over }

    private struct State {
        /// Set to `nil` at the end, so that the end is reported once only.
        var handler: (any WebSocketHandler)?
        var stage = Stage.opening
        var script: ArraySlice<StubSocketStep> = []
        /// Messages from the client that the script has not consumed.
        var received: [WebSocketMessage] = []
        /// Sends and pings that are not done yet: the connection is opening or suspended.
        var waiting: [@Sendable () -> Void] = []
        /// The completions of ``waiting``, in the same order.
        var ends: [Completion] = []
        var isSuspended = false
        var response: HTTPResponse?
        var onFinish: (@Sendable () -> Void)?
    }
    private let locked: Lock<State>
    private let visible = VisibleState()

    init(queue: DispatchQueue, handler: any WebSocketHandler, job: WebSocketJob) {
        self.queue = queue
        self.job = job
        locked = Lock(State(handler: handler))
    }

    // MARK: The client's side

    var state: TransferState { visible.state }

    var currentRequest: HTTPRequest? { job.request }

    func cancel() {
        visible.change(to: .canceling)
        queue.async { self.finish(.cancelled) }
    }

    func suspend() {
        visible.change(to: .suspended)
        queue.async { self.locked.withLock { $0.isSuspended = true } }
    }

    func resume() {
        visible.change(to: .running)
        queue.async {
            self.locked.withLock { $0.isSuspended = false }
            self.goOn()
        }
    }

    func send(_ message: WebSocketMessage, completion: @escaping Completion) {
        order(completion) { [self] in
            locked.withLock { $0.received.append(message) }
            completion(.success(()))
        }
    }

    func sendPing(completion: @escaping Completion) {
        order(completion) { completion(.success(())) }
    }

    func close(code: WebSocketCloseCode, reason: Data?) {
        visible.change(to: .canceling)
        queue.async { [self] in
            guard locked.withLock({ $0.stage }) == .open else { return finish(.cancelled) }
            locked.withLock { $0.isSuspended = false }
            goOn()
            shut(code, reason)
        }
    }

    /// Runs `body` once the connection is open and not suspended, in the order of the calls.
    ///
    /// If the connection ends before, `completion` is called with the error instead.
    private func order(_ completion: @escaping Completion, _ body: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            let isOver = locked.withLock { state in
                guard state.stage != .over else { return true }
                // What is not run before the end fails in `finish`.
                state.ends.append(completion)
                state.waiting.append(body)
                return false
            }
            if isOver { return completion(.failure(Self.closed)) }
            goOn()
        }
    }

    private static let closed = TransferError(
        code: .networkConnectionLost, stage: .sending, reason: "the WebSocket is closed")

    // MARK: The server's side

    func fail(_ error: TransferError) { queue.async { self.finish(error) } }

    /// Begins to play an answer.
    ///
    /// Thread: the queue.
    func play(_ answer: StubAnswer, onFinish: @escaping @Sendable () -> Void) {
        locked.withLock { $0.onFinish = onFinish }
        guard let delay = answer.limitedDelay else { return }
        guard delay > 0 else { return open(answer) }
        queue.asyncAfter(deadline: .now() + delay) { self.open(answer) }
    }

    private func open(_ answer: StubAnswer) {
        guard let code = answer.statusCode else { return finish(answer.error) }
        if let fault = answer.faultOfHeads(for: job.request) { return finish(fault) }
        let head = HTTPResponse(
            url: job.request.url, statusCode: code, headers: answer.headers)
        locked.withLock { $0.response = head }
        notify { follow($0.transfer(self, didReceive: head, turn: $1)) }
        guard code == 101 else { return finish(answer.error) }
        locked.withLock { state in
            guard state.stage == .opening else { return }
            state.stage = .open
            state.script = answer.script[...]
        }
        goOn()
    }

    /// Runs the client's sends and pings and the script's steps until one has to wait.
    private func goOn() {
        while true {
            if let order = nextOrder() {
                order()
            } else if let step = nextStep() {
                perform(step)
            } else {
                return
            }
        }
    }

    private func nextOrder() -> (@Sendable () -> Void)? {
        locked.withLock { state in
            guard state.stage == .open, !state.isSuspended, !state.waiting.isEmpty else {
                return nil
            }
            state.ends.removeFirst()
            return state.waiting.removeFirst()
        }
    }

    private func nextStep() -> StubSocketStep? {
        locked.withLock { state in
            guard state.stage == .open, !state.isSuspended, let step = state.script.first else {
                return nil
            }
            switch step {
            case .receive:
                guard !state.received.isEmpty else { return nil }
                state.received.removeFirst()
            case .echo:
                guard !state.received.isEmpty else { return nil }
                return .send(state.received.removeFirst())
            case .send, .close, .failure: break
            }
            state.script.removeFirst()
            return step
        }
    }

    private func perform(_ step: StubSocketStep) {
        switch step {
        case .receive, .echo: break
        case .send(let message): deliver(message)
        case .close(let code, let reason): shut(code, reason)
        case .failure(let error): finish(error)
        }
    }

    private func deliver(_ message: WebSocketMessage) {
        guard message.count <= job.maximumMessageSize else {
            return finish(
                TransferError(
                    code: .dataLengthExceedsMaximum, stage: .receiving,
                    reason: "the server sent a message above the limit of "
                        + "\(job.maximumMessageSize) bytes"))
        }
        notify { follow($0.webSocket(self, didReceive: message, turn: $1)) }
    }

    private func follow(_ decision: TransferDecision) {
        switch decision {
        case .proceed, .deliver: break
        case .pause: locked.withLock { $0.isSuspended = true }
        case .cancel: finish(.cancelled)
        }
    }

    private func shut(_ code: WebSocketCloseCode, _ reason: Data?) {
        notify { $0.webSocket(self, didCloseWith: code, reason: reason, turn: $1) }
        finish(nil)
    }

    private func notify(_ body: (any WebSocketHandler, TransportTurn) -> Void) {
        guard let handler = locked.withLock({ $0.handler }) else { return }
        let turn = TransportTurn()
        body(handler, turn)
        turn.end()
    }

    /// Ends the connection and reports the end; has no effect afterwards.
    ///
    /// Thread: the queue.
    private func finish(_ error: TransferError?) {
        let ended = locked.withLock { state -> State? in
            guard state.stage != .over else { return nil }
            defer {
                state = State()
                state.stage = .over
            }
            return state
        }
        guard let ended, let handler = ended.handler else { return }
        for completion in ended.ends { completion(.failure(error ?? Self.closed)) }
        ended.onFinish?()
        visible.complete()
        let turn = TransportTurn()
        handler.transferDidFinish(
            self, result: TransferResult(response: ended.response, error: error), turn: turn)
        turn.end()
    }
}

extension WebSocketMessage {
    fileprivate var count: Int {
        switch self {
        case .data(let data): data.count
        case .string(let text): text.utf8.count
        }
    }
}
