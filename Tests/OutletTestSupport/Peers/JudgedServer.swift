internal import Glibc

/// An nginx with certificates that a client must check in the handshake: weak or revoked ones.
///
/// Its OpenSSL security level is 0, so that the server itself accepts weak certificates.
///
/// `/info` on every port returns JSON with the TLS version and whether the TLS session was
/// resumed. `/closing` returns the same and then closes the connection.
public final class JudgedServer: Sendable {
    /// What ``JudgedServer`` listens on; all but ``plain`` use TLS.
    public enum Listener: Int, Sendable, CaseIterable {
        /// No TLS.
        case plain
        /// The server's certificate is signed with SHA-1.
        case weakSignature
        /// The intermediate certificate has a short key.
        case weakKey
        /// TLS 1.2, a good certificate, with a stapled OCSP response that says so.
        case stapled12
        /// The same certificate, without an OCSP response.
        case unstapled12
        /// TLS 1.2, a revoked certificate, with a stapled OCSP response that says so.
        case revokedStapled12
        /// TLS 1.3, the certificate of ``stapled12``, without an OCSP response.
        case unstapled
    }

    /// Returns the server that all tests of a process share, and starts it on the first call.
    ///
    /// - Throws: ``TestSupportError`` with what nginx or `openssl` printed.
    public static func shared() async throws -> JudgedServer { try await sharedTask.value }

    private static let sharedTask = Task { try await JudgedServer.start() }

    private let weakSignature: TestCA.Identity
    private let weakKey: TestCA.Identity
    private let peer: Peer
    private let directory: TemporaryDirectory

    private static func start() async throws -> JudgedServer {
        let authority = try await TestCA.shared()
        let server = try JudgedServer(
            weakSignature: await authority.weakChain(.signature),
            weakKey: await authority.weakChain(.key),
            revocation: await TrustServer.shared().revocation)
        try await server.peer.check("/info")
        return server
    }

    private init(
        weakSignature: TestCA.Identity, weakKey: TestCA.Identity, revocation: TestCA.Revocation
    ) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        self.weakSignature = weakSignature
        self.weakKey = weakKey
        let settings = try directory.write(Self.openSSL, to: "openssl.cnf")
        let inherited = Listener.allCases.indices.map { "\($0 + 3);" }.joined()
        peer = try Peer(
            "/usr/sbin/nginx", ports: Listener.allCases.count, directory: directory,
            environment: ["NGINX": inherited, "OPENSSL_CONF": settings]
        ) { ports in
            let servers = Listener.allCases.map { listener in
                let port = ports[listener.rawValue]
                return switch listener {
                case .plain: Self.server(port, nil)
                case .weakSignature: Self.server(port, weakSignature)
                case .weakKey: Self.server(port, weakKey)
                case .stapled12:
                    Self.server(port, revocation.good, "TLSv1.2", revocation.goodStaplePath)
                case .unstapled12: Self.server(port, revocation.good, "TLSv1.2")
                case .revokedStapled12:
                    Self.server(port, revocation.revoked, "TLSv1.2", revocation.revokedStaplePath)
                case .unstapled: Self.server(port, revocation.good)
                }
            }
            let path = try directory.write(
                Self.configuration(servers.joined(separator: "\n")), to: "nginx.conf")
            return ["-p", directory.path, "-c", path, "-e", "stderr"]
        }
    }

    /// Returns the certificate of ``Listener/weakKey``, or else of ``Listener/weakSignature``.
    public func weakIdentity(_ listener: Listener) -> TestCA.Identity {
        listener == .weakKey ? weakKey : weakSignature
    }

    /// Returns the URL of a listener's `/info`, with the host `localhost`.
    public func url(_ listener: Listener) -> String { "\(baseURL(listener))/info" }

    /// Returns the URL of a listener's `/closing`, with the host `localhost`.
    public func closingURL(_ listener: Listener) -> String { "\(baseURL(listener))/closing" }

    private func baseURL(_ listener: Listener) -> String {
        "\(listener == .plain ? "http" : "https")://localhost:\(peer.ports[listener.rawValue])"
    }

    private static let openSSL = """
        openssl_conf = start
        [start]
        ssl_conf = ssl
        [ssl]
        system_default = system
        [system]
        CipherString = DEFAULT@SECLEVEL=0

        """

    private static func configuration(_ servers: String) -> String {
        let user = geteuid() == 0 ? "user root root;" : ""
        return """
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            error_log stderr error;
            \(user)
            events { worker_connections 1024; }
            http {
                access_log off;
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                ssl_session_cache shared:judged:1m;
                ssl_ciphers DEFAULT@SECLEVEL=0;
            \(servers)
            }

            """
    }

    private static func server(
        _ port: UInt16, _ identity: TestCA.Identity?, _ version: String = "TLSv1.3",
        _ staple: String? = nil
    ) -> String {
        var lines = ["server_name localhost;"]
        lines.append("listen 127.0.0.1:\(port)\(identity == nil ? "" : " ssl http2");")
        if let identity {
            lines.append("ssl_certificate \(identity.certificatePath);")
            lines.append("ssl_certificate_key \(identity.keyPath);")
            lines.append("ssl_protocols \(version);")
        }
        if let staple { lines.append("ssl_stapling on; ssl_stapling_file \(staple);") }
        let info = #"{"tls":"$ssl_protocol","resumed":"$ssl_session_reused"}"#
        for (path, more) in [("/info", ""), ("/closing", "keepalive_timeout 0; ")] {
            lines.append(
                "location = \(path) { default_type application/json; \(more)return 200 '\(info)\\n'; }"
            )
        }
        return "server {\n\(lines.joined(separator: "\n"))\n}"
    }
}
