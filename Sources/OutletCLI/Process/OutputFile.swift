import FoundationEssentials
import Glibc

/// Why nothing more can be written.
enum OutputError: Error, Equatable {
    /// The reader has left (`EPIPE`): there is nobody to tell, so the program ends quietly.
    case closed
    /// The system's reason.
    case failed(name: String, reason: String)
    /// The body for a report is larger than so many bytes.
    case tooLarge(limit: Int64)
}

extension OutputError: CustomStringConvertible {
    var description: String {
        switch self {
        case .closed: "stdout: its reader has left"
        case .failed(let name, let reason): "\(name): cannot be written: \(reason)"
        case .tooLarge(let limit): "the body is larger than the limit of \(limit) bytes"
        }
    }
}

/// A file descriptor to write to: stdout, stderr, or a file of the user's.
///
/// Thread: any; two writes at a time may interleave.
struct OutputFile: Sendable {
    let descriptor: Int32
    let name: String

    /// What the descriptor was when the program began; `nil` for a file of the user's.
    private let identity: FileIdentity?

    /// A file of the user's.
    init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
        identity = nil
    }

    /// A stream as the program was given it, under a number of the program's own.
    private init(stream: Int32, name: String) {
        // Far from those that somebody may close who thinks that they are his.
        let far = fcntl(stream, F_DUPFD_CLOEXEC, 200)
        descriptor = far >= 0 ? far : fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        self.name = name
        identity = FileIdentity(of: descriptor)
    }

    static let standardOutput = OutputFile(stream: STDOUT_FILENO, name: "stdout")
    static let standardError = OutputFile(stream: STDERR_FILENO, name: "stderr")

    /// Keeps stdout for the program's own words: what else in the process writes there, a plugin for
    /// instance, goes to stderr from now on.
    static func keepStandardOutput() {
        // Where it is closed, writing to it still has to fail.
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

    /// The most bytes of one call: a reader that reads slowly is known by the time that one takes.
    private static let pieceSize = 65_536

    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> OutputError? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceSize))
            let number = WritesUnderWay.begin(name)
            let (count, error) = take(piece)
            WritesUnderWay.end(number, took: count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if error != EINTR {
                return error == EPIPE ? .closed : .failed(name: name, reason: systemReason(error))
            }
        }
        return nil
    }

    /// Has the system take some bytes; waits until it can.
    ///
    /// - Returns: How many it took, or -1 and the error number.
    private func take(_ bytes: UnsafeRawBufferPointer) -> (count: Int, error: Int32) {
        // Somebody in this process has closed it, and the number may stand for something else.
        if let identity, FileIdentity(of: descriptor) != identity { return (-1, EBADF) }
        while true {
            let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            guard count < 0, errno == EAGAIN else { return (count, errno) }
            // Somebody else's O_NONBLOCK on a shared terminal or pipe.
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&wanted, 1, -1)
        }
    }
}

/// Which file a descriptor stands for.
private struct FileIdentity: Equatable {
    private let device: dev_t
    private let number: ino_t

    /// - Returns: `nil` where it stands for none.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        device = status.st_dev
        number = status.st_ino
    }
}

/// The system's words for an error number, in the C locale.
func systemReason(_ number: Int32) -> String { String(cString: strerror(number)) }
