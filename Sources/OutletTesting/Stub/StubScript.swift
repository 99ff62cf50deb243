import Dispatch
import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletSession
import OutletTransport

/// Plays a stub's answer step by step on the transport's queue.
final class StubScript: TransferScript, @unchecked Sendable {
    // because mutable state is accessed on the transfer's queue only.

    private let clock: TestClock?
    private let job: TransferJob
    private let begin: ContinuousClock.Instant = .now
    private let clockBegin: TestClock.Instant?
    /// When the last delay on the clock was due; the clock itself may be later.
    private var clockTime: TestClock.Instant?

    /// Called at the end; set before the first step.
    var onEnd: (@Sendable () -> Void)?
    private var counts = TransferCounts()
    private var result = TransferResult()
    /// The pieces of the response's body, joined; empty while the handler receives them.
    private var body = Data()
    /// All steps of the answer.
    private var steps: [StubStep] = []
    private var nextStep = 0
    /// Whether the answer is delayed or pauses.
    private var isWaiting = true
    /// The delay that the clock ends; `nil` before the first one.
    private var delay: UInt64?
    private var isPlaying = false

    init(_ job: TransferJob, clock: TestClock?) {
        self.clock = clock
        self.job = job
        clockBegin = clock?.now
    }

    // MARK: On the queue

    /// Reads the whole request body, and reports the progress of sending it.
    ///
    /// - Returns: The body; `nil` if it cannot be read or the transfer has ended. An unreadable
    ///   body fails the transfer.
    func send(by transfer: PlayedTransfer) -> Data? {
        guard transfer.isRunning else { return nil }
        do {
            let data = try sentBody()
            counts.expectedToSend = Int64(data.count)
            for start in stride(from: 0, to: data.count, by: Self.sendSize) {
                counts.sent = Int64(min(start + Self.sendSize, data.count))
                transfer.notify(counts)
            }
            return data
        } catch {
            transfer.finish(
                error as? TransferError
                    ?? TransferError(
                        code: .cannotOpenFile, stage: .sending,
                        reason: "request body: \(error.fileReason)"))
            return nil
        }
    }

    private static let sendSize = 16_384

    /// The body; of a stream as many bytes as `Content-Length` declares, or else as many as the
    /// stream's own length.
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
            let data = try job.request.body.bytes(beyond: length)
            guard data.count == length else {
                throw TransferError(
                    code: .badRequest, stage: .sending,
                    reason: "the request's body stream: "
                        + (data.count > length
                            ? "continues after the \(length) bytes that are its length"
                            : "ended after \(data.count) of \(length) bytes"))
            }
            return data
        }
        let data = try job.request.body.bytes(beyond: declared)
        guard data.count >= declared else {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason:
                    "header Content-Length: says \(declared), but the body has \(data.count) bytes")
        }
        result.metrics.isRequestBodyCut = data.count > declared
        return data.prefix(declared)
    }

    /// Begins to play an answer.
    func answer(_ answer: StubAnswer, to transfer: PlayedTransfer) {
        guard isTrusted(answer, by: transfer) else { return }
        steps = answer.steps(for: job.request)
        guard let delay = answer.limitedDelay else { return }
        wait(for: .seconds(delay), transfer)
    }

    /// Evaluates the server by the job's trust policy, and fails the transfer if it is refused.
    private func isTrusted(_ answer: StubAnswer, by transfer: PlayedTransfer) -> Bool {
        guard let trust = answer.serverTrust,
            job.request.url?.scheme?.equalsIgnoringCase("https") == true,
            let policy = job.serverTrustManager?.policy(forHost: trust.host, port: trust.port)
        else { return true }
        do throws {
            transfer.noteServer(isVerified: try policy.evaluate(trust))
            return true
        } catch {
            transfer.noteServer(isVerified: false, refusal: error)
        }
        transfer.finish(
            TransferError(
                code: .serverCertificateUntrusted, stage: .securing, host: trust.host,
                reason: "the session's evaluator refuses the server"))
        return false
    }

    private func wait(for time: Duration, _ transfer: PlayedTransfer) {
        isWaiting = true
        guard time > .zero else { return goOn(transfer) }
        if let clock {
            delay = clock.schedule(after: time) { time in
                transfer.perform {
                    self.clockTime = time
                    self.goOn($0)
                }
            }
        } else {
            transfer.perform(after: time / .seconds(1)) { self.goOn($0) }
        }
    }

    private func goOn(_ transfer: PlayedTransfer) {
        isWaiting = false
        play(transfer)
    }

    func play(_ transfer: PlayedTransfer) {
        // A step may end its own pause at once, which calls this function again.
        guard !isPlaying else { return }
        isPlaying = true
        defer { isPlaying = false }
        while transfer.mayGoOn, !isWaiting, nextStep < steps.count {
            nextStep += 1
            take(steps[nextStep - 1], transfer)
        }
    }

    private func take(_ step: StubStep, _ transfer: PlayedTransfer) {
        switch step {
        case .head(let head):
            result.metrics.responseHeaderBytes += Int64(StubStep.headSize(head))
            result.metrics.httpVersion = head.httpVersion
            noteFirstByte()
            if head.statusCode >= 200 || head.statusCode == 101 {
                result.response = head
                counts.expectedToReceive = head.expectedContentLength
            }
            transfer.notify(head)
        case .partOfHead(let size):
            result.metrics.responseHeaderBytes += Int64(size)
            noteFirstByte()
        case .chunk(let chunk):
            counts.received += Int64(chunk.count)
            if !transfer.delivery.isChunks { body.append(chunk) }
            transfer.notify(chunk)
            transfer.notify(counts)
        case .wait(.after(let time)): wait(for: time, transfer)
        case .wait(.gate(let gate)):
            isWaiting = true
            gate.pass { transfer.perform { self.goOn($0) } }
        case .stall: isWaiting = true
        case .end(let error, let trailers):
            result.trailers = trailers
            transfer.finish(error)
        }
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

    func end(_ error: TransferError?, delivery: BodyDelivery) -> TransferResult {
        onEnd?()
        onEnd = nil
        if let delay { clock?.cancel(delay) }
        // They may have a gate, which refers to the script while it is closed.
        steps = []
        result.error = error
        result.metrics.requestBodyBytes = counts.sent
        result.metrics.responseBodyBytes = counts.received
        result.metrics.total = elapsed
        result.deliver(body, as: delivery)
        return result
    }
}

extension HTTPBody {
    /// The body up to the first byte after its declared length, which it should not have.
    ///
    /// - Parameter length: The declared length; any number, since plugins and programs choose it.
    fileprivate func bytes(beyond length: Int) throws -> Data {
        try bytes(upTo: length == .max ? .max : length + 1)
    }

    /// The whole body; a stream is read to its end, or up to `limit` bytes.
    ///
    /// Blocks while a stream has no bytes.
    fileprivate func bytes(upTo limit: Int = .max) throws -> Data {
        switch self {
        case .none: return Data()
        case .data(let data): return data
        case .file(let path): return try Data(contentOf: URL(filePath: path))
        case .stream(let stream):
            var data = Data()
            var piece = Data(count: 16_384)
            let ready = DispatchSemaphore(value: 0)
            while data.count < limit {
                if stream.mustWait(ready: { ready.signal() }) {
                    ready.wait()
                    continue
                }
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
