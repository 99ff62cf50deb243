import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTesting
import OutletTransport
import Testing

/// Authentication challenges, without a session.
@Suite struct AuthenticationLayerTests {
    private let challenge = StubAnswer.status(
        401, headers: ["WWW-Authenticate": #"Basic realm="x""#])
    private let ada = Credential(user: "ada", password: "pw")

    private func job(_ body: HTTPBody = .none) -> TransferJob {
        var job = TransferJob(
            request: HTTPRequest(
                url: URL(string: "https://a.test/"), method: body.isNone ? .get : .post,
                body: body))
        job.credential = ada
        return job
    }

    @Test func `a challenge is reported, and answered with the job's own credential`() async {
        let network = StubTransport(answers: [challenge, .text("in")])
        let layer = AuthenticationLayer(around: network)
        let recorder = Recorder()
        let task = layer.start(job(), handler: recorder)
        let result = await recorder.result
        #expect(result.body == Data("in".utf8))
        #expect(recorder.used.map(\.statusCode) == [401])
        #expect(recorder.heads.map(\.statusCode) == [200])
        #expect(network.jobs.map(\.credentialUse) == [.identifiesOnly, .atOnce])
        #expect(network.jobs.map(\.credential?.scheme) == [nil, .basic])
        #expect(task.credentialsSent == 1)
        #expect(task.state == .completed)
    }

    @Test func `the response to a refused credential is the final response`() async {
        let network = StubTransport(answers: [challenge])
        let recorder = Recorder()
        _ = AuthenticationLayer(around: network).start(job(), handler: recorder)
        let result = await recorder.result
        #expect(result.response?.statusCode == 401 && result.error == nil)
        #expect(network.requests.count == 2)
    }

    @Test func `a stored credential that was accepted is sent with the next job`() async {
        let storage = CredentialStorage()
        storage.set(
            ada, for: ProtectionSpace(host: "a.test", port: 443, protocol: "https", realm: "x"))
        let network = StubTransport(answers: [challenge, .text("in"), .text("again")])
        let layer = AuthenticationLayer(around: network, storage: storage)
        for _ in 0..<2 {
            var job = job()
            job.credential = nil
            let recorder = Recorder()
            _ = layer.start(job, handler: recorder)
            _ = await recorder.result
        }
        #expect(network.jobs.map(\.credential?.user) == [nil, "ada", "ada"])
    }

    @Test func `a challenge is not answered if credentialUse is identifiesOnly`() async {
        let network = StubTransport(answers: [challenge])
        var job = job()
        job.credentialUse = .identifiesOnly
        let recorder = Recorder()
        _ = AuthenticationLayer(around: network).start(job, handler: recorder)
        _ = await recorder.result
        #expect(recorder.used.isEmpty)
        #expect(network.requests.count == 1)
    }

    @Test func `a challenge to a request whose body cannot be rewound is an error`() async {
        let network = StubTransport(answers: [challenge, .text("in")])
        let recorder = Recorder()
        _ = AuthenticationLayer(around: network).start(
            job(.stream(OneWayStream())), handler: recorder)
        #expect(await recorder.result.error?.code == .requestBodyStreamExhausted)
        #expect(network.requests.count == 1)
    }

    @Test func `a cancel after the challenge prevents the second request`() async {
        let network = StubTransport(answers: [challenge, .text("in")])
        let layer = AuthenticationLayer(around: network)
        let recorder = CancellingRecorder()
        _ = layer.start(job(.stream(RewindingStream())), handler: recorder)
        #expect(await recorder.recorder.result.error?.code == .cancelled)
        #expect(network.requests.count == 1)
    }

    @Test func `a message sent before the WebSocket is open waits for the authentication`()
        async throws
    {
        let network = StubTransport(answers: [challenge, .webSocket([.echo])])
        let layer = AuthenticationLayer(around: network)
        var job = WebSocketJob(request: HTTPRequest(url: URL(string: "https://a.test/")))
        job.credential = ada
        let recorder = SocketRecorder()
        let socket = layer.connect(job, handler: recorder)
        let sent: Result<Void, TransferError> = await withCheckedContinuation { waiter in
            socket.send(.string("hello")) { waiter.resume(returning: $0) }
        }
        try sent.get()
        #expect(await recorder.message == .string("hello"))
        #expect(network.jobs.map(\.credential?.user) == [nil, "ada"])
        socket.close(code: .normalClosure, reason: nil)
        _ = await recorder.recorder.result
        let late: Result<Void, TransferError> = await withCheckedContinuation { waiter in
            socket.sendPing { waiter.resume(returning: $0) }
        }
        #expect(throws: TransferError.self) { try late.get() }
    }

    @Test func `a message and a close sent when the WebSocket opens reach the server`()
        async throws
    {
        let network = StubTransport(answers: [challenge, .webSocket([.echo])])
        let layer = AuthenticationLayer(around: network)
        var job = WebSocketJob(request: HTTPRequest(url: URL(string: "https://a.test/")))
        job.credential = ada
        let recorder = SocketRecorder { task in
            let socket = task as? any WebSocketConnection
            socket?.send(.string("hello")) { _ in }
            socket?.close(code: .normalClosure, reason: nil)
        }
        _ = layer.connect(job, handler: recorder)
        let result = await recorder.recorder.result
        #expect(result.error == nil)
        #expect(recorder.closeCode == .normalClosure)
    }

    @Test func `a message that waits for a refused WebSocket fails`() async {
        let network = StubTransport(answers: [.status(403)])
        let layer = AuthenticationLayer(around: network)
        var job = WebSocketJob(request: HTTPRequest(url: URL(string: "https://a.test/")))
        job.credential = ada
        let recorder = SocketRecorder()
        let socket = layer.connect(job, handler: recorder)
        let sent: Result<Void, TransferError> = await withCheckedContinuation { waiter in
            socket.send(.string("hello")) { waiter.resume(returning: $0) }
        }
        #expect(throws: TransferError.self) { try sent.get() }
        #expect(await recorder.recorder.result.response?.statusCode == 403)
    }
}

/// Cancels the transfer when its body has to be rewound.
private final class CancellingRecorder: TransferHandler {
    let recorder = Recorder()

    func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) { task.cancel() }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        recorder.transferDidFinish(task, result: result, turn: turn)
    }
}

