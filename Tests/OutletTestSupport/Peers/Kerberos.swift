internal import Glibc

/// A Kerberos realm for one test: Debian's KDC with one user, `ada`, and a web server.
///
/// The web server accepts requests with a ticket and responds with the name of their user.
public final class Kerberos: Sendable {
    /// Whether the packages are installed (`make setup` installs them).
    public static var isInstalled: Bool {
        let paths: [String] = [
            "/usr/sbin/krb5kdc", "/usr/sbin/kadmin.local", "/usr/bin/kinit",
            "/usr/lib/python3/dist-packages/gssapi",
        ]
        return paths.allSatisfy { access($0, F_OK) == 0 }
    }

    private static let realm = "OUTLET.TEST"

    /// The path of the realm's configuration, for `KRB5_CONFIG`.
    public let configurationPath: String
    /// The path of the user's ticket cache, for `KRB5CCNAME`.
    public let ticketPath: String

    private let kdc: Peer
    private let server: Peer
    private let directory: TemporaryDirectory

    /// Makes the realm, starts its servers and gets `ada` a ticket.
    ///
    /// - Throws: ``TestSupportError`` with what a program printed.
    public static func start() async throws -> Kerberos {
        let directory = try TemporaryDirectory()
        let port = try freePort()
        try directory.write(configuration(port: port), to: "krb5.conf")
        try directory.write(settings(port: port, in: directory), to: "kdc.conf")
        let variables = [
            "KRB5_CONFIG": directory.path("krb5.conf"),
            "KRB5_KDC_PROFILE": directory.path("kdc.conf"),
        ]
        func run(_ path: String, _ arguments: String...) async throws {
            let ended = try await Program.run(path, arguments, environment: variables)
            guard ended.exitCode == 0 else {
                throw TestSupportError("\(path): \(ended.output)\(ended.errorOutput)")
            }
        }
        try await run("/usr/sbin/kdb5_util", "create", "-s", "-r", realm, "-P", "master")
        for query in [
            "addprinc -randkey HTTP/localhost", "addprinc -randkey ada",
            "ktadd -k \(directory.path("server.keytab")) HTTP/localhost",
            "ktadd -k \(directory.path("ada.keytab")) ada",
        ] {
            try await run("/usr/sbin/kadmin.local", "-r", realm, "-q", query)
        }
        let kerberos = try Kerberos(directory, variables)
        try await kerberos.kdc.output(containing: "starting...")
        try await run(
            "/usr/bin/kinit", "-k", "-t", directory.path("ada.keytab"), "-c", kerberos.ticketPath,
            "ada")
        try await kerberos.server.check("/open")
        return kerberos
    }

    /// Returns a port that is free, and that the system gives to nobody who asks for any: the KDC
    /// cannot inherit a socket, and opens it later.
    private static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<30_000)
            if (try? ListeningSocket(.loopback(port: port))) != nil { return port }
        }
        throw TestSupportError("no port from 20000 to 29999 is free")
    }

    private init(_ directory: TemporaryDirectory, _ variables: [String: String]) throws {
        self.directory = directory
        configurationPath = directory.path("krb5.conf")
        ticketPath = directory.path("tickets")
        let realm = Self.realm
        kdc = try Peer("/bin/sh", ports: 0, directory: TemporaryDirectory(), environment: variables)
        {
            _ in ["-c", "exec /usr/sbin/krb5kdc -n -r \(realm) 2>&1"]
        }
        let script = try directory.write(Self.script, to: "server.py")
        server = try Peer(
            "/usr/bin/python3", ports: 1, directory: TemporaryDirectory(),
            environment: variables.merging([
                "KRB5_KTNAME": directory.path("server.keytab"), "PYTHONDONTWRITEBYTECODE": "1",
            ]) { $1 }
        ) { _ in [script] }
    }

    /// The URL of a page that requires a ticket.
    ///
    /// Its host is a name, `localhost`, because tickets are issued for host names.
    public var url: String { "http://localhost:\(port)/" }

    /// The web server's port.
    public var port: UInt16 { server.ports[0] }

    /// Ends the servers and waits for their processes to exit.
    public func stop() async {
        await server.stop()
        await kdc.stop()
    }

    private static func configuration(port: UInt16) -> String {
        """
        [libdefaults]
         default_realm = \(realm)
         dns_lookup_kdc = false
         dns_lookup_realm = false
         dns_canonicalize_hostname = false
         rdns = false
         udp_preference_limit = 1
        [realms]
         \(realm) = {
          kdc = 127.0.0.1:\(port)
         }
        [domain_realm]
         localhost = \(realm)

        """
    }

    private static func settings(port: UInt16, in directory: TemporaryDirectory) -> String {
        """
        [kdcdefaults]
         kdc_listen = ""
         kdc_tcp_listen = 127.0.0.1:\(port)
        [realms]
         \(realm) = {
          database_name = \(directory.path("principal"))
          key_stash_file = \(directory.path("stash"))
          acl_file = \(directory.path("acl"))
         }
        [logging]
         kdc = FILE:\(directory.path("kdc.log"))

        """
    }

    /// Serves `/open` without authentication; every other path requires a ticket (RFC 4559), but
    /// `/connection` only once on each connection, as IIS does.
    private static let script = """
        import base64, gssapi, http.server, socket

        name = gssapi.Name("HTTP@localhost", gssapi.NameType.hostbased_service)
        credentials = gssapi.Credentials(usage="accept", name=name)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            user = None

            def do_GET(self):
                status, field, body = 401, "Negotiate", b"who are you?"
                kind, _, token = self.headers.get("Authorization", "").partition(" ")
                if self.path == "/open":
                    status, field, body = 200, None, b"open"
                elif self.path == "/connection" and self.user and not kind:
                    status, field, body = 200, None, self.user
                elif kind == "Negotiate":
                    context = gssapi.SecurityContext(creds=credentials, usage="accept")
                    try:
                        answer = context.step(base64.b64decode(token)) or b""
                        field = "Negotiate " + base64.b64encode(answer).decode()
                        if context.complete:
                            status, body = 200, str(context.initiator_name).encode()
                            self.user = body
                    except gssapi.exceptions.GSSError:
                        pass
                self.send_response(status)
                if field:
                    self.send_header("WWW-Authenticate", field)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def __init__(self):
                super().__init__(("127.0.0.1", 0), Handler, bind_and_activate=False)
                self.socket = socket.socket(fileno=3)
                self.socket.setblocking(True)

        Server().serve_forever()

        """
}
