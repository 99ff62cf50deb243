import FoundationEssentials
import Glibc
import OutletTransport

/// The destination of log lines.
///
/// Thread: the logger's queue, one line at a time.
public struct LogSink: Sendable {
    private let body: @Sendable (String) -> Void

    /// Makes a sink that calls a closure.
    ///
    /// - Parameter body: Called with each line, its line feed included, on the logger's queue. A
    ///   sink that several loggers use is called by them at the same time.
    public init(_ body: @escaping @Sendable (_ line: String) -> Void) {
        self.body = body
    }

    /// Returns a sink that writes lines to a file descriptor.
    ///
    /// If a non-blocking descriptor accepts no bytes for a second, the rest of the line is dropped;
    /// the next line that is written is preceded by the number of dropped lines. A blocking
    /// descriptor blocks the logger's queue.
    ///
    /// - Parameter descriptor: The open descriptor. The caller owns it and keeps it open as long as
    ///   the sink is used; the sink does not close it.
    public static func fileDescriptor(_ descriptor: Int32) -> LogSink {
        let writer = DescriptorWriter(descriptor)
        return LogSink { writer.write($0) }
    }

    /// A sink that writes to standard error.
    public static let standardError = fileDescriptor(STDERR_FILENO)

    func write(_ line: String) { body(line) }
}

/// Writes lines to a descriptor, and counts the lines that it drops.
private final class DescriptorWriter: Sendable {
    private let descriptor: Int32
    private let dropped = Lock(0)
    /// How long to wait until a non-blocking descriptor is writable, in milliseconds.
    private static let writeTimeout: Int32 = 1000

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    func write(_ line: String) {
        // Taken, because another logger may write at the same time.
        let missing = dropped.withLock { dropped in
            defer { dropped = 0 }
            return dropped
        }
        let note = missing > 0 ? "outlet: log: lines dropped: \(missing)\n" : ""
        guard !writeAll(Array((note + line).utf8)) else { return }
        dropped.withLock { $0 += missing + 1 }
    }

    private func writeAll(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&ready, 1, Self.writeTimeout) > 0 else { return false }
            } else if count >= 0 || errno != EINTR {
                return false
            }
        }
        return true
    }
}
