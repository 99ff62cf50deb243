import FoundationEssentials

/// An HTTP/2 server in Python that answers requests with given frames.
///
/// It speaks TLS with a certificate for `localhost` that the shared ``TestCA`` issued. A request
/// without given frames gets the response 200 with the text `N on C`: the number of requests that the
/// server has received, this one included, and the number of its connection, from 0. Clients that
/// negotiate HTTP/1.1 always get that, but the path in place of `N` if it begins with `/path` or `/twice`, or
/// with `/until/N`: that once the server has accepted more than `N` connections, or after 5 s; and for `/body`
/// the body of the request. So do clients without TLS. A response to a path that begins with `/twice` is
/// followed by a second one with the text `again`, in the same packet, but in another record of TLS. It is in
/// the same record as the body for `/twice/body`. For `/twice/challenge` without credentials the first one has
/// the status 401, and there is a second one only on the first connection, which ends then for `/twice/both`.
/// For `/twice/end` each such connection ends without one.
public final class FramePeer: Sendable {
    /// What the server sends for one request.
    public struct Reply: Sendable {
        /// The request, as `C.R`: the number of its connection and its number there, both from 0.
        let request: String
        /// The groups of frames; the client receives each group at once.
        let groups: [[Frame]]
        /// Whether they are sent before the request's body has been received.
        let isEarly: Bool

        /// - Parameters:
        ///   - connection: The number of the request's connection, from 0.
        ///   - request: The number of the request on it, from 0.
        ///   - isEarly: Whether to reply before the request's body has been received.
        ///   - groups: The groups of frames; the client receives each group at once.
        public init(
            connection: Int = 0, request: Int, isEarly: Bool = false, _ groups: [Frame]...
        ) {
            self.init(connection: connection, request: request, isEarly: isEarly, groups)
        }

        /// - Parameters:
        ///   - connection: The number of the request's connection, from 0.
        ///   - request: The number of the request on it, from 0.
        ///   - isEarly: Whether to reply before the request's body has been received.
        ///   - groups: The groups of frames; the client receives each group at once.
        public init(
            connection: Int = 0, request: Int, isEarly: Bool = false, _ groups: [[Frame]]
        ) {
            self.request = "\(connection).\(request)"
            self.groups = groups
            self.isEarly = isEarly
        }
    }

    /// A frame, or another thing that the server does.
    public enum Frame: Sendable {
        /// HEADERS with a status, and a `Content-Length` if there is one.
        case head(Int, length: Int? = nil, ends: Bool = false)
        /// DATA without content that ends the stream of another request on the connection.
        case endOf(request: Int)
        /// No frame: the groups after this one follow once the server has accepted more than a number of
        /// connections, or after 15 s.
        case connections(moreThan: Int)
        /// DATA.
        case data(String, ends: Bool = false)
        /// RST_STREAM with an error code.
        case reset(Int)
        /// GOAWAY that excludes all requests from this one on.
        case goAwayFrom(request: Int)
        /// A frame that HTTP/2 forbids: SETTINGS on a stream.
        case forbidden
        /// A frame that HTTP/2 forbids: DATA on no stream.
        case strayData
        /// PING, which the client acknowledges.
        case ping
        /// No frame: the groups after this one follow once the request's body has been received.
        case bodyEnd
        /// The end of the connection.
        case close

        fileprivate var text: String {
            switch self {
            case .head(let status, let length, let ends):
                "h \(status) \(length.map { String($0) } ?? "-") \(ends ? 1 : 0)"
            case .endOf(let request): "e \(request)"
            case .connections(let count): "n \(count)"
            case .data(let text, let ends): "d \(text) - \(ends ? 1 : 0)"
            case .reset(let code): "r \(code)"
            case .goAwayFrom(let request): "g \(request)"
            case .forbidden: "f"
            case .strayData: "s"
            case .ping: "p"
            case .bodyEnd: "w"
            case .close: "c"
            }
        }
    }

    private let peer: Peer
    private let directory: TemporaryDirectory
    /// The URL of the root, without a slash at its end.
    public var baseURL: String { "https://localhost:\(peer.ports[0])" }
    /// The file of the authority that issued the server's certificate.
    public let authority: String

    /// Starts a server; connections made before it is ready wait in its socket's queue.
    ///
    /// - Throws: ``TestSupportError`` if Python is not installed.
    public static func start(_ replies: Reply...) async throws -> FramePeer {
        try await start(replies)
    }

