/// A server in Python that logs TLS handshakes and also acts as an HTTPS proxy.
///
/// Each connection carries one request. `CONNECT` opens a tunnel to a port on 127.0.0.1. Any other
/// request gets the response 200 with the text `served`: for `/closed` and `/cut` without a
/// `Content-Length`, so that the end of the connection ends it, for `/cut` without TLS's closure
/// alert.
public final class HandshakePeer: Sendable {
    /// What ``HandshakePeer`` listens on.
    public enum Listener: Int, Sendable, CaseIterable {
        /// No TLS; the path `/N` returns the log, one entry per line.
        ///
        /// The response waits until the log has `N` lines, for 15 s at most.
        case log
        /// TLS 1.3.
        case tls13
        /// TLS 1.2.
        case tls12
        /// TLS 1.3 with HTTP/2: a request gets PRIORITY frames without end, and no response.
        case flood
    }

    private let peer: Peer
    private let directory: TemporaryDirectory

    /// Starts a server with a certificate for `localhost` that the shared ``TestCA`` issued.
    ///
    /// - Throws: ``TestSupportError`` with what Python printed.
    public static func start() async throws -> HandshakePeer {
        let authority = try await TestCA.shared()
        let server = try HandshakePeer(authority, await authority.server())
        try await server.peer.check("/")
        return server
    }

    private init(_ authority: TestCA, _ identity: TestCA.Identity) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        let script = try directory.write(Self.script, to: "peer.py")
        peer = try Peer(
            "/usr/bin/python3", ports: Listener.allCases.count, directory: directory,
            environment: ["PYTHONDONTWRITEBYTECODE": "1"]
        ) { _ in
            [script, identity.certificatePath, identity.keyPath, authority.certificatePath]
        }
    }

    /// Returns the port of a listener.
    public func port(_ listener: Listener) -> UInt16 { peer.ports[listener.rawValue] }

    /// Returns the URL of a listener with the host `localhost`, without a slash at its end.
    public func baseURL(_ listener: Listener) -> String { "https://localhost:\(port(listener))" }

    /// Returns the log: one entry for each handshake and one for each request.
    ///
    /// A completed handshake is `client NAME` or `client none` (no client certificate), any other
    /// is `failed`. A request is its request line.
    ///
    /// - Parameter count: How many entries to wait for, up to 15 s.
    /// - Throws: ``TestSupportError`` if the server does not respond.
    public func seen(_ count: Int) async throws -> [String] {
        let answer = try await HTTPExchange.perform("/\(count)", at: .loopback(port: port(.log)))
        return answer.text.split(separator: "\n").map { String($0) }
    }

    /// Ends the server and waits for its process to exit.
    public func stop() async {
        await peer.stop()
    }

    private static let script = #"""
        import socket, ssl, sys, threading

        certificate, key, authority = sys.argv[1:4]
        seen, guard = [], threading.Condition()

        def note(line):
            with guard:
                seen.append(line)
                guard.notify_all()

        def context(version, protocol="http/1.1"):
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(certificate, key)
            made.load_verify_locations(authority)
            made.verify_mode = ssl.CERT_OPTIONAL
            made.minimum_version = made.maximum_version = version
            made.set_alpn_protocols([protocol])
            return made

        def head(peer):
            text = b""
            while b"\r\n\r\n" not in text:
                piece = peer.recv(65536)
                if not piece:
                    return None
                text += piece
            return text

        def answer(peer, text):
            peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                         % (len(text), text))

        def pump(source, target):
            try:
                while True:
                    piece = source.recv(65536)
                    if not piece:
                        break
                    target.sendall(piece)
            except OSError:
                pass
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        def tunnel(peer, target):
            far = socket.create_connection(("127.0.0.1", int(target.rsplit(":", 1)[1])))
            peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=pump, args=(far, peer), daemon=True)
            back.start()
            pump(peer, far)
            back.join()

        def serve(raw, tls):
            try:
                if tls is None:
                    text = head(raw)
                    if text:
                        number = int(text.split(b" ")[1][1:] or b"0")
                        with guard:
                            guard.wait_for(lambda: len(seen) >= number, 15)
                            text = "\n".join(seen)
                        answer(raw, text.encode())
                    return
                try:
                    peer = tls.wrap_socket(raw, server_side=True)
                except (OSError, ssl.SSLError):
                    note("failed")
                    return
                shown = peer.getpeercert()
                names = [value for part in (shown or {}).get("subject", ()) for name, value in part
                         if name == "commonName"]
                note("client " + (names[0] if names else "none"))
                text = head(peer)
                if text is None:
                    return
                line = text.split(b"\r\n", 1)[0].decode()
                note(line)
                method, target, _ = line.split(" ")
                if method == "CONNECT":
                    tunnel(peer, target)
                elif target in ("/closed", "/cut"):
                    peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
                    if method != "HEAD":
                        peer.sendall(b"served")
                    if target == "/closed":
                        peer.unwrap()
                else:
                    answer(peer, b"served")
                peer.close()
            except OSError:
                pass
            finally:
                raw.close()

        def flood(raw, tls):
            def frame(kind, flags, stream, content):
                return (len(content).to_bytes(3, "big") + bytes([kind, flags])
                        + stream.to_bytes(4, "big") + content)

            try:
                peer = tls.wrap_socket(raw, server_side=True)
                peer.sendall(frame(4, 0, 0, b""))
                stream = peer.makefile("rb")
                stream.read(24)  # the client's preface
                kind = None
                while kind != 1:  # HEADERS
                    start = stream.read(9)
                    if len(start) < 9:
                        return
                    kind = start[3]
                    stream.read(int.from_bytes(start[:3], "big"))
                note("request")
                # So many at once that Python is faster than the client.
                frames = frame(2, 0, 99, bytes([0, 0, 0, 0, 1])) * 64000
                while True:
                    peer.sendall(frames)
            except OSError:
                pass
            finally:
                raw.close()

        def listen(number, tls, serve=serve):
            server = socket.socket(fileno=number)
            server.setblocking(True)
            while True:
                peer, _ = server.accept()
                peer.setblocking(True)
                threading.Thread(target=serve, args=(peer, tls), daemon=True).start()

        threading.Thread(target=listen, args=(4, context(ssl.TLSVersion.TLSv1_3)), daemon=True).start()
        threading.Thread(target=listen, args=(5, context(ssl.TLSVersion.TLSv1_2)), daemon=True).start()
        threading.Thread(target=listen, args=(6, context(ssl.TLSVersion.TLSv1_3, "h2"), flood),
                         daemon=True).start()
        listen(3, None)

        """#
}
