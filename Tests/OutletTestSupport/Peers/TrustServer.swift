internal import Glibc

/// An nginx with intermediate and revoked certificates; it speaks HTTP/2 and HTTP/1.1.
///
/// Paths on every port: `/info` (JSON with the connection's number and whether its TLS session was
/// resumed), `/closing` (the same, then closes the connection).
public final class TrustServer: Sendable {
    /// What ``TrustServer`` listens on; all but ``plain`` use TLS.
    public enum Listener: Int, Sendable, CaseIterable {
        /// No TLS.
        case plain
        /// A certificate issued by an intermediate authority, sent with the intermediate one.
        case chain
        /// The certificate of ``chain``, sent without the intermediate one.
        case incomplete
        /// A good certificate, with a stapled OCSP response that says so.
        case stapled
        /// A revoked certificate, without an OCSP response.
        case revoked
        /// A revoked certificate, with a stapled OCSP response that says so.
        case revokedStapled
        /// A good certificate, stapled with the OCSP response about another certificate.
        case wronglyStapled
        /// A good certificate that requires a stapled OCSP response, with that response.
        case staplingStapled
        /// The same certificate, without an OCSP response.
        case staplingUnstapled
        /// The same certificate, without an OCSP response, TLS 1.2.
        case staplingUnstapled12
        /// The same certificate, stapled with the OCSP response about another certificate.
        case staplingWronglyStapled
        /// A certificate with `localhost` as its common name and no subject alternative name.
        case nameless
        /// The same, with `127.0.0.1` as its common name and an address of electronic mail as its
        /// subject alternative name.
        case namelessAddress
    }

    /// Returns the server that all tests of a process share, and starts it on the first call.
    ///
    /// - Throws: ``TestSupportError`` with what nginx or `openssl` printed.
    public static func shared() async throws -> TrustServer { try await sharedTask.value }

    private static let sharedTask = Task { try await TrustServer.start() }

    /// The authority that issued the server's certificates.
    public let authority: TestCA
    /// The certificates of ``Listener/chain``.
    public let chain: TestCA.Chain
    /// The certificates and OCSP responses of the listeners about revocation.
    public let revocation: TestCA.Revocation

    private let peer: Peer
    private let directory: TemporaryDirectory

    /// Starts a server and waits until it responds.
    ///
    /// - Throws: ``TestSupportError`` with what nginx printed.
    public static func start() async throws -> TrustServer {
        let authority = try await TestCA.shared()
        let server = try TrustServer(
            authority: authority, chain: await authority.chain(),
            revocation: await authority.revocation(),
            nameless: [
                await authority.server(commonName: "localhost"),
                await authority.server(commonName: "127.0.0.1", hasOtherName: true),
            ])
        try await server.peer.check("/info")
        return server
    }

    private init(
        authority: TestCA, chain: TestCA.Chain, revocation: TestCA.Revocation,
        nameless: [TestCA.Identity]
    ) throws {
        self.authority = authority
        self.chain = chain
        self.revocation = revocation
        let directory = try TemporaryDirectory()
        self.directory = directory
        let inherited = Listener.allCases.indices.map { "\($0 + 3);" }.joined()
        peer = try Peer(
            "/usr/sbin/nginx", ports: Listener.allCases.count, directory: directory,
            environment: ["NGINX": inherited]
        ) { ports in
            let servers = try Listener.allCases.map {
                try Self.server($0, ports[$0.rawValue], chain, revocation, nameless)
            }
            let path = try directory.write(
                Self.configuration(servers.joined(separator: "\n")), to: "nginx.conf")
            return ["-p", directory.path, "-c", path, "-e", "stderr"]
        }
    }

    /// Returns the port of a listener.
    public func port(_ listener: Listener) -> UInt16 { peer.ports[listener.rawValue] }

    /// Returns the URL of a listener's `/info`, with the host `localhost`.
    public func url(_ listener: Listener) -> String { "\(baseURL(listener))/info" }

    /// Returns the URL of a listener's `/closing`, with the host `localhost`.
    public func closingURL(_ listener: Listener) -> String { "\(baseURL(listener))/closing" }

    private func baseURL(_ listener: Listener) -> String {
        "\(listener == .plain ? "http" : "https")://localhost:\(port(listener))"
    }

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
                ssl_session_cache shared:trust:1m;
            \(servers)
            }

            """
    }

    private static func server(
        _ listener: Listener, _ port: UInt16, _ chain: TestCA.Chain,
        _ revocation: TestCA.Revocation, _ nameless: [TestCA.Identity]
    ) throws -> String {
        var lines = ["server_name localhost;"]
        let identity: TestCA.Identity?
        var staple: String?
        switch listener {
        case .plain: identity = nil
        case .chain: identity = chain.server
        case .incomplete:
            identity = TestCA.Identity(
                certificatePath: chain.server.certificatePath.replacing("-chain", with: ""),
                keyPath: chain.server.keyPath)
        case .stapled:
            identity = revocation.good
            staple = revocation.goodStaplePath
        case .revoked: identity = revocation.revoked
        case .revokedStapled:
            identity = revocation.revoked
            staple = revocation.revokedStaplePath
        case .wronglyStapled:
            identity = revocation.good
            staple = revocation.revokedStaplePath
        case .staplingStapled:
            identity = revocation.stapling
            staple = revocation.staplingStaplePath
        case .staplingUnstapled, .staplingUnstapled12: identity = revocation.stapling
        case .staplingWronglyStapled:
            identity = revocation.stapling
            staple = revocation.goodStaplePath
        case .nameless: identity = nameless[0]
        case .namelessAddress: identity = nameless[1]
        }
        if listener == .staplingUnstapled12 { lines.append("ssl_protocols TLSv1.2;") }
        lines.append("listen 127.0.0.1:\(port)\(identity == nil ? "" : " ssl http2");")
        if let identity {
            lines.append("ssl_certificate \(identity.certificatePath);")
            lines.append("ssl_certificate_key \(identity.keyPath);")
        }
        if let staple { lines.append("ssl_stapling on; ssl_stapling_file \(staple);") }
        let info = #"{"connection":"$connection","resumed":"$ssl_session_reused"}"#
        for (path, more) in [("/info", ""), ("/closing", "keepalive_timeout 0; ")] {
            lines.append(
                "location = \(path) { default_type application/json; \(more)return 200 '\(info)\\n'; }"
            )
        }
        return "server {\n\(lines.joined(separator: "\n"))\n}"
    }
}
