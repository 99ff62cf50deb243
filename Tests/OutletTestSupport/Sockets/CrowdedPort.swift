internal import Glibc

/// A TCP port on 127.0.0.1 whose queue is full: connecting blocks, as with a host that is not
/// there.
public final class CrowdedPort: Sendable {
    /// The port.
    public let port: UInt16
    private let descriptors: [FileDescriptor]

    /// Fills the queue of a port that nobody accepts from.
    ///
    /// - Throws: ``TestSupportError`` if there are no sockets.
    public init() throws {
        let listener = try ListeningSocket(.loopback(port: 0))
        // A queue of none holds one; the system drops what comes beyond (tcp(7), listen(2)).
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
