import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// A transport without a network: stubs or a closure answer, and what was asked is kept.
///
/// Sessions made on it run everything above the transport as usual: plugins, interceptors,
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
    /// Answers a request.
    ///
    /// Thread: the stub's own queue.
    public typealias Responder = @Sendable (_ job: TransferJob) -> StubAnswer

    /// Who answers.
    enum Source: Sendable {
        case responder(@Sendable (TransferJob, Data) throws(TransferError) -> StubAnswer)
        case stubs(StubTable)
    }

    private struct State {
        var source: Source
        var jobs: [TransferJob] = []
        var recorded: [RecordedRequest] = []
        var unmatched: [StubError] = []
        /// What ends those that run.
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
    ///   - clock: What answers that begin later go by; real time if `nil`.
    ///   - responder: Answers each request.
    public convenience init(clock: TestClock? = nil, _ responder: @escaping Responder) {
        self.init(
            clock: clock, source: .responder { job, _ throws(TransferError) in responder(job) })
    }

    /// Makes a transport that gives those answers in turn, the last one for all that follow.
    public convenience init(answers: [StubAnswer], clock: TestClock? = nil) {
        let all = answers.isEmpty ? [.status(200)] : answers
        self.init(clock: clock, source: .stubs(StubTable([Stub(.any, answers: all)])))
    }

    /// Makes a transport on which the first stub that matches answers.
    ///
    /// A request that none matches fails with `TransferError.Code.resourceUnavailable` and a
    /// reason that lists the near misses.
    ///
    /// - Parameters:
    ///   - stubs: Asked in this order.
    ///   - clock: What answers that begin later go by; real time if `nil`.
    public convenience init(stubs: [Stub], clock: TestClock? = nil) {
        self.init(clock: clock, source: .stubs(StubTable(stubs)))
    }

    /// Adds a stub behind the others; takes the place of a closure that answers.
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

    // MARK: What came

    /// What was sent, in order.
    public var requests: [HTTPRequest] { jobs.map(\.request) }

    /// What was asked of the transport, in order.
    public var jobs: [TransferJob] { state.withLock { $0.jobs } }

    /// The requests whose bodies have been read, in order, each with who answered it.
    public var recorded: [RecordedRequest] { state.withLock { $0.recorded } }

    /// The bodies that were sent, in order of the transfers; read to their ends before the answer.
    public var bodies: [Data] { recorded.map(\.body) }

    /// The requests that no stub has answered, in order.
    public var unmatched: [StubError] { state.withLock { $0.unmatched } }

    /// Checks that all requests were answered by stubs, and that all stubs have given their answers.
    ///
    /// - Throws: ``StubError`` about the first request without an answer, else about stubs with
    ///   answers left.
    public func verify() throws(StubError) {
        let (unmatched, unused) = state.withLock { state -> (StubError?, [String]) in
            guard case .stubs(let table) = state.source else { return (nil, []) }
            return (state.unmatched.first, table.unused)
        }
        if let unmatched { throw unmatched }
        if !unused.isEmpty { throw .unused(stubs: unused) }
    }

    // MARK: Transfers

    /// Answers on the stub's own queue.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let script = StubScript(job, clock: clock)
        let task = PlayedTransfer(script, for: job, on: queue, handler: handler)
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

    /// Answers the handshake on the stub's own queue, and plays ``StubAnswer/script`` after a 101.
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

    private func answer(_ job: TransferJob, _ body: Data) throws(TransferError) -> StubAnswer {
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

    /// Cancels what has no answer yet.
    public func shutDown() {
        let running = state.withLock { state in
            state.isShutDown = true
            return Array(state.running.values)
        }
        for task in running { task.cancel() }
    }
}

extension HTTPRequest {
    /// Method and address, without secrets, for reports.
    var shown: String {
        "\(method) \(url.map { Redaction.standard.url($0) } ?? "without an address")"
    }
}
