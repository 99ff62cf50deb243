import Dispatch
public import FoundationEssentials
import OutletFiles
public import OutletHTTP
public import OutletObservation
import OutletSession
public import OutletTransport

/// Records the transfers of another transport to an HTTP archive (HAR 1.2), for
/// ``ReplayTransport``.
///
/// The archive is written beside its destination. ``finish()`` moves it there and replaces an older
/// file; without it, or after an error, the older file stays. Transfers that end after ``finish()``
/// are added to the file, which is a valid archive after each of them. Bodies are recorded up to
/// the limit, also those of files and streams, as text if they are UTF-8, else in base64. Secrets
/// are replaced by a mark, also in JSON: values that a replay must decode need a `Redaction` that
/// keeps them. WebSockets are refused.
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

    /// Makes a transport, and an archive without entries beside its destination.
    ///
    /// - Parameters:
    ///   - inner: Carries the requests.
    ///   - file: The destination of the archive; an existing file stays until ``finish()``.
    ///   - redaction: Which parts are secrets. Pass the same to ``ReplayTransport``.
    ///   - bodyLimit: The largest body that is recorded, in bytes; 16 MiB by default. Of larger
    ///     ones only the length is recorded.
    /// - Throws: `HARError.unwritable(path:reason:)` when the archive cannot be created.
    public init(
        wrapping inner: any Transport, to file: URL, redaction: Redaction = .standard,
        bodyLimit: Int = 16 << 20
    ) throws(HARError) {
        self.inner = inner
        self.redaction = redaction
        // One byte more is kept, which shows that a body is larger.
        self.bodyLimit = max(0, min(bodyLimit, .max - 1))
        self.file = try HARFile(creatingAt: file)
    }

    /// Begins one transfer on the other transport, and returns at once.
    ///
    /// The entry is recorded before `handler` receives the end of the transfer.
    ///
    /// - Parameters:
    ///   - job: The request and how to deliver its response.
    ///   - handler: Receives the events of the transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let recorder = TransferRecorder(job, handler: handler, bodyLimit: bodyLimit) {
            [file, redaction, bodyLimit] exchange in
            file.append(HAR.Entry(exchange, redaction: redaction, bodyLimit: bodyLimit))
        }
        return inner.start(recorder.job, handler: recorder)
    }

    /// The task executor of the other transport.
    public var taskExecutor: (any TaskExecutor)? { inner.taskExecutor }

    /// Shuts down the other transport; the cancelled transfers are still recorded.
    public func shutDown() { inner.shutDown() }

    /// Shuts down the other transport; transfers that are cut off are still recorded.
    ///
    /// - Parameter deadline: How long transfers may take to end by themselves.
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await inner.shutDown(deadline: deadline)
    }

    /// Makes the other transport read its certificates again.
    public func reloadCertificates() { inner.reloadCertificates() }

    /// Returns the statistics of the other transport.
    ///
    /// - Parameter perOrigin: Whether to count for each origin, too.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        inner.statistics(perOrigin: perOrigin)
    }

    /// Waits until all ended transfers are written, and moves the archive to its destination.
    ///
    /// May be called again; later calls wait only.
    ///
    /// - Throws: `HARError.unwritable(path:reason:)`, the first error of writing or moving; an
    ///   older file at the destination then stays.
    public func finish() async throws(HARError) {
        try await file.finish()
    }
}

/// Records one transfer, and forwards all calls.
private final class TransferRecorder: ForwardingTransferHandler {
    /// The job for the other transport.
    let job: TransferJob
    let handler: any TransferHandler
    private let bodyLimit: Int
    private let sent: TeeStream?
    private let record: @Sendable (TransferExchange) -> Void

    private struct State {
        var delivery: BodyDelivery
        var interimHeads: [HTTPResponse] = []
        /// The chunks so far, up to the limit plus one byte.
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
            guard room > 0 else { return }
            // Taken out, so that appending does not copy it.
            var body = state.body.take() ?? Data()
            body.append(contentsOf: chunk.prefix(room))
            state.body = body
        }
        return handler.transfer(task, didReceive: chunk, turn: turn)
    }

    /// Reads files here, on the transport's thread, because the handler may move or delete them.
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

    /// The bytes of a file, up to the limit plus one byte; `nil` when it cannot be read.
    private static func content(of path: String, from offset: Int64, _ limit: Int) -> Data? {
        guard NotPlainFile(path) == nil else { return nil }
        let data = try? Data(contentsOf: URL(filePath: path), options: .mappedIfSafe)
        return data.map { Data($0.dropFirst(Int(clamping: offset)).prefix(limit + 1)) }
    }
}

/// A stream that keeps a copy of the bytes read from another one.
private final class TeeStream: BodyStream {
    private let inner: any BodyStream
    private let limit: Int
    private let kept = Lock(Data())

    var name: String { inner.name }

    var length: Int64? { inner.length }

    init(_ inner: any BodyStream, limit: Int) {
        self.inner = inner
        self.limit = limit
    }

    /// The bytes read since the start, up to the limit plus one byte.
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
