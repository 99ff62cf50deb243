internal import Glibc

/// Why a ``LoopbackServer`` did not start.
public enum LoopbackServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The port is in use or not permitted; `errno` is the error of the failed system call.
    case cannotListen(port: UInt16, errno: Int32)
    /// libmicrohttpd did not start; `errno` is its value after the call, which may be unrelated.
    case cannotServe(errno: Int32)

    /// What failed and why, on one line.
    public var description: String {
        switch self {
        case .cannotListen(let port, let errno):
            "loopback server: cannot listen on 127.0.0.1:\(port): \(String(cString: strerror(errno)))"
        case .cannotServe(let errno):
            "loopback server: libmicrohttpd did not start: \(String(cString: strerror(errno)))"
        }
    }
}
