internal import Glibc
internal import Synchronization

/// Stays shut until a test opens it: how a test decides when a peer goes on.
public final class Gate: Sendable {
    /// Readable at its end, that is, always once the gate is open.
    let reader: FileDescriptor
    private let writer: Mutex<FileDescriptor?>

    /// A shut gate.
    ///
    /// - Throws: ``TestSupportError`` if there are no descriptors left.
    public init() throws {
        let (reader, writer) = try FileDescriptor.pipe()
        self.reader = reader
        self.writer = Mutex(writer)
    }

    /// Opens the gate for good.
    public func open() {
        writer.withLock { $0 = nil }
    }
}
