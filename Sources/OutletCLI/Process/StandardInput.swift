import Dispatch
import FoundationEssentials
import Glibc
import Outlet
import OutletFiles
import OutletTransport
import Synchronization

/// Reads a request's body from stdin.
enum StandardInput {
    private static let kept = Atomic(STDIN_FILENO)

    /// The descriptor of stdin: another one than 0 after ``keep()``.
    static var descriptor: Int32 { kept.load(ordering: .relaxed) }

    /// Reserves stdin for the program: other code in the process, such as a plugin, and programs that
    /// it starts, find `/dev/null` at descriptor 0.
    ///
    /// Otherwise the bytes that they read would be missing in the request's body. Further calls do
    /// nothing; neither does one without free descriptors.
    static func keep() {
        guard descriptor == STDIN_FILENO else { return }
        // A high number, which code in this process is unlikely to close by mistake.
        let far = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 200)
        let copy = far >= 0 ? far : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        let nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(nowhere) }
        guard copy >= 0, nowhere >= 0, dup2(nowhere, STDIN_FILENO) >= 0 else {
            close(copy)
            return
        }
        kept.store(copy, ordering: .relaxed)
    }

    /// Whether stdin can be read, is not a terminal and was not read for something else, so that it
    /// may contain a body.
    static var isGiven: Bool { !isTaken && isReadable && isatty(descriptor) == 0 }

    /// Whether stdin is open for reading; `nohup` replaces a terminal by a `/dev/null` that is not.
    static var isReadable: Bool { fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY }

    /// Whether the command line names stdin for a value or a configuration.
    static var isTaken: Bool { taken.load(ordering: .relaxed) }
    private static let taken = Atomic(false)

    /// Records that stdin is read by its path, if the path is one of stdin's: a file would otherwise be
    /// read again as the body.
    static func take(path: String) {
        if isNamed(by: path) { taken.store(true, ordering: .relaxed) }
    }

    /// Whether a path is one of stdin's.
    static func isNamed(by path: String) -> Bool {
        ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
    }

    /// Whether stdin has bytes to read now; does not block.
    ///
    /// `false` for `/dev/null`, `true` for any other character device.
    static var hasBytes: Bool {
        var status = stat()
        guard fstat(StandardInput.descriptor, &status) == 0 else { return false }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            let offset = lseek(StandardInput.descriptor, 0, SEEK_CUR)
            guard let length = FileLength.of(StandardInput.descriptor, size: status.st_size) else {
                return true
            }
            return length > offset
        case S_IFCHR: return !isNullDevice(status)
        default:
            var count: Int32 = 0
            return ioctl(StandardInput.descriptor, UInt(FIONREAD), &count) == 0 && count > 0
        }
    }

    private static func isNullDevice(_ status: stat) -> Bool {
        var null = stat()
        return stat("/dev/null", &null) == 0 && null.st_rdev == status.st_rdev
    }

    /// The number of bytes that are read before the request is sent.
    ///
    /// A body that is not longer has a known length and can be sent again.
    static let heldSize = 1 << 20

    /// Reads the body from stdin: completely if it is short, else its start.
    ///
    /// The rest of a longer body is read while it is sent.
    ///
    /// - Parameter onSilence: Called at most once, on this thread, if there is no byte within two
    ///   seconds.
    /// - Returns: The body; `nil` if stdin is empty.
    /// - Throws: ``CommandError`` with ``ExitCode/failure`` if stdin cannot be read.
    ///
    /// Thread: blocks until ``heldSize`` bytes have arrived or stdin ends.
    static func body(onSilence: () -> Void) throws(CommandError) -> HTTPBody? {
        try AwaitedInput.reading("stdin") { () throws(CommandError) in try read(onSilence) }
    }

    private static func read(_ onSilence: () -> Void) throws(CommandError) -> HTTPBody? {
        var wanted = pollfd(fd: StandardInput.descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&wanted, 1, 2000) == 0 { onSilence() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while data.count < heldSize {
            let count = Glibc.read(StandardInput.descriptor, &buffer, buffer.count)
            if count == 0 { return data.isEmpty ? nil : .data(data) }
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
            } else if errno == EAGAIN {
                // Another process has set O_NONBLOCK on a shared pipe.
                _ = poll(&wanted, 1, -1)
            } else if errno != EINTR {
                throw CommandError(.failure, "stdin: cannot be read: \(systemText(errno))")
            }
        }
        return .stream(StandardInputBody(held: data))
    }
}

/// A body that is read from stdin while it is sent.
///
/// If stdin is a regular file, the length is known and the body can be sent again. Otherwise it can
/// be sent again only while no more than `held` has been read.
///
/// Thread: the transport calls ``mustWait(ready:)`` and ``read(into:)`` on its thread for files.
/// ``cancel()`` may be called from any thread.
final class StandardInputBody: BodyStream {
    let length: Int64?
    let name = "stdin"
    private let held: Data
    /// The offset in a regular file at which the body begins; `nil` for anything else.
    private let start: Int64?
    /// The content of a regular file at first; `nil` for anything else.
    private let version: FileVersion?
    /// A pipe whose reading end becomes readable when the body is cancelled.
    private let wake: (reader: Int32, writer: Int32)
    /// The number of bytes read since the last rewind.
    private let position = Lock<Int64>(0)
    /// What to call when stdin can be read; `nil` while no thread waits for that.
    private let waiting = Lock<(@Sendable () -> Void)?>(nil)

