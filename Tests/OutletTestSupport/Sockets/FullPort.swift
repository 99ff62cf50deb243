internal import Glibc

/// A TCP port on 127.0.0.1 whose accept queue is full.
///
/// Connecting to it blocks, as with a host that does not answer.
public final class FullPort: Sendable {
    /// The port.
    public let port: UInt16
    private let descriptors: [FileDescriptor]

    /// Opens a port that accepts no connection, and fills its queue.
    ///
    /// - Throws: ``TestSupportError`` if a socket cannot be made.
    public init() throws {
        let listener = try ListeningSocket(.loopback(port: 0))
        // A backlog of 0 still queues one connection. The system drops further ones (tcp(7),
        // listen(2)).
        guard listen(listener.descriptor.number, 0) == 0 else {
            throw TestSupportError("crowded port: queue not limited", errno: errno)
        }
        port = listener.port
        let address = SocketAddress.loopback(port: listener.port)
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptors =
            try [listener.descriptor]
            + (0..<3).map { _ in
                let client = FileDescriptor(socket(AF_INET, type, 0))
                _ = try address.withSystemAddress { connect(client.number, $0, $1) }
                return client
            }
    }
}
