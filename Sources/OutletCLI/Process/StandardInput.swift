import FoundationEssentials
import Glibc

/// The body that a pipe or a file gives on stdin.
enum StandardInput {
    /// Whether stdin is something that ends by itself: a pipe, a socket or a file.
    ///
    /// A terminal and `/dev/null` are not asked.
    static var isGiven: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return false }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFIFO, S_IFSOCK: return true
        default: return false
        }
    }

    /// Whether bytes are there to read, without waiting for them.
    static var hasBytes: Bool {
        var status = stat()
        if fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            return status.st_size > lseek(STDIN_FILENO, 0, SEEK_CUR)
        }
        var count: Int32 = 0
        return ioctl(STDIN_FILENO, UInt(FIONREAD), &count) == 0 && count > 0
    }

    /// Reads all of stdin.
    ///
    /// - Parameter onSilence: Called once when no byte has come for two seconds.
    /// - Throws: ``CommandError`` when it cannot be read.
    ///
    /// Thread: blocks until the writer closes its end.
    static func readAll(onSilence: () -> Void) throws(CommandError) -> Data {
        var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        if poll(&wanted, 1, 2000) == 0 { onSilence() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count == 0 { return data }
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
            } else if errno != EINTR {
                throw CommandError(.failure, "stdin: cannot be read: \(systemReason(errno))")
            }
        }
    }
}
