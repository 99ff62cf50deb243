internal import Glibc
internal import OutletSession
internal import OutletTransport

/// A gate that is closed until a test opens it: lets a test decide when a peer continues.
public final class Gate: Sendable {
    /// The reading side of a pipe; `poll` reports it as readable once the gate is open.
    let reader: FileDescriptor
    private let writer: Lock<FileDescriptor?>

    /// Creates a closed gate.
    ///
    /// - Throws: ``TestSupportError`` if no pipe can be made.
    public init() throws {
        let (reader, writer) = try FileDescriptor.pipe()
        self.reader = reader
        self.writer = Lock(writer)
    }

    /// Blocks until the gate is open, for `duration` at most.
    ///
    /// - Returns: Whether the gate is open.
    public func isOpen(within duration: Duration) -> Bool {
        var entry = pollfd(fd: reader.number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, Int32(duration.seconds * 1000)) > 0
    }

    /// Waits until the gate is open, without blocking a thread of Swift's pool.
    ///
    /// - Throws: ``TestSupportError`` when the deadline passes.
    public func opened(within deadline: Duration = .seconds(60)) async throws {
        let opened = Once<Bool>()
        try onOwnThread { opened.set(self.isOpen(within: deadline)) }
        guard try await opened.value(within: deadline * 2) else {
            throw TestSupportError("gate: still shut after \(deadline)")
        }
    }

    /// Opens the gate; it cannot be closed again.
    public func open() {
        writer.withLock { $0 = nil }
    }
}
