/// A real HTTP/2 server without TLS (Node's): informational heads, then `ab`, then trailers.
///
/// Debian's nginx sends no informational head over HTTP/2.
public final class Node: Sendable {
    private static let script = """
        require('node:http2').createServer().on('stream', stream => {
            stream.additionalHeaders({ ':status': 100 });
            stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
            stream.additionalHeaders({ ':status': 103, link: '</b.css>' });
            stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '195' }));
            stream.respond({ ':status': 200 }, { waitForTrailers: true });
            stream.end('ab');
        }).listen({ fd: 3 });
        """

    private let peer: Peer
    private let directory: TemporaryDirectory

    /// Starts a server; connections wait until it is up.
    ///
    /// - Throws: ``TestSupportError`` if Node is not there.
    public init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        peer = try Peer(
            "/usr/bin/node", ports: 1, directory: directory,
            environment: ["HOME": directory.path]
        ) { _ in ["-e", Self.script] }
    }

    /// The address of the root, without a slash at its end: `http://127.0.0.1:PORT`.
    public var baseURL: String { "http://127.0.0.1:\(peer.ports[0])" }

    /// Ends the server and waits until it is gone.
    public func stop() async {
        await peer.stop()
    }
}
