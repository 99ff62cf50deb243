import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// A transport without a network: stubs or a closure answer, and requests are recorded.
///
/// Everything above the transport works as usual in a session on it: plugins, interceptors,
/// redirects, validation, retries, serialization.
///
/// ```swift
/// let transport = StubTransport(stubs: [
///     Stub(.get("https://api.test/users/*").header("Accept", "application/json"), .json("{}")),
///     Stub(.post("/users"), answers: [.status(503), .status(201)]),
/// ])
/// let session = Session(transport: transport)
/// // …
/// try transport.verify()
/// ```
public final class StubTransport: Transport {
    /// Returns the answer to a request.
    ///
    /// Called once for each transfer and each WebSocket handshake, after the request's body was
    /// read.
    ///
    /// Thread: the transport's own serial queue; while it blocks, no other answer is played.
    public typealias Responder = @Sendable (_ job: TransferJob) -> StubAnswer

    /// The source of the answers.
    enum Source: Sendable {
        case responder(@Sendable (TransferJob, Data) throws(TransferError) -> StubAnswer)
        case stubs(StubTable)
    }

    private struct State {
        var source: Source
        var jobs: [TransferJob] = []
        var recorded: [RecordedRequest] = []
        var unmatched: [StubError] = []
        /// The transfers that have not ended, by their identifiers.
        var running: [UInt64: any TransferTask] = [:]
        var isShutDown = false
    }
    private let state: Lock<State>
    private let queue = DispatchQueue(label: "outlet.testing.StubTransport")
    private let clock: TestClock?

    init(clock: TestClock?, source: Source) {
        self.clock = clock
        state = Lock(State(source: source))
    }

    /// Makes a transport on which a closure answers.
    ///
    /// - Parameters:
    ///   - clock: The clock for delays and pauses of answers; real time if `nil`.
    ///   - responder: Returns the answer to each request; see ``Responder``.
    public convenience init(clock: TestClock? = nil, _ responder: @escaping Responder) {
        self.init(
            clock: clock, source: .responder { job, _ throws(TransferError) in responder(job) })
    }

    /// Makes a transport that gives answers in order, whatever the requests are.
    ///
    /// - Parameters:
    ///   - answers: The answers; the last one is repeated. Status 200 for all requests if empty.
    ///   - clock: The clock for delays and pauses of answers; real time if `nil`.
    public convenience init(answers: [StubAnswer], clock: TestClock? = nil) {
        let all = answers.isEmpty ? [.status(200)] : answers
        self.init(clock: clock, source: .stubs(StubTable([Stub(.any, answers: all)])))
    }

    /// Makes a transport on which the first stub that matches and has an answer left answers.
    ///
    /// A request that no stub answers fails with `TransferError.Code.resourceUnavailable` and a
    /// reason that lists the near misses. One that no network's transport sends fails as with that
    /// transport: with `TransferError.Code.unsupportedURL` or `badURL` for its URL, and with
    /// `badRequest` for other faults, such as a `Proxy-Authorization` field of the session.
    ///
    /// - Parameters:
    ///   - stubs: The stubs, in the order in which they are tried.
    ///   - clock: The clock for delays and pauses of answers; real time if `nil`.
    public convenience init(stubs: [Stub], clock: TestClock? = nil) {
        self.init(clock: clock, source: .stubs(StubTable(stubs)))
    }

    /// Adds a stub after the existing ones.
    ///
    /// On a transport made with a ``Responder``, the stub replaces the closure.
    ///
    /// - Parameter stub: The stub, for requests that are answered from now on.
    ///
    /// Thread: any.
    public func add(_ stub: Stub) {
        state.withLock { state in
            guard case .stubs(var table) = state.source else {
                state.source = .stubs(StubTable([stub]))
                return
            }
            table.append(stub)
            state.source = .stubs(table)
        }
    }

    // MARK: Recorded requests

    /// The started requests, in order, WebSocket handshakes included.
    public var requests: [HTTPRequest] { jobs.map(\.request) }

    /// The started jobs, in order, WebSocket handshakes included.
    public var jobs: [TransferJob] { state.withLock { $0.jobs } }

    /// The requests whose bodies have been read, in the order of their answers, each with the stub
    /// that answered.
    public var recorded: [RecordedRequest] { state.withLock { $0.recorded } }

    /// The bodies of ``recorded``, in the same order.
    public var bodies: [Data] { recorded.map(\.body) }

    /// The requests that no stub answered, in order.
    public var unmatched: [StubError] { state.withLock { $0.unmatched } }

