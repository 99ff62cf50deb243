internal import Glibc

/// A real nginx: plain, TLS with HTTP/2, client certificates, bad certificates, a large file.
///
/// Paths on every port: `/small.txt`, `/large.bin`, `/info` (JSON about the request and its
/// connection), `/status/{code}`, `/redirect` (301 to `/small.txt`), `/basic` (`user`,
/// `password`), `/upload` (reads any body, responds as `/info`), `/limited/large.bin` (64 KiB/s),
/// `/hsts` (204 with `Strict-Transport-Security`), `/kept` (the same field with a cookie and
/// `Cache-Control`), `/closing` (as `/info`, then closes the connection),
/// `/compressed/text.txt` (gzip if accepted), `/unframed.txt` (the same text without a length,
/// ended by closing the connection), `/socket/{port}/` (forwarded to that port, including
/// WebSockets). A unix socket serves the same paths.
public final class Nginx: Sendable {
    /// What ``Nginx`` listens on.
    public enum Listener: Int, Sendable, CaseIterable {
        /// HTTP/1.1 without TLS.
        case plain
        /// HTTP/2 without TLS, by prior knowledge.
        case plainHTTP2
        /// TLS with HTTP/2 and HTTP/1.1.
        case tls
        /// TLS that requires a client certificate issued by the test authority.
        case clientCertificate
        /// TLS with a certificate that has expired.
        case expired
        /// TLS with a certificate for another host.
        case wrongHost
        /// TLS with a certificate signed by its own key.
        case selfSigned
        /// TLS with HTTP/1.1 only.
        case tlsHTTP1
        /// TLS with HTTP/2, at most four concurrent streams on a connection.
        case fewStreams
    }

    /// Returns the server that all tests of a process share, and starts it on the first call.
    ///
    /// - Throws: ``TestSupportError`` with what nginx or `openssl` printed.
    public static func shared() async throws -> Nginx { try await sharedTask.value }

    private static let sharedTask = Task { try await Nginx.start() }

    /// The authority that issued the server's certificates.
    public let authority: TestCA
    /// The size of `/large.bin` in bytes.
    public let largeFileSize: Int
    /// The unix socket's path.
    public let socketPath: String

    private let peer: Peer
    private let directory: TemporaryDirectory

    /// Starts a server and waits until it responds.
    ///
    /// - Parameter largeFileSize: The size of `/large.bin` in bytes.
    /// - Throws: ``TestSupportError`` with what nginx printed.
    public static func start(largeFileSize: Int = 64 << 20) async throws -> Nginx {
        let authority = try await TestCA.shared()
        var identities: [Listener: TestCA.Identity] = [:]
        let good = try await authority.server()
        identities[.tls] = good
        for listener in [Listener.clientCertificate, .tlsHTTP1, .fewStreams] {
            identities[listener] = good
        }
        identities[.expired] = try await authority.server(.expired)
        identities[.wrongHost] = try await authority.server(.wrongHost)
        identities[.selfSigned] = try await authority.server(.selfSigned)
        let server = try Nginx(
            authority: authority, identities: identities, largeFileSize: largeFileSize)
        try await server.peer.check("/info")
        return server
    }

    private init(
        authority: TestCA, identities: [Listener: TestCA.Identity], largeFileSize: Int
    ) throws {
        let directory = try TemporaryDirectory()
        self.authority = authority
        self.directory = directory
        self.largeFileSize = largeFileSize
        socketPath = directory.path("nginx.sock")
        try directory.write("small\n", to: "files/small.txt")
        try directory.write(
            String(repeating: "text ", count: 2000), to: "files/compressed/text.txt")
        try directory.write("user:{PLAIN}password\n", to: "passwords")
        try Self.writeLargeFile(directory.path("files/large.bin"), size: largeFileSize)
        let inherited = Listener.allCases.indices.map { "\($0 + 3);" }.joined()
        peer = try Peer(
            "/usr/sbin/nginx", ports: Listener.allCases.count, directory: directory,
            environment: ["NGINX": inherited]
        ) { ports in
            let text = NginxConfiguration(
                directory: directory.path, ports: ports, authority: authority.certificatePath,
                identities: identities
            ).text
            let path = try directory.write(text, to: "nginx.conf")
            return ["-p", directory.path, "-c", path, "-e", "stderr"]
        }
    }

    /// Returns the port of a listener.
    public func port(_ listener: Listener = .plain) -> UInt16 { peer.ports[listener.rawValue] }

    /// Returns the URL of a listener's root, without a slash at its end.
    ///
    /// The host is `localhost` with TLS, else `127.0.0.1`.
    public func baseURL(_ listener: Listener = .plain) -> String {
        switch listener {
        case .plain, .plainHTTP2: "http://127.0.0.1:\(port(listener))"
        default: "https://localhost:\(port(listener))"
        }
    }

    /// Ends the server and waits for its process to exit.
    public func stop() async {
        await peer.stop()
    }

    /// Returns the byte of `/large.bin` at a position.
    ///
    /// Every multiple of 1 MiB holds its own position in eight bytes, big-endian; all other bytes
    /// are 0.
    public static func largeFileByte(at position: Int) -> UInt8 {
        let offset = position % markerInterval
        guard offset < 8 else { return 0 }
        return UInt8(truncatingIfNeeded: (position - offset) >> (56 - 8 * offset))
    }

    private static let markerInterval = 1 << 20

    private static func writeLargeFile(_ path: String, size: Int) throws {
        let number = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
        guard number >= 0 else { throw TestSupportError("large file: \(path)", errno: errno) }
        let file = FileDescriptor(number)
        for position in stride(from: 0, to: size, by: markerInterval) {
            let marker = (position..<position + 8).map(largeFileByte(at:))
            pwrite(file.number, marker, marker.count, position)
        }
        guard ftruncate(file.number, size) == 0 else {
            throw TestSupportError("large file: \(path)", errno: errno)
        }
    }
}
