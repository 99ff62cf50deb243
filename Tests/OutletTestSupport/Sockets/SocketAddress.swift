internal import Glibc
internal import OutletSession
internal import OutletTransport

/// The address of a server: a TCP port of this machine, or the path of a unix socket.
public enum SocketAddress: Sendable, Equatable {
    /// A TCP port on 127.0.0.1; 0 listens on a free port.
    case loopback(port: UInt16)
    /// A TCP port on every IPv4 address of this machine, 127.0.0.2 and the like included.
    case everywhere(port: UInt16)
    /// The path of a unix socket.
    case unix(path: String)

    var family: Int32 {
        switch self {
        case .loopback, .everywhere: AF_INET
        case .unix: AF_UNIX
        }
    }

    /// Calls `body` with the address as a `sockaddr` and its size.
    ///
    /// - Throws: ``TestSupportError`` if the path of a unix socket is too long.
    func withSystemAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws -> Result {
        var storage = sockaddr_storage()
        let size: Int
        switch self {
        case .loopback(let port), .everywhere(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            if case .loopback = self { address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian }
            size = MemoryLayout<sockaddr_in>.size
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: address, as: sockaddr_in.self)
            }
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let capacity = MemoryLayout.size(ofValue: address.sun_path)
            guard path.utf8.count < capacity else {
                throw TestSupportError("unix socket: path longer than \(capacity - 1): \(path)")
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            size = MemoryLayout<sockaddr_un>.size
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: address, as: sockaddr_un.self)
            }
        }
        return withUnsafeBytes(of: &storage) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { addresses in
                body(addresses.baseAddress.unsafelyUnwrapped, socklen_t(size))
            }
        }
    }
}

/// Returns a TCP port on 127.0.0.1 that refuses connections.
///
/// Its socket is bound but does not listen, so no other program can bind the port while the tests
/// run.
///
/// - Throws: ``TestSupportError`` if no socket can be made.
public func refusingPort() throws -> UInt16 {
    let socket = try ListeningSocket(.loopback(port: 0), listens: false)
    refusingSockets.withLock { $0.append(socket) }
    return socket.port
}

private let refusingSockets = Lock<[ListeningSocket]>([])