    /// Checks that stubs answered all requests, and that no stub has answers left.
    ///
    /// Always succeeds on a transport on which a ``Responder`` answers.
    ///
    /// - Throws: ``StubError/unmatched(request:nearMisses:)`` for the first request without an
    ///   answer, else ``StubError/unused(stubs:)`` when stubs have answers left.
    public func verify() throws(StubError) {
        let (unmatched, unused) = state.withLock { state -> (StubError?, [String]) in
            guard case .stubs(let table) = state.source else { return (nil, []) }
            return (state.unmatched.first, table.unused)
        }
        if let unmatched { throw unmatched }
        if !unused.isEmpty { throw .unused(stubs: unused) }
    }

    // MARK: Transfers

    /// Records a job, begins to play its answer, and returns at once.
    ///
    /// Thread of `handler`: the transport's own serial queue.
    ///
    /// - Parameters:
    ///   - job: The request and how to deliver its response.
    ///   - handler: Receives the events of the transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let script = StubScript(job, clock: clock)
        let task = ScriptedTransfer(script, for: job, on: queue, handler: handler)
        script.onEnd = { [weak self, identifier = task.identifier] in
            self?.state.withLock { _ = $0.running.removeValue(forKey: identifier) }
        }
        let isShutDown = state.withLock { state in
            state.jobs.append(job)
            if !state.isShutDown { state.running[task.identifier] = task }
            return state.isShutDown
        }
        guard !isShutDown else {
            task.perform { $0.finish(Self.closed) }
            return task
        }
        task.perform { [self] task in
            guard let body = script.send(by: task) else { return }
            do throws(TransferError) {
                script.answer(try answer(job, body), to: task)
            } catch {
                task.finish(error)
            }
        }
        return task
    }

    /// Records a handshake, begins to play its answer, and returns at once.
    ///
    /// After status 101 ``StubAnswer/script`` runs; any other status ends the connection.
    ///
    /// Thread of `handler`: the transport's own serial queue.
    ///
    /// - Parameters:
    ///   - job: The request of the handshake.
    ///   - handler: Receives the events of the connection.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let socket = StubSocket(queue: queue, handler: handler, job: job)
        var transferJob = TransferJob(request: job.request)
        transferJob.credential = job.credential
        let asked = transferJob
        let isShutDown = state.withLock { state in
            state.jobs.append(asked)
            if !state.isShutDown { state.running[socket.identifier] = socket }
            return state.isShutDown
        }
        guard !isShutDown else {
            socket.fail(Self.closed)
            return socket
        }
        queue.async { [self] in
            do throws(TransferError) {
                let answer = try answer(asked, Data())
                socket.play(answer) { [weak self] in
                    self?.state.withLock { _ = $0.running.removeValue(forKey: socket.identifier) }
                }
            } catch {
                socket.fail(error)
            }
        }
        return socket
    }

    private static let closed = TransferError(
        code: .transportClosed, reason: "the transport was shut down")

    /// Returns the answer to a request that a network's transport would send.
    private func answer(_ job: TransferJob, _ body: Data) throws(TransferError) -> StubAnswer {
        let address = try job.request.address
        if !job.request.isPlainlyValid { try job.request.checkSending(to: address.hostField) }
        if case .responder(let respond) = state.withLock({ $0.source }) {
            note(job, body, nil)
            return try respond(job, body)
        }
        do throws(StubError) {
            let (answer, stub) = try state.withLock { state throws(StubError) in
                guard case .stubs(var table) = state.source else {
                    return (StubAnswer.silence, "")
                }
                defer { state.source = .stubs(table) }
                return try table.answer(job.request, body: body)
            }
            note(job, body, stub)
            return answer
        } catch {
            note(job, body, nil)
            state.withLock { $0.unmatched.append(error) }
            throw TransferError(
                code: .resourceUnavailable, host: job.request.url?.host(), reason: "\(error)",
                advice: "add a stub for it")
        }
    }

    private func note(_ job: TransferJob, _ body: Data, _ stub: String?) {
        let record = RecordedRequest(request: job.request, body: body, stub: stub)
        state.withLock { $0.recorded.append(record) }
    }

    /// Cancels all transfers and WebSockets; later ones fail with
    /// `TransferError.Code.transportClosed`.
    ///
    /// Thread: any. Does not wait.
    public func shutDown() {
        let running = state.withLock { state in
            state.isShutDown = true
            return Array(state.running.values)
        }
        for task in running { task.cancel() }
    }
}

extension HTTPRequest {
    /// Method and URL, secrets redacted, for error messages.
    var shown: String {
        "\(method) \(url.map { Redaction.standard.url($0) } ?? "without an address")"
    }
}
