import FoundationEssentials
import Glibc
import OutletTransport

/// Where lines of a log go.
///
/// Thread: one line after the other, on the logger's queue.
public struct LogSink: Sendable {
    private let body: @Sendable (String) -> Void

    /// Gives each line, with its break, to a closure.
    public init(_ body: @escaping @Sendable (_ line: String) -> Void) {
        self.body = body
    }

    /// Writes each line to a file descriptor, whole; it stays the caller's, and is not closed.
    ///
    /// A line that the descriptor does not take within a second is dropped, and the next one that it
    /// takes says how many were: a log must not hold up what it watches.
    public static func fileDescriptor(_ descriptor: Int32) -> LogSink {
        let writer = DescriptorWriter(descriptor)
        return LogSink { writer.write($0) }
    }

    /// Writes to standard error.
    public static let standardError = fileDescriptor(STDERR_FILENO)

    func write(_ line: String) { body(line) }
}

/// Writes lines to a descriptor, and counts those that it does not take.
private final class DescriptorWriter: Sendable {
    private let descriptor: Int32
    private let dropped = Lock(0)
    private static let patience: Int32 = 1000

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    func write(_ line: String) {
        let missing = dropped.withLock { $0 }
        let note = missing > 0 ? "outlet: log: lines dropped: \(missing)\n" : ""
        let isWritten = writeAll(Array((note + line).utf8))
        dropped.withLock { $0 = isWritten ? 0 : $0 + 1 }
    }

    private func writeAll(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&ready, 1, Self.patience) > 0 else { return false }
            } else if count >= 0 || errno != EINTR {
                return false
            }
        }
        return true
    }
}
