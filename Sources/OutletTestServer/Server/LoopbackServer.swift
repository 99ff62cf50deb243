internal import CMicroHTTPD
internal import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 with the endpoints of httpbin, for demonstrations and tests.
///
/// One separate thread serves all connections. An endpoint that delays its answer suspends the
/// connection, so any number of requests can wait at once. ``Endpoint`` lists the endpoints.
///
/// Thread: every member may be used from any thread.
public final class LoopbackServer: Sendable {
    /// The TCP port of the server, which listens only on 127.0.0.1.
    public let port: UInt16

    private let service: Service
    private let daemon: Mutex<DaemonHandle?>

    /// Starts a server, which accepts connections as soon as this returns.
    ///
    /// - Parameter port: The port to listen on; 0 lets the system choose a free one.
    /// - Returns: The running server; it stops when it is released.
    /// - Throws: ``LoopbackServerError/cannotListen(port:errno:)`` if the port cannot be opened,
    ///   ``LoopbackServerError/cannotServe(errno:)`` if libmicrohttpd does not start.
    public static func start(port: UInt16 = 0) throws(LoopbackServerError) -> LoopbackServer {
        let listener = try ListeningSocket(port: port)
        let service = Service(port: listener.port)
        let daemon = try DaemonHandle(listener: listener, service: service)
        return LoopbackServer(port: listener.port, service: service, daemon: daemon)
    }

    private init(port: UInt16, service: Service, daemon: DaemonHandle) {
        self.port = port
        self.service = service
        self.daemon = Mutex(daemon)
    }

    deinit {
        stop()
    }

    /// The URL of the root, without a slash at its end: `http://127.0.0.1:PORT`.
    public var baseURL: String { "http://127.0.0.1:\(port)" }

    /// Closes the port and all connections, suspended ones included.
    ///
    /// Blocks until the server's thread has ended. Further calls do nothing.
    public func stop() {
        guard
            let daemon = daemon.withLock({ daemon in
                defer { daemon = nil }
                return daemon
            })
        else { return }
        // libmicrohttpd aborts the process when stopped with a suspended connection.
        service.suspensions.stop()
        daemon.stop()
    }

    /// Returns the body of `/bytes/{count}`, which is the same for every request.
    ///
    /// - Parameter count: The number of bytes; a negative number counts as 0.
    /// - Returns: The first `count` bytes of the pattern.
    public static func bytes(_ count: Int) -> [UInt8] {
        (0..<max(0, count)).map(BytePattern.byte(at:))
    }
}
