/// An HTTP/2 server without TLS, run by Node.js.
///
/// It sends the informational responses 100, 103 and 103, then 200 with the body `ab` and
/// a trailer. For `/fields` it sends the names and values of the request's fields, as a JSON array.
/// For `/refused/N` it refuses the first N streams (`REFUSED_STREAM`), and
/// sends the body of the next one back. Debian's nginx cannot replace it: it sends no informational
/// response over HTTP/2.
public final class Node: Sendable {
    private static let script = """
        let refused = 0;
        require('node:http2').createServer().on('stream', (stream, headers, flags, fields) => {
            const path = headers[':path'];
            if (path.startsWith('/refused/')) {
                stream.on('error', () => {});
                if (refused++ < Number(path.slice(9))) return stream.close(7);
                stream.respond({ ':status': 200 });
                return stream.pipe(stream);
            }
            if (path === '/fields') {
                stream.respond({ ':status': 200 });
                return stream.end(JSON.stringify(fields));
            }
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

    /// Starts a server; connections made before it is ready wait in its socket's queue.
    ///
    /// - Throws: ``TestSupportError`` if Node.js is not installed.
    public init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        peer = try Peer(
            "/usr/bin/node", ports: 1, directory: directory,
            environment: ["HOME": directory.path]
        ) { _ in ["-e", Self.script] }
    }

    /// The URL of the root, without a slash at its end: `http://127.0.0.1:PORT`.
    public var baseURL: String { "http://127.0.0.1:\(peer.ports[0])" }

    /// Ends the server and waits for its process to exit.
    public func stop() async {
        await peer.stop()
    }
}
