import Dispatch
public import FoundationEssentials
import OutletFiles
public import OutletHTTP
public import OutletObservation
import OutletSession
public import OutletTransport

/// Writes what goes over another transport into an HTTP archive (HAR 1.2), to be replayed later.
///
/// The file takes the place of an older one with ``finish()``; a recording that ends without it, or
/// with an error, leaves that as it was. From then on it is a whole archive after each entry. Bodies are written whole, those of files and
/// streams too, as text where they are text, else in base64. Secrets are left out unless told
/// otherwise: a mark takes their place, also in JSON, so values that a replay must decode need a
/// `Redaction` that keeps them.
///
/// ```swift
/// let recording = try RecordingTransport(wrapping: CurlTransport(), to: file)
/// let session = Session(transport: recording)
/// // … requests …
/// try await recording.finish()
/// ```
public final class RecordingTransport: Transport {
    private let inner: any Transport
    private let redaction: Redaction
    private let bodyLimit: Int
    private let file: HARFile

    /// Makes the file, empty but for its frame, beside its place; what is there stays until
    /// ``finish()``.
    ///
    /// - Parameters:
    ///   - inner: Carries the requests.
    ///   - file: Where the archive goes.
    ///   - redaction: What is left out.
    ///   - bodyLimit: The largest body that is written, in bytes; of larger ones the length is.
    /// - Throws: `HARError.unwritable(path:reason:)`.
    public init(
        wrapping inner: any Transport, to file: URL, redaction: Redaction = .standard,
        bodyLimit: Int = 16 << 20
    ) throws(HARError) {
        self.inner = inner
        self.redaction = redaction
        self.bodyLimit = bodyLimit
        self.file = try HARFile(creatingAt: file)
    }

    /// Begins one transfer on the other transport, and returns at once.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let recorder = TransferRecorder(job, handler: handler, bodyLimit: bodyLimit) {
            [file, redaction, bodyLimit] exchange in
            file.append(HAR.Entry(exchange, redaction: redaction, bodyLimit: bodyLimit))
        }
        return inner.start(recorder.job, handler: recorder)
    }

    /// The other transport's.
    public var taskExecutor: (any TaskExecutor)? { inner.taskExecutor }

    /// Cancels all transfers; their entries are still written.
    public func shutDown() { inner.shutDown() }

    /// Passed on.
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await inner.shutDown(deadline: deadline)
    }

    /// Passed on.
    public func reloadCertificates() { inner.reloadCertificates() }

    /// Passed on.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        inner.statistics(perOrigin: perOrigin)
    }

    /// Waits until everything that is over is in the file, and puts that into its place.
    ///
    /// - Throws: `HARError.unwritable(path:reason:)` when something could not be written.
    public func finish() async throws(HARError) {
        try await file.finish()
    }
}

/// Listens to one transfer, and passes everything on.
private final class TransferRecorder: ForwardingTransferHandler {
    /// The job as the other transport gets it.
    let job: TransferJob
    let handler: any TransferHandler
    private let bodyLimit: Int
    private let sent: TeeStream?
    private let record: @Sendable (TransferExchange) -> Void

    private struct State {
        var delivery: BodyDelivery
        var interimHeads: [HTTPResponse] = []
        /// The chunks so far, up to one more than the limit.
        var body: Data?
    }
    private let state: Lock<State>

    init(
        _ job: TransferJob, handler: any TransferHandler, bodyLimit: Int,
        record: @escaping @Sendable (TransferExchange) -> Void
    ) {
        var job = job
        sent =
            if case .stream(let stream) = job.request.body {
                TeeStream(stream, limit: bodyLimit)
            } else {
                nil
            }
        if let sent { job.request.body = .stream(sent) }
        self.job = job
        self.handler = handler
        self.bodyLimit = bodyLimit
        self.record = record
        state = Lock(State(delivery: job.delivery))
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        if head.statusCode < 200, head.statusCode != 101 {
            state.withLock { $0.interimHeads.append(head) }
        }
        let decision = handler.transfer(task, didReceive: head, turn: turn)
        if case .deliver(let delivery) = decision { state.withLock { $0.delivery = delivery } }
        return decision
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        state.withLock { state in
            let room = bodyLimit + 1 - (state.body?.count ?? 0)
            if room > 0 { state.body = (state.body ?? Data()) + Data(chunk.prefix(room)) }
        }
        return handler.transfer(task, didReceive: chunk, turn: turn)
    }

    /// Files are read here, where they are written otherwise, as they may be gone afterwards.
    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        var exchange = TransferExchange(request: job.request, result: result)
        let state = state.withLock { $0 }
        exchange.interimHeads = state.interimHeads
        switch job.request.body {
        case .none, .data: break
        case .file(let path): exchange.requestBody = Self.content(of: path, from: 0, bodyLimit)
        case .stream: exchange.requestBody = sent?.content
        }
        switch state.delivery {
        case .collect: break
        case .chunks: exchange.body = state.body
        case .file(let path, let offset) where result.metrics.responseBodyBytes > 0:
            let start = result.response?.statusCode == 206 ? offset : 0
            exchange.body = Self.content(of: path, from: start, bodyLimit)
        case .file: break
        }
        record(exchange)
        handler.transferDidFinish(task, result: result, turn: turn)
    }

    /// The bytes of a file, up to one more than the limit; `nil` when it cannot be read.
    private static func content(of path: String, from offset: Int64, _ limit: Int) -> Data? {
        guard NotPlainFile(path) == nil else { return nil }
        let data = try? Data(contentsOf: URL(filePath: path), options: .mappedIfSafe)
        return data.map { Data($0.dropFirst(Int(clamping: offset)).prefix(limit + 1)) }
    }
}

/// A stream that keeps what is read from another one.
private final class TeeStream: BodyStream {
    private let inner: any BodyStream
    private let limit: Int
    private let kept = Lock(Data())

    var length: Int64? { inner.length }

    init(_ inner: any BodyStream, limit: Int) {
        self.inner = inner
        self.limit = limit
    }

    /// What was read since the start, up to one byte more than the limit.
    var content: Data { kept.withLock { $0 } }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool { inner.mustWait(ready: ready) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try inner.read(into: buffer)
        let data = Data(buffer.prefix(count))
        kept.withLock { $0 += data.prefix(limit + 1 - $0.count) }
        return count
    }

    func rewind() throws {
        try inner.rewind()
        kept.withLock { $0 = Data() }
    }
}
