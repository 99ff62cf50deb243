import Dispatch
import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// The transfer of a `file:` URL, which reads a local file in pieces.
///
/// There is no response head, because a file has no status and no header fields. Only the request's
/// own URL can be a `file:` URL, never a redirect's.
final class FileReading: TransferScript, @unchecked Sendable {
    // because mutable properties are used on the transfer's queue only.

    private let job: TransferJob
    private let configuration: TransportConfiguration
    private let deadlines: Deadlines
    private let copy: FileCopy

    /// Whether a piece is being read.
    private var isReading = false
    private var isOver = false
    private var body = Data()
    private var counts = TransferCounts()
    private var resourceLimit: Deadlines.Token?
    private var readingLimit: Deadlines.Token?

    /// Starts reading a file.
    ///
    /// - Parameters:
    ///   - job: The request, and where the body goes.
    ///   - configuration: The size limit for a body in memory, and the time limits.
    ///   - deadlines: Runs the time limits.
    ///   - handler: Receives the events of the transfer.
    /// - Returns: The transfer, which has started.
    static func start(
        _ job: TransferJob, _ configuration: TransportConfiguration, _ deadlines: Deadlines,
        handler: any TransferHandler
    ) -> any TransferTask {
        let reading = FileReading(job, configuration, deadlines)
        // This queue never blocks on a file. Reading some files blocks forever; cancellation and
        // the time limits work nevertheless.
        let queue = DispatchQueue(label: "outlet.session.file")
        let transfer = ScriptedTransfer(reading, for: job, on: queue, handler: handler)
        transfer.perform { transfer in
            reading.resourceLimit = reading.limit(
                transfer, configuration.timeoutIntervalForResource, "timeoutIntervalForResource")
        }
        transfer.begin()
        return transfer
    }

    private init(
        _ job: TransferJob, _ configuration: TransportConfiguration, _ deadlines: Deadlines
    ) {
        self.job = job
        self.configuration = configuration
        self.deadlines = deadlines
        copy = FileCopy(job)
    }

    // MARK: Reading

    /// Starts reading the next piece, unless the transfer is suspended or a piece is being read.
    func play(_ transfer: PlayedTransfer) {
        guard transfer.mayGoOn, !isReading, transfer.state == .running else { return }
        isReading = true
        readingLimit = limit(transfer, job.request.timeoutInterval, "timeoutIntervalForRequest")
        DiskQueue.shared.async { [self] in
            let piece = Result { () throws(TransferError) in try copy.next() }
            transfer.perform { self.take(piece, for: $0) }
        }
    }

    private func take(_ piece: Result<FileCopy.Piece, TransferError>, for transfer: PlayedTransfer)
    {
        isReading = false
        if let readingLimit { deadlines.remove(readingLimit) }
        guard !isOver else { return copy.close() }
        do throws(TransferError) {
            let piece = try piece.get()
            counts.expectedToReceive = piece.total
            guard piece.count > 0 else { return transfer.finish(nil) }
            try deliver(piece, to: transfer)
        } catch {
            return transfer.finish(error)
        }
        play(transfer)
    }

    private func deliver(
        _ piece: FileCopy.Piece, to transfer: PlayedTransfer
    ) throws(TransferError) {
        counts.received += Int64(piece.count)
        switch job.delivery {
        case .collect:
            let limit = configuration.maximumResponseSize
            guard counts.received <= limit else {
                throw TransferError(
                    code: .dataLengthExceedsMaximum, stage: .receiving,
                    reason: "the file is larger than the limit of \(limit) bytes",
                    advice: "raise maximumResponseSize, or download it to a file")
            }
            body += piece.bytes
        case .chunks: transfer.notify(piece.bytes)
        case .file: break
        }
        transfer.notify(counts)
    }

    // MARK: Ending

    /// Ends the transfer with `timedOut` after a time in seconds; 0 or less means no limit.
    private func limit(
        _ transfer: PlayedTransfer, _ seconds: Double, _ setting: String
    ) -> Deadlines.Token? {
        guard seconds > 0, !isOver else { return nil }
        return deadlines.add(after: seconds) { [weak transfer] in
            let error = TransferError(
                code: .timedOut, stage: .receiving,
                reason: "timed out while reading the file: it took longer than \(seconds) s",
                advice: "raise \(setting)")
            transfer?.perform { $0.finish(error) }
        }
    }

    func end(_ error: TransferError?, delivery: BodyDelivery) -> TransferResult {
        isOver = true
        for limit in [resourceLimit, readingLimit] {
            if let limit { deadlines.remove(limit) }
        }
        if !isReading { copy.close() }
        var result = TransferResult(error: error)
        result.body = body.isEmpty ? nil : body
        result.metrics.responseBodyBytes = counts.received
        return result
    }
}

/// The file that a ``FileReading`` reads, and the file it writes to, if any.
///
/// Thread: any thread that may block on a disk, one at a time.
private final class FileCopy: @unchecked Sendable {
    // because the transfer reads one piece at a time.

    /// The result of one read.
    struct Piece: Sendable {
        /// The number of bytes; 0 at the end of the file.
        let count: Int
        /// The bytes; empty if they were written to the target file.
        let bytes: Data
        /// The size of the file in bytes.
        let total: Int64
    }

    private static let pieceSize = 64 << 10

    private let job: TransferJob
    private var source: OpenFile?
    private var target: OpenFile?

    init(_ job: TransferJob) {
        self.job = job
    }

    /// Reads the next piece; opens the files if necessary.
    func next() throws(TransferError) -> Piece {
        let file = try opened()
        guard job.request.method != .head else {
            return Piece(count: 0, bytes: Data(), total: file.size)
        }
        let bytes = try file.read(Self.pieceSize)
        try target?.write(bytes)
        return Piece(
            count: bytes.count, bytes: target == nil ? bytes : Data(), total: file.size)
    }

    private func opened() throws(TransferError) -> OpenFile {
        if let source { return source }
        guard job.request.method == .get || job.request.method == .head else {
            throw TransferError(
                code: .badRequest,
                reason: "a file: URL accepts GET and HEAD, not \(job.request.method)")
        }
        guard let url = job.request.url, ["", "localhost"].contains(url.host() ?? "") else {
            throw TransferError(code: .badURL, reason: "the file is on another host")
        }
        let file = try OpenFile(reading: url.path)
        source = file
        if case .file(let path, _) = job.delivery { target = try OpenFile(writing: path) }
        return file
    }

    func close() {
        source = nil
        target = nil
    }
}

extension TransferError {
    /// The error for a `file:` URL in a session that does not allow them.
    static var fileURLRefused: TransferError {
        TransferError(
            code: .unsupportedURL,
            reason: "address: file: URLs are not read",
            advice: "set allowsFileURLs, only for addresses of your own")
    }
}

/// The descriptor of an open file.
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

    /// Reads up to this many bytes; returns no bytes at the end of the file.
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
            reason: "\(path): \(what): \(systemText(number))")
    }
}
