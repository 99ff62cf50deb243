internal import Glibc

/// Why a ``LoopbackServer`` did not start.
public enum LoopbackServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The port is taken or not allowed; `errno` is what the system said.
    case cannotListen(port: UInt16, errno: Int32)
    /// libmicrohttpd refused to start on the listening socket; `errno` is the last one seen.
    case cannotServe(errno: Int32)

    /// One line for people.
    public var description: String {
        switch self {
        case .cannotListen(let port, let errno):
            "loopback server: cannot listen on 127.0.0.1:\(port): \(String(cString: strerror(errno)))"
        case .cannotServe(let errno):
            "loopback server: libmicrohttpd did not start: \(String(cString: strerror(errno)))"
        }
    }
}
