import Dispatch
import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletSession
import OutletTransport

/// One stubbed transfer, played step by step on the transport's queue.
final class StubTask: TransferTask, @unchecked Sendable {
    // because all that changes is touched on `queue` only.

    let identifier = TransferIdentifier.next()
    private let queue: DispatchQueue
    private let clock: TestClock?
    private let job: TransferJob
    private let begin: ContinuousClock.Instant = .now
    private let clockBegin: TestClock.Instant?
    private let visible = VisibleState()
    /// The last time on the clock that was waited for; the clock itself may be further.
    private var clockTime: TestClock.Instant?

    /// Dropped at the end: nothing is told twice.
    private var handler: (any TransferHandler)?
    private var onFinish: (@Sendable (_ identifier: UInt64) -> Void)?
    private var delivery: BodyDelivery
    private var reportsProgress: Bool
    private var counts = TransferCounts()
    private var result = TransferResult()
    /// What is left to be done.
    private var script: [StubStep] = []
    private var nextStep = 0
    private var isSuspended = false
    /// Whether a pause of the answer's is under way.
    private var isWaiting = true
    private var isRunning = false
    private(set) var isServerVerified = true

    init(
        queue: DispatchQueue, clock: TestClock?, handler: any TransferHandler, job: TransferJob,
        onFinish: @escaping @Sendable (_ identifier: UInt64) -> Void
    ) {
        self.queue = queue
        self.clock = clock
        self.handler = handler
        self.job = job
        self.onFinish = onFinish
        clockBegin = clock?.now
        delivery = job.delivery
        reportsProgress = job.reportsProgress
    }

    var state: TransferState { visible.state }

    var currentRequest: HTTPRequest? { job.request }

    func cancel() {
        visible.wish(.canceling)
        queue.async { self.finish(.cancelled) }
    }

    func fail(_ error: TransferError) { queue.async { self.finish(error) } }

    func suspend() {
        visible.wish(.suspended)
        queue.async { self.isSuspended = true }
    }

    func resume() {
        visible.wish(.running)
        queue.async {
            self.isSuspended = false
            self.run()
        }
    }

    func reportProgress() { queue.async { self.reportsProgress = true } }

    // MARK: On the queue

    /// Reads the request's body, as a network would.
    ///
    /// - Returns: The body; `nil` when it cannot be read, which ends the transfer.
    func send() -> Data? {
        guard handler != nil else { return nil }
        do {
            let data = try sentBody()
            counts.expectedToSend = Int64(data.count)
            for start in stride(from: 0, to: data.count, by: Self.sendSize) {
                counts.sent = Int64(min(start + Self.sendSize, data.count))
                report()
            }
            return data
        } catch {
            finish(
                error as? TransferError
                    ?? TransferError(
                        code: .cannotOpenFile, stage: .sending, reason: "request body: \(error)"))
            return nil
        }
    }

    private static let sendSize = 16_384

