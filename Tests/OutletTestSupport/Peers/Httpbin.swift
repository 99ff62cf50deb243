/// Debian's httpbin under Debian's gunicorn.
public final class Httpbin: Sendable {
    /// Returns the server that all tests of a process share, and starts it on the first call.
    ///
    /// - Throws: ``TestSupportError`` with what gunicorn printed.
    public static func shared() async throws -> Httpbin { try await sharedTask.value }

    private static let sharedTask = Task { try await Httpbin.start() }

    private let peer: Peer
    private let directory: TemporaryDirectory

    /// Starts a server and waits until it responds.
    ///
    /// - Throws: ``TestSupportError`` with what gunicorn printed.
    public static func start() async throws -> Httpbin {
        let server = try Httpbin()
        try await server.peer.check("/get")
        return server
    }

    private init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        peer = try Peer(
            "/usr/bin/gunicorn", ports: 1, directory: directory,
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "HOME": directory.path]
        ) { _ in
            [
                "--bind", "fd://3", "--worker-class", "gthread", "--workers", "1",
                "--threads", "16", "--keep-alive", "30", "--worker-tmp-dir", directory.path,
                "--graceful-timeout", "1", "--log-level", "warning", "httpbin:app",
            ]
        }
    }

    /// The TCP port.
    public var port: UInt16 { peer.ports[0] }

    /// The URL of the root, without a slash at its end: `http://127.0.0.1:PORT`.
    public var baseURL: String { "http://127.0.0.1:\(port)" }

    /// Ends the server and waits for its process to exit.
    public func stop() async {
        await peer.stop()
    }
}
