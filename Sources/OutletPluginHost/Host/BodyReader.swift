import COutletPlugin
import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// Reads parts of a body that is in memory, in a file or in a stream.
///
/// Thread: any, one read at a time; may block on a disk.
final class BodyReader: Sendable {
    /// The result of a read.
    enum Part {
        /// The number of bytes read; 0 at the end of the body.
        case bytes(Int)
        /// The body is a stream that plugins cannot read here, or that another thread is reading.
        case unreadable
        /// Reading failed.
        case failed
        /// The hook is over.
        case stale
    }

    private struct State {
        /// The descriptor of the open file; -1 before the first read.
        var file: Int32 = -1
        /// The number of bytes that have been read from the stream; `nil` if it is not known.
        var position: UInt64?
        var hasFailed = false
        /// Whether the stream is being read, without the lock, because it is code of the program.
        var isReading = false
        /// Whether no read may begin any more.
        var isOver = false
    }

    /// The error of a stream that is rewound while it is read.
    private struct BusyStream: Error, CustomStringConvertible {
        var description: String { "the plugin is still reading it" }
    }

    private let body: HTTPBody
    private let mayReadStream: Bool
    private let state: Lock<State>

    /// Creates a reader; a file is opened at the first read.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - mayReadStream: Whether a stream may be read, because nothing else reads it.
    ///   - wasSent: Whether a stream may have been read before, so that it has to be rewound.
    init(_ body: HTTPBody, mayReadStream: Bool, wasSent: Bool = false) {
        self.body = body
        self.mayReadStream = mayReadStream
        state = Lock(State(position: wasSent ? nil : 0))
    }

    deinit {
        let file = state.withLock { $0.file }
        if file >= 0 { close(file) }
    }

    /// Returns the length of a body in bytes; `nil` if it is not known.
    static func length(of body: HTTPBody) -> UInt64? {
        switch body {
        case .none: 0
        case .data(let data): UInt64(data.count)
        case .file(let path): fileLength(path)
        case .stream(let stream): stream.length.map { UInt64(clamping: $0) }
        }
    }

    private static func fileLength(_ path: String) -> UInt64? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return FileLength.of(path, size: status.st_size).map { UInt64(clamping: $0) }
    }

    /// Reads bytes from an offset on.
    ///
    /// - Parameters:
    ///   - offset: The number of bytes before.
    ///   - buffer: Receives the bytes.
    ///   - runningProgram: Called with the code that reads a stream.
    func read(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
        runningProgram: (() -> Part) -> Part = { $0() }
    ) -> Part {
        switch body {
        case .none: return .bytes(0)
        case .data(let data): return .bytes(data.copy(from: offset, into: buffer))
        case .file(let path):
            // The system takes no larger offset, and no file is longer.
            guard offset <= UInt64(off_t.max) - UInt64(buffer.count) else { return .bytes(0) }
            let file = state.withLock { state in
                if state.file < 0 { state.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
                return state.file
            }
            guard file >= 0, let offset = Int(exactly: offset) else { return .failed }
            let count = pread(file, buffer.baseAddress, buffer.count, offset)
            return count < 0 ? .failed : .bytes(count)
        case .stream(let stream):
            guard mayReadStream, !(stream is PluginBody) else { return .unreadable }
            let (begun, isOver) = state.withLock { state -> (State?, Bool) in
                guard !state.isReading, !state.isOver else { return (nil, state.isOver) }
                state.isReading = true
                return (state, false)
            }
            guard var progress = begun else { return isOver ? .stale : .unreadable }
            let part = runningProgram { Self.read(stream, &progress, at: offset, into: buffer) }
            state.withLock { [progress] state in
                state.position = progress.position
                state.hasFailed = progress.hasFailed
                state.isReading = false
            }
            return part
        }
    }

    private static func read(
        _ stream: any BodyStream, _ state: inout State, at offset: UInt64,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> Part {
        guard !state.hasFailed else { return .failed }
        do {
            var position = state.position ?? 0
            if state.position == nil || offset < position {
                try stream.rewind()
                position = 0
            }
            defer { state.position = position }
            while position < offset {
                let skipped = try withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) {
                    let wanted = Int(min(offset - position, UInt64($0.count)))
                    return try stream.read(into: .init(rebasing: $0[..<wanted]))
                }
                guard skipped > 0 else { return .bytes(0) }
                position += UInt64(skipped)
            }
            let count = try stream.read(into: buffer)
            position += UInt64(count)
            return .bytes(count)
        } catch {
            state.hasFailed = true
            return .failed
        }
    }

    /// Whether the reader reads a stream.
    func reads(_ stream: any BodyStream) -> Bool {
        if case .stream(let own) = body { own === stream } else { false }
    }

    /// Ends all reading, and rewinds a stream that was read.
    ///
    /// - Throws: The stream's error.
    func rewind() throws {
        guard case .stream(let stream) = body else { return }
        let isRead = try state.withLock { state in
            // In one step with the check: a read that begins later would move the stream.
            state.isOver = true
            guard !state.isReading else { throw BusyStream() }
            guard state.hasFailed || state.position.map({ $0 > 0 }) ?? false else { return false }
            state.isReading = true
            return true
        }
        guard isRead else { return }
        let rewound = Result { try stream.rewind() }
        state.withLock { state in
            state.isReading = false
            guard case .success = rewound else { return }
            state.position = 0
            state.hasFailed = false
        }
        try rewound.get()
    }
}

extension Data {
    /// Copies bytes from an offset on; returns their number.
    func copy(from offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let offset = Int(exactly: offset), offset < count else { return 0 }
        let part = self[startIndex + offset..<endIndex].prefix(buffer.count)
        return part.copyBytes(to: buffer)
    }
}
