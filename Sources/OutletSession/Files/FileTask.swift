import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTransport

/// A file of this machine being read, piece after piece, on a queue of its own.
///
/// There is no head: what comes of a file has no status and no fields. Only a request's own address
/// leads here, never a redirect's.
final class FileTask: TransferTask, @unchecked Sendable {
    // because all that changes is touched on `queue` only.

    private static let pieceSize = 64 << 10

    let identifier = TransferIdentifier.next()
    private let queue = DispatchQueue(label: "outlet.session.file", target: DiskQueue.shared)
    private let job: TransferJob
    private let limit: Int64
    private let visible = VisibleState()

    /// Set to `nil` at the end, so that the end is reported once only.
    private var handler: (any TransferHandler)?
    private var isSuspended = true
    private var reportsProgress: Bool
    private var source: OpenFile?
    private var target: OpenFile?
    private var body = Data()
    private var counts = TransferCounts()

    /// Begins to read.
    ///
    /// - Parameter limit: The largest body that is collected in memory, in bytes.
    static func start(
        _ job: TransferJob, limit: Int64, handler: any TransferHandler
    ) -> any TransferTask {
        let task = FileTask(job, limit: limit, handler: handler)
        task.resume()
        return task
    }

    private init(_ job: TransferJob, limit: Int64, handler: any TransferHandler) {
        self.job = job
        self.limit = limit
        self.handler = handler
        reportsProgress = job.reportsProgress
    }

    var state: TransferState { visible.state }
    var currentRequest: HTTPRequest? { job.request }

    func cancel() {
        visible.wish(.canceling)
        queue.async { self.finish(.cancelled) }
    }

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

    // MARK: Reading

    private func run() {
        do throws(TransferError) {
            try open()
            // What was asked for meanwhile waits on the queue.
            while handler != nil, !isSuspended, visible.state == .running {
                let piece =
                    job.request.method == .head
                    ? Data() : try source?.read(Self.pieceSize) ?? Data()
                guard !piece.isEmpty else { return finish(nil) }
                try deliver(piece)
            }
        } catch {
            finish(error)
        }
    }

    private func open() throws(TransferError) {
        guard source == nil, handler != nil else { return }
        guard job.request.method == .get || job.request.method == .head else {
            throw TransferError(
                code: .badRequest, reason: "a file can be got, not sent \(job.request.method)")
        }
        guard let url = job.request.url, ["", "localhost"].contains(url.host() ?? "") else {
            throw TransferError(code: .badURL, reason: "the file is on another host")
        }
        let file = try OpenFile(reading: url.path(percentEncoded: false))
        source = file
        counts.expectedToReceive = file.size
        if case .file(let path, _) = job.delivery { target = try OpenFile(writing: path) }
    }

    private func deliver(_ piece: Data) throws(TransferError) {
        counts.received += Int64(piece.count)
        switch job.delivery {
        case .collect:
            guard counts.received <= limit else {
                throw TransferError(
                    code: .dataLengthExceedsMaximum, stage: .receiving,
                    reason: "the file is larger than the limit of \(limit) bytes",
                    advice: TransferError.raise("maximumResponseSize", "--max-response-size")
                        + ", or download it to a file")
            }
            body += piece
        case .chunks: follow(told { $0.transfer(self, didReceive: piece, turn: $1) })
        case .file: try target?.write(piece)
        }
        if reportsProgress {
            let counts = counts
            told { $0.transfer(self, didProgress: counts, turn: $1) }
        }
    }

    private func follow(_ decision: TransferDecision?) {
        switch decision {
        case .pause: isSuspended = true
        case .cancel: finish(.cancelled)
        case .proceed, .deliver, nil: break
        }
    }

    /// Tells the handler, in a turn of its own.
    @discardableResult
    private func told<Answer>(
        _ body: (any TransferHandler, TransportTurn) -> Answer
    ) -> Answer? {
        guard let handler else { return nil }
        let turn = TransportTurn()
        defer { turn.end() }
        return body(handler, turn)
    }

    private func finish(_ error: TransferError?) {
        var result = TransferResult(error: error)
        result.body = body.isEmpty ? nil : body
        result.metrics.responseBodyBytes = counts.received
        source = nil
        target = nil
        visible.complete()
        told { handler, turn in
            self.handler = nil
            handler.transferDidFinish(self, result: result, turn: turn)
        }
    }
}

extension TransferError {
    /// A `file:` URL in a session that reads none.
    static var fileURLRefused: TransferError {
        TransferError(
            code: .unsupportedURL,
            reason: "address: file: URLs are not read: allowsFileURLs is off",
            advice:
                "set allowsFileURLs, in the program --allow-file, only for addresses of your own")
    }
}

extension TransferHandler {
    fileprivate func transfer(
        _ task: any TransferTask, didReceive piece: Data, turn: TransportTurn
    ) -> TransferDecision {
        piece.withUnsafeBytes { self.transfer(task, didReceive: $0, turn: turn) }
    }
}

/// A descriptor of a regular file.
private final class OpenFile {
    private let path: String
    private let descriptor: Int32
    private(set) var size: Int64 = 0

    init(reading path: String) throws(TransferError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw Self.error(Self.code(of: errno), path, "cannot be opened", errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            throw TransferError(
                code: isDirectory ? .fileIsDirectory : .cannotOpenFile,
                reason: "\(path): is \(isDirectory ? "a directory" : "no regular file")")
        }
        size = Int64(status.st_size)
    }

    init(writing path: String) throws(TransferError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Self.error(.cannotWriteToFile, path, "cannot be opened", errno)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The next bytes; none at the end.
    func read(_ count: Int) throws(TransferError) -> Data {
        var data = Data(count: count)
        while true {
            let count = data.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Self.error(.cannotOpenFile, path, "cannot be read", errno)
            }
            return data.prefix(count)
        }
    }

    func write(_ data: Data) throws(TransferError) {
        var rest = data
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Self.error(.cannotWriteToFile, path, "cannot be written", errno)
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func code(of number: Int32) -> TransferError.Code {
        switch number {
        case ENOENT, ENOTDIR: .fileDoesNotExist
        case EACCES, EPERM: .noPermissionsToReadFile
        default: .cannotOpenFile
        }
    }

    private static func error(
        _ code: TransferError.Code, _ path: String, _ what: String, _ number: Int32
    ) -> TransferError {
        TransferError(
            code: code, stage: .receiving,
            reason: "\(path): \(what): \(String(cString: strerror(number)))")
    }
}
