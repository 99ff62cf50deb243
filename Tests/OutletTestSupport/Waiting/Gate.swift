internal import Glibc
internal import OutletSession
internal import OutletTransport

/// Stays shut until a test opens it: how a test decides when a peer goes on.
public final class Gate: Sendable {
    /// Readable at its end, that is, always once the gate is open.
    let reader: FileDescriptor
    private let writer: Lock<FileDescriptor?>

    /// A shut gate.
    ///
    /// - Throws: ``TestSupportError`` if there are no descriptors left.
    public init() throws {
        let (reader, writer) = try FileDescriptor.pipe()
        self.reader = reader
        self.writer = Lock(writer)
    }

    /// Whether it is open, or will be within a time; blocks for that time at most.
    public func isOpen(within duration: Duration) -> Bool {
        var entry = pollfd(fd: reader.number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, Int32(duration.seconds * 1000)) > 0
    }

    /// Waits until it is open; no thread of Swift's pool waits with it.
    ///
    /// - Throws: ``TestSupportError`` if the deadline passed before.
    public func opened(within deadline: Duration = .seconds(60)) async throws {
        let opened = Once<Bool>()
        try onOwnThread { opened.set(self.isOpen(within: deadline)) }
        guard try await opened.value(within: deadline * 2) else {
            throw TestSupportError("gate: still shut after \(deadline)")
        }
    }

    /// Opens the gate for good.
    public func open() {
        writer.withLock { $0 = nil }
    }
}
