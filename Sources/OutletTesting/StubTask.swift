import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import Synchronization

/// One stubbed transfer, played on the transport's queue.
final class StubTask: TransferTask {
    private static let identifiers = Atomic<UInt64>(0)

    let identifier = StubTask.identifiers.wrappingAdd(1, ordering: .relaxed).newValue
    private let queue: DispatchQueue

    private struct State {
        /// Dropped at the end: nothing is told twice.
        var handler: (any TransferHandler)?
        var delivery: BodyDelivery
        var onFinish: (@Sendable () -> Void)?
        var result = TransferResult()
        /// What is left to be handed over.
        var rest: Data = Data()
        var answer: StubAnswer?
        var delivered = 0
        var isSuspended = false
        var isPlaying = false
        var reportsProgress: Bool
        var counts = TransferCounts()
    }
    private let state: Mutex<State>

    init(queue: DispatchQueue, handler: any TransferHandler, job: TransferJob) {
        self.queue = queue
        state = Mutex(
            State(
                handler: handler, delivery: job.delivery, reportsProgress: job.reportsProgress))
    }

    func cancel() { queue.async { self.finish(.cancelled) } }

    func fail(_ error: TransferError) { queue.async { self.finish(error) } }

    func suspend() { queue.async { self.state.withLock { $0.isSuspended = true } } }

    func resume() {
        queue.async {
            self.state.withLock { $0.isSuspended = false }
            self.playBody()
        }
    }

    func reportProgress() { state.withLock { $0.reportsProgress = true } }

    /// Reads the request's body, as a network would.
    ///
    /// - Returns: The body; `nil` when it cannot be read, which ends the transfer.
    ///
    /// Thread: the queue's.
    func send(_ body: HTTPBody) -> Data? {
        do {
            let data = try body.bytes()
            state.withLock { $0.counts.expectedToSend = Int64(data.count) }
            for end in stride(from: 0, to: data.count, by: Self.sendSize) {
                let sent = min(end + Self.sendSize, data.count)
                state.withLock { $0.counts.sent = Int64(sent) }
                report()
            }
            return data
        } catch {
            finish(
                TransferError(
                    code: .cannotOpenFile, stage: .sending, reason: "request body: \(error)"))
            return nil
        }
    }

    private static let sendSize = 16_384

    private func report() {
        let (handler, counts) = state.withLock { state in
            (state.reportsProgress ? state.handler : nil, state.counts)
        }
        guard let handler else { return }
        let turn = TransportTurn()
        handler.transfer(self, didProgress: counts, turn: turn)
        turn.end()
    }

    /// Begins an answer; on the queue.
    func play(
        _ answer: StubAnswer, for job: TransferJob, onFinish: @escaping @Sendable () -> Void
    ) {
        state.withLock { state in
            state.onFinish = onFinish
            state.answer = answer
            state.rest = answer.body
        }
        guard isTrusted(answer, job) else { return }
        guard let delay = answer.delay else { return }
        let url = job.request.url
        guard delay > 0 else {
            playHead(answer, url)
            return
        }
        queue.asyncAfter(deadline: .now() + delay) { self.playHead(answer, url) }
    }

    /// Asks the handler about the server, and ends the transfer if it is not trusted.
    private func isTrusted(_ answer: StubAnswer, _ job: TransferJob) -> Bool {
        guard job.asksForTrust, let trust = answer.serverTrust,
            let handler = state.withLock({ $0.handler }),
            !handler.transfer(self, shouldTrust: trust)
        else { return true }
        finish(
            TransferError(
                code: .serverCertificateUntrusted, stage: .securing, host: trust.host,
                reason: "the session's evaluator refuses the server"))
        return false
    }