    /// Makes a body.
    ///
    /// - Parameter held: The first bytes, which have already been read from stdin.
    init(held: Data = Data()) {
        self.held = held
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wake = (ends[0], ends[1])
        var status = stat()
        let offset = lseek(StandardInput.descriptor, 0, SEEK_CUR)
        if fstat(StandardInput.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            offset >= 0
        {
            let begin = Int64(offset) - Int64(held.count)
            start = begin
            version = FileVersion(status)
            length = FileLength.of(StandardInput.descriptor, size: status.st_size).map {
                max(0, $0 - begin)
            }
        } else {
            start = nil
            version = nil
            length = nil
        }
    }

    deinit {
        close(wake.reader)
        close(wake.writer)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let position = position.withLock { $0 }
        let count: Int
        if position < held.count {
            count = min(buffer.count, held.count - Int(position))
            held.copyBytes(
                to: buffer.bindMemory(to: UInt8.self),
                from: held.startIndex + Int(position)..<held.startIndex + Int(position) + count)
        } else {
            count = try next(into: buffer, at: position)
        }
        if let length, position < length, count == 0 || position + Int64(count) == length {
            try checkUnchanged()
        }
        self.position.withLock { $0 += Int64(count) }
        return count
    }

    /// Throws if stdin is a regular file that has changed, so that no server takes a mixture of two
    /// contents for a whole body.
    private func checkUnchanged() throws(TransferError) {
        var status = stat()
        guard let version, fstat(StandardInput.descriptor, &status) == 0,
            let change = FileVersion(status).change(since: version)
        else { return }
        throw TransferError(
            code: .cannotOpenFile, stage: .sending,
            reason: "stdin: the file \(change) while it was sent",
            advice: "send a copy that nothing writes to")
    }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool {
        guard start == nil, position.withLock({ $0 }) >= held.count, !isReadable(within: 0) else {
            return false
        }
        let isFirst = waiting.withLock { waiting in
            defer { waiting = ready }
            return waiting == nil
        }
        if isFirst {
            DispatchQueue.global().async {
                _ = AwaitedInput.reading("stdin") { self.isReadable(within: -1) }
                self.waiting.withLock { $0.take() }?()
            }
        }
        return true
    }

    /// Whether the body can be sent again.
    var canRewind: Bool { position.withLock { canRewind(from: $0) } }

    private func canRewind(from position: Int64) -> Bool {
        start != nil || position <= held.count
    }

    func rewind() throws {
        try position.withLock { position in
            guard canRewind(from: position) else {
                throw TransferError(
                    code: .requestBodyStreamExhausted, stage: .sending,
                    reason: "stdin: \(position) bytes of it are sent and cannot be read again",
                    advice: "a file, with @FILE, can be sent again")
            }
            position = 0
        }
    }

    /// Ends a wait for bytes, and makes all later reads that would need one fail.
    func cancel() {
        var byte: UInt8 = 1
        _ = write(wake.writer, &byte, 1)
    }

    private func next(
        into buffer: UnsafeMutableRawBufferPointer, at position: Int64
    ) throws(TransferError) -> Int {
        while true {
            let count: Int
            if let start {
                count = pread(
                    StandardInput.descriptor, buffer.baseAddress, buffer.count,
                    Int(start + position))
            } else {
                // Usually there are bytes, because the transport has asked `mustWait` before. A
                // plugin that reads the body has not.
                let wanted = AwaitedInput.reading("stdin") { poll(within: -1) }
                guard !wanted.isCancelled else {
                    throw TransferError(
                        code: .cancelled, stage: .sending, reason: "stdin: no longer wanted")
                }
                guard wanted.isReadable else { continue }
                count = Glibc.read(StandardInput.descriptor, buffer.baseAddress, buffer.count)
            }
            if count >= 0 { return count }
            guard errno == EINTR || errno == EAGAIN else { throw Self.error(errno) }
        }
    }

    /// Whether a read would not block, waiting for that.
    ///
    /// - Parameter time: How long to wait, in milliseconds; -1 for no limit.
    private func isReadable(within time: Int32) -> Bool {
        let wanted = poll(within: time)
        return wanted.isReadable || wanted.isCancelled
    }

    /// Waits until stdin can be read, has ended or failed, or the body is cancelled.
    ///
    /// - Parameter time: How long to wait, in milliseconds; -1 for no limit.
    private func poll(within time: Int32) -> (isReadable: Bool, isCancelled: Bool) {
        var wanted = [
            pollfd(fd: StandardInput.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wake.reader, events: Int16(POLLIN), revents: 0),
        ]
        while Glibc.poll(&wanted, 2, time) < 0 {
            // Other errors than this one do not end by waiting: the read reports its own.
            guard errno == EINTR else { return (true, false) }
        }
        return (wanted[0].revents != 0, wanted[1].revents != 0)
    }

    private static func error(_ number: Int32) -> TransferError {
        TransferError(
            code: .cannotOpenFile, stage: .sending,
            reason: "stdin: cannot be read: \(systemText(number))")
    }
}

extension HTTPRequest {
    /// The body if it is read from stdin while it is sent; else `nil`.
    var standardInput: StandardInputBody? {
        guard case .stream(let stream) = body else { return nil }
        return stream as? StandardInputBody
    }
}