    /// The body; of a stream, as much as the request's own `Content-Length` declares, or else as much
    /// as the stream says that it has.
    private func sentBody() throws -> Data {
        guard case .stream(let stream) = job.request.body else {
            return try job.request.body.bytes()
        }
        guard let declared = job.request.headers.value(for: "Content-Length").flatMap({ Int($0) }),
            declared >= 0
        else {
            guard let length = stream.length.map({ Int($0) }) else {
                return try job.request.body.bytes()
            }
            let data = try job.request.body.bytes(upTo: length + 1)
            guard data.count == length else {
                throw TransferError(
                    code: .badRequest, stage: .sending,
                    reason: "the request's body stream: "
                        + (data.count > length
                            ? "goes on after the \(length) bytes that are its length"
                            : "ended after \(data.count) of \(length) bytes"))
            }
            return data
        }
        let data = try job.request.body.bytes(upTo: declared + 1)
        guard data.count >= declared else {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason:
                    "header Content-Length: says \(declared), but the body has \(data.count) bytes")
        }
        result.metrics.isRequestBodyCut = data.count > declared
        return data.prefix(declared)
    }

    /// Begins an answer.
    func play(_ answer: StubAnswer) {
        guard isTrusted(answer) else { return }
        script = answer.steps(for: job.request)
        guard let delay = answer.delay else { return }
        wait(for: .seconds(delay))
    }

    /// Lets the job's policy judge the server, and ends the transfer if it is refused.
    private func isTrusted(_ answer: StubAnswer) -> Bool {
        guard let trust = answer.serverTrust,
            job.request.url?.scheme?.equalsIgnoringCase("https") == true,
            let policy = job.serverTrustManager?.policy(forHost: trust.host, port: trust.port)
        else { return true }
        do throws {
            isServerVerified = try policy.evaluate(trust)
            return true
        } catch {
            handler?.transfer(self, didRefuseServer: error)
        }
        finish(
            TransferError(
                code: .serverCertificateUntrusted, stage: .securing, host: trust.host,
                reason: "the session's evaluator refuses the server"))
        return false
    }

    private func wait(for time: Duration) {
        isWaiting = true
        guard time > .zero else { return goOn() }
        if let clock {
            clock.schedule(after: time) { time in
                self.queue.async {
                    self.clockTime = time
                    self.goOn()
                }
            }
        } else {
            queue.asyncAfter(deadline: .now() + time / .seconds(1)) { self.goOn() }
        }
    }

    private func goOn() {
        isWaiting = false
        run()
    }

    private func run() {
        // A handler may resume the task from within.
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        while handler != nil, !isSuspended, !isWaiting, nextStep < script.count {
            nextStep += 1
            take(script[nextStep - 1])
        }
    }

    private func take(_ step: StubStep) {
        switch step {
        case .head(let head):
            result.metrics.responseHeaderBytes += Int64(StubStep.headSize(head))
            result.metrics.httpVersion = head.httpVersion
            noteFirstByte()
            if head.statusCode >= 200 || head.statusCode == 101 {
                result.response = head
                counts.expectedToReceive = head.expectedContentLength
            }
            follow(told { $0.transfer(self, didReceive: head, turn: $1) })
        case .partOfHead(let size):
            result.metrics.responseHeaderBytes += Int64(size)
            noteFirstByte()
        case .chunk(let chunk):
            counts.received += Int64(chunk.count)
            if case .chunks = delivery {
                follow(
                    told { handler, turn in
                        chunk.withUnsafeBytes {
                            handler.transfer(self, didReceive: $0, turn: turn)
                        }
                    })
            } else {
                result.body = (result.body ?? Data()) + chunk
            }
            report()
        case .wait(.after(let time)): wait(for: time)
        case .wait(.gate(let gate)):
            isWaiting = true
            gate.pass { self.queue.async { self.goOn() } }
        case .stall: isWaiting = true
        case .end(let error, let trailers):
            result.trailers = trailers
            finish(error)
        }
    }

    private func report() {
        guard reportsProgress else { return }
        let counts = counts
        told { $0.transfer(self, didProgress: counts, turn: $1) }
    }

    private func follow(_ decision: TransferDecision?) {
        switch decision {
        case .proceed, nil: break
        case .deliver(let delivery): self.delivery = delivery
        case .pause: isSuspended = true
        case .cancel: finish(.cancelled)
        }
    }

    /// Tells the handler, in a turn of its own.
    @discardableResult
    private func told<Answer>(_ body: (any TransferHandler, TransportTurn) -> Answer) -> Answer? {
        guard let handler else { return nil }
        let turn = TransportTurn()
        defer { turn.end() }
        return body(handler, turn)
    }

    // MARK: The end

    private var elapsed: Int64 {
        let time =
            if let clockBegin {
                clockBegin.duration(to: clockTime ?? clockBegin)
            } else {
                begin.duration(to: .now)
            }
        return Int64(time / .microseconds(1))
    }

    private func noteFirstByte() {
        if result.metrics.firstByte == 0 { result.metrics.firstByte = elapsed }
    }

    /// Tells the end, the first time only.
    private func finish(_ error: TransferError?) {
        guard handler != nil else { return }
        var result = result
        result.error = error
        result.metrics.requestBodyBytes = counts.sent
        result.metrics.responseBodyBytes = counts.received
        result.metrics.total = elapsed
        result.place(result.body ?? Data(), as: delivery)
        let onFinish = onFinish
        self.onFinish = nil
        onFinish?(identifier)
        visible.complete()
        told { handler, turn in
            self.handler = nil
            handler.transferDidFinish(self, result: result, turn: turn)
        }
    }
}

extension HTTPBody {
    /// The whole body; a stream is read to its end, or until there are so many bytes.
    fileprivate func bytes(upTo limit: Int = .max) throws -> Data {
        switch self {
        case .none: return Data()
        case .data(let data): return data
        case .file(let path): return try Data(contentOf: URL(filePath: path))
        case .stream(let stream):
            var data = Data()
            var piece = Data(count: 16_384)
            while data.count < limit {
                let count = try piece.withUnsafeMutableBytes { buffer in
                    try stream.read(
                        into: UnsafeMutableRawBufferPointer(
                            rebasing: buffer.prefix(limit - data.count)))
                }
                guard count > 0 else { break }
                data += piece.prefix(count)
            }
            return data
        }
    }
}
