import FoundationEssentials
import Glibc

/// Why nothing more can be written.
enum OutputError: Error, Equatable {
    /// The reader has left (`EPIPE`): there is nobody to tell, so the program ends quietly.
    case closed
    /// The system's reason.
    case failed(name: String, reason: String)
}

/// A file descriptor to write to: stdout, stderr, or a file of the user's.
///
/// Thread: any; two writes at a time may interleave.
struct OutputFile: Sendable {
    let descriptor: Int32
    let name: String

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO, name: "stdout")
    static let standardError = OutputFile(descriptor: STDERR_FILENO, name: "stderr")

    func write(_ text: String) throws(OutputError) {
        var text = text
        let result = text.withUTF8 { bytes in writeAll(UnsafeRawBufferPointer(bytes)) }
        if let result { throw result }
    }

    func write(_ data: Data) throws(OutputError) {
        let result = data.withUnsafeBytes(writeAll)
        if let result { throw result }
    }

    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> OutputError? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Somebody else's O_NONBLOCK on a shared terminal or pipe.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, -1)
            } else if errno != EINTR {
                return errno == EPIPE ? .closed : .failed(name: name, reason: systemReason(errno))
            }
        }
        return nil
    }
}

/// The system's words for an error number, in the C locale.
func systemReason(_ number: Int32) -> String { String(cString: strerror(number)) }
