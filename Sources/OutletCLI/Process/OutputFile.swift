import FoundationEssentials
import Glibc
import OutletFiles

/// The error of a failed write.
enum OutputError: Error, Equatable {
    /// The reader of a standard stream has closed it (`EPIPE`), which is no error.
    case closed
    /// A system call failed; `reason` is the system's error message, `advice` how to fix it, empty
    /// for none.
    case failed(name: String, reason: String, advice: String = "")
    /// The body for a report is larger than the limit in bytes.
    case tooLarge(limit: Int64)
}

extension OutputError: CustomStringConvertible {
    var description: String {
        switch self {
        case .closed: "stdout: its reader has closed it"
        case .failed(let name, let reason, _): "\(name): cannot be written: \(reason)"
        case .tooLarge(let limit): "the body is larger than the limit of \(limit) bytes"
        }
    }
}

extension CommandError {
    /// Makes the error of output that cannot be written.
    init(_ error: OutputError) {
        var advice = ""
        if case .failed(_, _, let given) = error { advice = given }
        self.init(.failure, "\(error)", advice: advice)
    }
}

/// A file descriptor to write to: stdout, stderr, or a file that the user named.
///
/// Thread: any; concurrent writes may interleave.
struct OutputFile: Sendable {
    let descriptor: Int32
    let name: String
    /// What helps if it cannot be written; empty for nothing.
    private let advice: String

    /// The file of a standard stream at the program's start; `nil` for other files.
    private let identity: FileIdentity?
    /// The number of a standard stream; `nil` for other files.
    private let stream: Int32?
    /// The path of the terminal that it is; `nil` for other files.
    private let terminal: String?

    /// Wraps the descriptor of a file that the user named, or of a temporary file.
    init(descriptor: Int32, name: String, advice: String = "") {
        self.descriptor = descriptor
        self.name = name
        self.advice = advice
        identity = nil
        stream = nil
        terminal = nil
    }

    /// Duplicates a standard stream.
    ///
    /// Plugins may redirect or close the standard descriptors; the duplicate stays as it is.
    private init(stream: Int32, name: String) {
        // A high number, which code in this process is unlikely to close by mistake.
        let far = fcntl(stream, F_DUPFD_CLOEXEC, 200)
        let near = far >= 0 ? far : fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        // Without any free number, the program ends soon, with an error in this file.
        descriptor = near >= 0 ? near : stream
        self.stream = stream
        self.name = name
        advice = ""
        identity = FileIdentity(of: descriptor)
        terminal = ttyname(descriptor).map { String(cString: $0) }
    }

    static let standardOutput = OutputFile(stream: STDOUT_FILENO, name: "stdout")
    static let standardError = OutputFile(stream: STDERR_FILENO, name: "stderr")

    /// Reserves stdout for the program's own output.
    ///
    /// From now on, what other code in the process, such as a plugin, writes to descriptor 1 goes
    /// to stderr.
    static func keepStandardOutput() {
        // If stdout is closed, writing to it must still fail.
        guard standardOutput.descriptor >= 0 else { return }
        if dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 { return }
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nowhere >= 0 else { return }
        dup2(nowhere, STDOUT_FILENO)
        close(nowhere)
    }

    func write(_ text: String) throws(OutputError) {
        var text = text
        let result = text.withUTF8 { bytes in writeAll(UnsafeRawBufferPointer(bytes)) }
        if let result { throw result }
    }

    func write(_ data: Data) throws(OutputError) {
        let result = data.withUnsafeBytes(writeAll)
        if let result { throw result }
    }

    func write(_ bytes: [UInt8]) throws(OutputError) {
        let result = bytes.withUnsafeBytes(writeAll)
        if let result { throw result }
    }

    /// The maximum number of bytes of one system call.
    ///
    /// It is small, so that the duration of a call shows whether the reader still reads:
    /// see ``ActiveWrites``.
    private static let pieceSize = 65_536

    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> OutputError? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceSize))
            let number = ActiveWrites.begin(name)
            let (count, error) = take(piece)
            ActiveWrites.end(number, took: count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if error != EINTR {
                if error == EPIPE, stream != nil { return .closed }
                let isTaken = identity != nil && FileIdentity(of: descriptor) != identity
                return .failed(
                    name: name,
                    reason: isTaken
                        ? "code in this process, such as a plugin, has closed its descriptor"
                        : systemText(error), advice: advice)
            }
        }
        return nil
    }

    /// Writes some of the bytes, and blocks until the descriptor is writable.
    ///
    /// - Returns: The number of bytes written, or -1 and the error number.
    private func take(_ bytes: UnsafeRawBufferPointer) -> (count: Int, error: Int32) {
        guard let identity, FileIdentity(of: descriptor) != identity else {
            return take(bytes, by: descriptor)
        }
        // Code in this process has closed the descriptor, and its number may now be another file.
        if let stream, FileIdentity(of: stream) == identity { return take(bytes, by: stream) }
        guard let terminal, case let again = open(terminal, O_WRONLY | O_NOCTTY | O_CLOEXEC),
            again >= 0
        else { return (-1, EBADF) }
        defer { close(again) }
        return FileIdentity(of: again) == identity ? take(bytes, by: again) : (-1, EBADF)
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, by descriptor: Int32
    ) -> (count: Int, error: Int32) {
        while true {
            let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            guard count < 0, errno == EAGAIN else { return (count, errno) }
            // Another process has set O_NONBLOCK on a shared terminal or pipe.
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&wanted, 1, -1)
        }
    }
}

/// The identity of the file behind a descriptor.
struct FileIdentity: Equatable {
    private let device: dev_t
    private let number: ino_t

    /// Reads the identity; `nil` if the descriptor is not open.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the identity of the file at a path; `nil` if there is none.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = status.st_dev
        number = status.st_ino
    }
}
