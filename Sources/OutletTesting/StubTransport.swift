import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletSession
import Synchronization

/// A transport without a network: a closure answers, and what was asked is kept.
///
/// Sessions made on it run everything above the transport as usual: plugins, interceptors,
/// redirects, validation, retries, serialization.
public final class StubTransport: Transport {
    /// Answers a request.
    ///
    /// Thread: the stub's own queue.
    public typealias Responder = @Sendable (_ job: TransferJob) -> StubAnswer

    private let responder: Responder
    private let queue = DispatchQueue(label: "outlet.testing.StubTransport")

    private struct State {
        var jobs: [TransferJob] = []
        var bodies: [UInt64: Data] = [:]
        /// What ends those that run.
        var running: [UInt64: any TransferTask] = [:]
        var isShutDown = false
    }
    private let state = Mutex(State())

    /// Makes a transport.
    ///
    /// - Parameter responder: Answers each request.
    public init(_ responder: @escaping Responder) {
        self.responder = responder
    }

    /// Makes a transport that gives those answers in turn, the last one for all that follow.
    public convenience init(answers: [StubAnswer]) {
        let next = Mutex(0)
        self.init { _ in
            let index = next.withLock { next in
                defer { next += 1 }
                return min(next, answers.count - 1)
            }
            return answers.isEmpty ? .status(200) : answers[index]
        }
    }

    /// What was sent, in order.
    public var requests: [HTTPRequest] { jobs.map(\.request) }

    /// What was asked of the transport, in order.
    public var jobs: [TransferJob] { state.withLock { $0.jobs } }

    /// The bodies that were sent, in order of the transfers; read to their ends before the answer.
    public var bodies: [Data] {
        state.withLock { state in state.bodies.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Answers on the stub's own queue.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let task = StubTask(queue: queue, handler: handler, job: job)
        let isShutDown = state.withLock { state in
            state.jobs.append(job)
            if !state.isShutDown { state.running[task.identifier] = task }
            return state.isShutDown
        }
        guard !isShutDown else {
            task.fail(Self.closed)
            return task
        }
        queue.async { [self] in
            guard let body = task.send(job.request.body) else { return }
            state.withLock { $0.bodies[task.identifier] = body }
            task.play(responder(job), for: job) { [weak self] in
                self?.state.withLock { _ = $0.running.removeValue(forKey: task.identifier) }
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
            socket.play(responder(asked)) { [weak self] in
                self?.state.withLock { _ = $0.running.removeValue(forKey: socket.identifier) }
            }
        }
        return socket
    }

    private static let closed = TransferError(
        code: .transportClosed, reason: "the transport was shut down")

    /// Cancels what has no answer yet.
    public func shutDown() {
        let running = state.withLock { state in
            state.isShutDown = true
            return Array(state.running.values)
        }
        for task in running { task.cancel() }
    }
}