    private func playHead(_ answer: StubAnswer, _ url: URL?) {
        guard let code = answer.statusCode else {
            finish(answer.error)
            return
        }
        var headers = answer.headers
        if !answer.body.isEmpty, headers["Content-Length"] == nil {
            headers.update(name: "Content-Length", value: "\(answer.body.count)")
        }
        let head = HTTPResponse(url: url, statusCode: code, headers: headers)
        let handler = state.withLock { state -> (any TransferHandler)? in
            state.result.response = head
            state.isPlaying = true
            state.counts.expectedToReceive = head.expectedContentLength
            return state.handler
        }
        guard let handler else { return }
        let turn = TransportTurn()
        follow(handler.transfer(self, didReceive: head, turn: turn))
        turn.end()
        playBody()
    }

    private func playBody() {
        while let chunk = nextChunk() {
            guard case .chunks = state.withLock({ $0.delivery }) else {
                state.withLock { $0.result.body = ($0.result.body ?? Data()) + chunk }
                report()
                continue
            }
            guard let handler = state.withLock({ $0.handler }) else { return }
            let turn = TransportTurn()
            let decision = chunk.withUnsafeBytes {
                handler.transfer(self, didReceive: $0, turn: turn)
            }
            follow(decision)
            turn.end()
            report()
        }
        let isDone = state.withLock { state in
            state.isPlaying && !state.isSuspended && state.answer?.stallsAtFailure != true
                && (state.rest.isEmpty || state.delivered >= (state.answer?.limit ?? 0))
        }
        if isDone { finish(state.withLock { $0.answer?.error }) }
    }

    private func nextChunk() -> Data? {
        state.withLock { state in
            guard state.isPlaying, !state.isSuspended, state.handler != nil,
                let answer = state.answer
            else { return nil }
            let size = min(answer.chunkSize, answer.limit - state.delivered, state.rest.count)
            guard size > 0 else { return nil }
            defer {
                state.rest = state.rest.dropFirst(size)
                state.delivered += size
                state.counts.received += Int64(size)
            }
            return Data(state.rest.prefix(size))
        }
    }

    private func follow(_ decision: TransferDecision) {
        switch decision {
        case .proceed: break
        case .deliver(let delivery): state.withLock { $0.delivery = delivery }
        case .pause: state.withLock { $0.isSuspended = true }
        case .cancel: finish(.cancelled)
        }
    }

    /// Tells the end, the first time only; on the queue.
    private func finish(_ error: TransferError?) {
        let ended = state.withLock { state -> State? in
            guard state.handler != nil else { return nil }
            defer {
                state.handler = nil
                state.onFinish = nil
            }
            return state
        }
        guard let ended, let handler = ended.handler else { return }
        var result = ended.result
        result.error = error
        result.metrics.requestBodyBytes = ended.counts.sent
        result.metrics.responseBodyBytes = ended.counts.received
        if case .chunks = ended.delivery { result.body = nil }
        if case .file(let path, let offset) = ended.delivery, result.response != nil {
            let failure = Self.write(result.body ?? Data(), to: path, at: offset)
            result.error = error ?? failure
            result.body = nil
        }
        ended.onFinish?()
        let turn = TransportTurn()
        handler.transferDidFinish(self, result: result, turn: turn)
        turn.end()
    }

    private static func write(_ body: Data, to path: String, at offset: Int64) -> TransferError? {
        do {
            let url = URL(filePath: path)
            let kept = offset > 0 ? try Data(contentsOf: url).prefix(Int(offset)) : Data()
            try (kept + body).write(to: url)
            return nil
        } catch {
            return TransferError(
                code: .cannotWriteToFile, stage: .receiving, reason: "\(path): \(error)")
        }
    }
}

extension StubAnswer {
    /// How many bytes of the body are handed over at most.
    fileprivate var limit: Int {
        error == nil && !stallsAtFailure ? body.count : min(failureOffset, body.count)
    }
}

extension HTTPBody {
    /// The whole body, read to its end.
    fileprivate func bytes() throws -> Data {
        switch self {
        case .none: return Data()
        case .data(let data): return data
        case .file(let path): return try Data(contentsOf: URL(filePath: path))
        case .stream(let stream):
            var data = Data()
            var piece = Data(count: 16_384)
            while true {
                let count = try piece.withUnsafeMutableBytes { try stream.read(into: $0) }
                guard count > 0 else { return data }
                data += piece.prefix(count)
            }
        }
    }
}