private final class SocketRecorder: WebSocketHandler {
    private struct State {
        var closeCode: WebSocketCloseCode?
        var message: WebSocketMessage?
        var waiter: CheckedContinuation<WebSocketMessage, Never>?
    }
    let recorder = Recorder()
    private let state = Lock(State())
    private let onOpen: @Sendable (any TransferTask) -> Void

    init(onOpen: @escaping @Sendable (any TransferTask) -> Void = { _ in }) {
        self.onOpen = onOpen
    }

    var closeCode: WebSocketCloseCode? { state.withLock { $0.closeCode } }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        if head.statusCode == 101 { onOpen(task) }
        return .proceed
    }

    /// The first message.
    var message: WebSocketMessage {
        get async {
            await withCheckedContinuation { waiter in
                let message = state.withLock { state in
                    if state.message == nil { state.waiter = waiter }
                    return state.message
                }
                if let message { waiter.resume(returning: message) }
            }
        }
    }

    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision {
        let waiter = state.withLock { state in
            state.message = message
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: message)
        return .proceed
    }

    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {
        state.withLock { $0.closeCode = code }
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        recorder.transferDidFinish(task, result: result, turn: turn)
    }
}

private final class OneWayStream: BodyStream {
    let length: Int64? = 0
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { 0 }
    func rewind() throws { throw Failure() }
    private struct Failure: Error {}
}

private final class RewindingStream: BodyStream {
    let length: Int64? = 0
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { 0 }
    func rewind() throws {}
}
