internal import Glibc

/// A listening socket, which is closed when its last reference is released.
final class ListeningSocket: Sendable {
    let descriptor: FileDescriptor
    /// The port; 0 on a unix socket.
    let port: UInt16

    /// Binds a socket, and listens on it.
    ///
    /// - Parameters:
    ///   - address: The address to bind; port 0 binds a free port.
    ///   - listens: Whether the socket listens; if not, its port refuses connections.
    /// - Throws: ``TestSupportError`` if the address cannot be used.
    init(_ address: SocketAddress, listens: Bool = true) throws {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let number = socket(address.family, type, 0)
        guard number >= 0 else { throw TestSupportError("socket: not made", errno: errno) }
        descriptor = FileDescriptor(number)
        // Without SO_REUSEADDR no other socket can bind the port, even while this one does not
        // listen.
        var reuse: Int32 = listens ? 1 : 0
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        let bound = try address.withSystemAddress { bind(number, $0, $1) }
        guard bound == 0, !listens || listen(number, SOMAXCONN) == 0 else {
            throw TestSupportError("socket: cannot listen on \(address)", errno: errno)
        }
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                getsockname(number, $0.baseAddress, &size)
            }
        }
        port = address.family == AF_INET ? UInt16(bigEndian: name.sin_port) : 0
    }

    /// Waits for the next connection, and blocks; returns `nil` once `gate` is open.
    func accept(unless gate: Gate) -> StreamSocket? {
        while true {
            guard StreamSocket.wait(for: descriptor, POLLIN, unless: gate) else { return nil }
            let number = Glibc.accept(descriptor.number, nil, nil)
            if number >= 0 { return StreamSocket(FileDescriptor(number), gate: gate) }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }
}
