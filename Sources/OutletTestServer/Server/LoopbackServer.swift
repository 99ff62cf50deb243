internal import CMicroHTTPD
internal import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 that answers as httpbin does, for demonstrations and tests.
///
/// One thread of its own serves all connections; endpoints that wait suspend their connection, so
/// that any number of them may wait at once. ``Endpoint`` lists what is served.
///
/// Thread: every member may be used from any thread.
public final class LoopbackServer: Sendable {
    /// The TCP port that is listened on, on 127.0.0.1 alone.
    public let port: UInt16

    private let service: Service
    private let daemon: Mutex<DaemonHandle?>

    /// Starts a server; it accepts connections when this returns.
    ///
    /// - Parameter port: The port to listen on; 0 lets the system choose a free one.
    /// - Returns: The running server; it stops when released.
    /// - Throws: ``LoopbackServerError`` if the port cannot be listened on.
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

    /// The address of the root, without a slash at its end: `http://127.0.0.1:PORT`.
    public var baseURL: String { "http://127.0.0.1:\(port)" }

    /// Closes the port and every connection, waiting ones included; calling it again does nothing.
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

    /// The bytes that `/bytes/{count}` answers with: the same ones every time.
    ///
    /// - Parameter count: How many bytes; not negative.
    /// - Returns: The first `count` bytes of the pattern.
    public static func bytes(_ count: Int) -> [UInt8] {
        (0..<max(0, count)).map(BytePattern.byte(at:))
    }
}