    /// The URL of the root without TLS, and without a slash at its end.
    public var plainURL: String { "http://localhost:\(peer.ports[0])" }

    /// Starts a server whose first connections speak HTTP/1.1 only.
    ///
    /// - Parameter count: Their number.
    /// - Throws: ``TestSupportError`` if Python is not installed.
    public static func start(withoutHTTP2First count: Int) async throws -> FramePeer {
        try await start([], withoutHTTP2First: count)
    }

    /// Starts a server; connections made before it is ready wait in its socket's queue.
    ///
    /// - Parameters:
    ///   - replies: The frames for certain requests.
    ///   - count: The number of connections that speak HTTP/1.1 only; the first ones.
    ///   - streams: The maximum number of streams on a connection.
    ///   - ciphers: The ciphers of TLS 1.2, which is then the only version.
    /// - Throws: ``TestSupportError`` if Python is not installed.
    public static func start(
        _ replies: [Reply], withoutHTTP2First count: Int = 0, streams: Int = 100,
        ciphers: String? = nil
    ) async throws -> FramePeer {
        let authority = try await TestCA.shared()
        return try FramePeer(
            authority, await authority.server(), replies, plain: count, streams: streams,
            ciphers: ciphers)
    }

    private init(
        _ authority: TestCA, _ identity: TestCA.Identity, _ replies: [Reply], plain: Int,
        streams: Int, ciphers: String?
    ) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        self.authority = authority.certificatePath
        let script = try directory.write(Self.script, to: "peer.py")
        let plan = replies.map { reply in
            ([reply.request, reply.isEarly ? "1" : "0"]
                + reply.groups.map { $0.map(\.text).joined(separator: ",") })
                .joined(separator: ";")
        }
        peer = try Peer(
            "/usr/bin/python3", ports: 1, directory: directory,
            environment: ["PYTHONDONTWRITEBYTECODE": "1"]
        ) { _ in
            [
                script, identity.certificatePath, identity.keyPath, "\(plain)", "\(streams)",
                ciphers ?? "",
            ] + plan
        }
    }

    /// Ends the server and waits for its process to exit.
    public func stop() async {
        await peer.stop()
    }

    private static let script = #"""
        import socket, ssl, sys, threading

        certificate, key, plain, streams, ciphers = sys.argv[1:6]
        plan = {}
        for entry in sys.argv[6:]:
            request, early, *groups = entry.split(";")
            plan[request] = (early == "1", groups)
        guard, total = threading.Condition(), [0]
        accepted = [0]

        def context(*protocols):
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(certificate, key)
            made.set_alpn_protocols(protocols)
            if ciphers:
                made.maximum_version = ssl.TLSVersion.TLSv1_2
                made.set_ciphers(ciphers)
            return made

        both, first = context("h2", "http/1.1"), context("http/1.1")

        def count():
            with guard:
                total[0] += 1
                return total[0]

        def frame(kind, flags, stream, content=b""):
            return (len(content).to_bytes(3, "big") + bytes([kind, flags])
                    + stream.to_bytes(4, "big") + content)

        def head(stream, status, length, ends):
            # Literals without indexing, whose names are in the static table (RFC 7541).
            fields = b"\x08\x03" + str(status).encode()
            if length is not None:
                value = str(length).encode()
                fields += b"\x0f\x0d" + bytes([len(value)]) + value
            return frame(1, 5 if ends else 4, stream, fields)

        def group(text, stream):
            sent = b""
            for item in text.split(","):
                kind, *rest = item.split(" ")
                if kind == "h":
                    length = None if rest[1] == "-" else int(rest[1])
                    sent += head(stream, int(rest[0]), length, rest[2] == "1")
                elif kind == "d":
                    sent += frame(0, 1 if rest[2] == "1" else 0, stream, rest[0].encode())
                elif kind == "e":
                    sent += frame(0, 1, 2 * int(rest[0]) + 1)
                elif kind == "r":
                    sent += frame(3, 0, stream, int(rest[0]).to_bytes(4, "big"))
                elif kind == "g":
                    last = max(0, 2 * int(rest[0]) - 1)
                    sent += frame(7, 0, 0, last.to_bytes(4, "big") + bytes(4))
                elif kind == "p":
                    sent += frame(6, 0, 0, bytes(8))
                elif kind == "f":
                    sent += frame(4, 0, stream)
                elif kind == "s":
                    sent += frame(0, 0, 0, b"x")
            return sent

        def twice(peer, path, text, known, number):
            first = b"HTTP/1.1 200 OK\r\n"
            challenges = (b"/twice/challenge", b"/twice/end", b"/twice/both")
            if path in challenges and not known:
                first = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\n"
            parts = [first + b"Content-Length: %d\r\n\r\n" % len(text), text,
                     b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"]
            if path == b"/twice/body":
                parts[1:] = [parts[1] + parts[2]]
            if path == b"/twice/end" or path in challenges and (known or number > 0):
                del parts[2]
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            for part in parts:
                peer.sendall(part)
            ends = not known and (path == b"/twice/end" or path == b"/twice/both" and number == 0)
            if ends:
                peer.setblocking(False)
                try:
                    peer.unwrap()
                except OSError:
                    pass  # it would wait for the client's alert
                socket.socket.shutdown(peer, socket.SHUT_WR)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            return not ends

        def serve(raw, number):
            try:
                peer = raw
                if raw.recv(1, socket.MSG_PEEK) == b"\x16":
                    peer = (first if number < int(plain) else both).wrap_socket(
                        raw, server_side=True)
                stream = peer.makefile("rb")
                while peer is raw or peer.selected_alpn_protocol() != "h2":
                    line = stream.readline()
                    if not line:
                        return
                    path, length, known = line.split()[1], 0, False
                    while line not in (b"\r\n", b""):
                        line = stream.readline()
                        known |= line.lower().startswith(b"authorization:")
                        if line.lower().startswith(b"content-length:"):
                            length = int(line[15:])
                    body = stream.read(length)
                    text = b"%d on %d" % (count(), number)
                    if path.startswith(b"/until/"):
                        with guard:
                            guard.wait_for(lambda: accepted[0] > int(path[7:]), 5)
                    if path == b"/body":
                        text = body
                    if path.startswith((b"/path", b"/until/", b"/twice")):
                        text = b"%s on %d" % (path, number)
                    if path.startswith(b"/twice"):
                        if twice(peer, path, text, known, number):
                            continue
                        peer.setblocking(True)
                        peer.recv(1)
                        return
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                                 % (len(text), text))
                peer.sendall(frame(4, 0, 0, b"\x00\x03" + int(streams).to_bytes(4, "big")))
                stream.read(24)  # the client's preface

                def answer(identifier, text):
                    request = "%d.%d" % (number, (identifier - 1) // 2)
                    if request not in plan:
                        peer.sendall(head(identifier, 200, len(text), False)
                                     + frame(0, 1, identifier, text))
                        return True
                    parts = plan[request][1]
                    if "w" in parts:
                        rest[identifier] = parts[parts.index("w") + 1:]
                        parts = parts[:parts.index("w")]
                    for part in parts:
                        if part.startswith("n "):
                            with guard:
                                guard.wait_for(lambda: accepted[0] > int(part[2:]), 15)
                        else:
                            peer.sendall(group(part, identifier))
                    return "c" not in ",".join(plan[request][1]).split(",")

                texts, rest = {}, {}
                while True:
                    start = stream.read(9)
                    if len(start) < 9:
                        return
                    content = stream.read(int.from_bytes(start[:3], "big"))
                    kind, flags = start[3], start[4]
                    identifier = int.from_bytes(start[5:], "big")
                    if kind == 4 and not flags & 1:
                        peer.sendall(frame(4, 1, 0))
                    if kind == 1:
                        texts[identifier] = b"%d on %d" % (count(), number)
                    if kind in (0, 1) and flags & 1 and identifier in rest:
                        for part in rest.pop(identifier):
                            peer.sendall(group(part, identifier))
                    if kind in (0, 1) and identifier in texts:
                        early = plan.get("%d.%d" % (number, (identifier - 1) // 2), (False,))[0]
                        if flags & 1 or early:
                            if not answer(identifier, texts.pop(identifier)):
                                peer.unwrap()
                                return
            except OSError:
                pass
            finally:
                raw.close()

        server = socket.socket(fileno=3)
        server.setblocking(True)
        number = 0
        while True:
            raw, _ = server.accept()
            raw.setblocking(True)
            threading.Thread(target=serve, args=(raw, number), daemon=True).start()
            number += 1
            with guard:
                accepted[0] = number
                guard.notify_all()

        """#
}
