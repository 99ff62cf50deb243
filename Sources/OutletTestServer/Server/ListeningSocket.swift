internal import Glibc

/// A listening TCP socket on 127.0.0.1.
///
/// libmicrohttpd does not make the socket, because its only function that returns a port chosen by
/// the system is variadic, and Swift cannot call variadic functions.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16

    init(port: UInt16) throws(LoopbackServerError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw .cannotListen(port: port, errno: errno) }

        var reuse: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))

        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutableBytes(of: &address) { bytes -> Int32 in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            guard let address, bind(descriptor, address, length) == 0 else { return -1 }
            guard listen(descriptor, SOMAXCONN) == 0 else { return -1 }
            return getsockname(descriptor, address, &length)
        }
        guard result == 0 else {
            let error = errno
            close(descriptor)
            throw .cannotListen(port: port, errno: error)
        }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: address.sin_port)
    }
}
