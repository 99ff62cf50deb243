/// A server in Python that tells what it saw of handshakes, and an https proxy as well.
///
/// Each connection carries one request: `CONNECT` makes a tunnel to a port of loopback, any other is
/// answered with 200 and the text `served`.
public final class HandshakePeer: Sendable {
    /// What ``HandshakePeer`` listens on.
    public enum Listener: Int, Sendable, CaseIterable {
        /// No TLS: the path `/N` is answered with what was seen so far, one line each, once that are `N`
        /// lines or 15 s have passed.
        case log
        /// TLS 1.3.
        case tls13
        /// TLS 1.2.
        case tls12
    }

    private let peer: Peer
    private let directory: TemporaryDirectory

    /// Starts a server whose certificate, for `localhost`, is the test authority's.
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

    /// The port of a listener.
    public func port(_ listener: Listener) -> UInt16 { peer.ports[listener.rawValue] }

    /// The address of a listener, by the name localhost, without a slash at its end.
    public func baseURL(_ listener: Listener) -> String { "https://localhost:\(port(listener))" }

    /// What was seen so far: `client NAME` or `client none` for each handshake that came to its end,
    /// `failed` for any other, and the line of each request.
    ///
    /// - Parameter count: How many of them to wait for.
    public func seen(_ count: Int) async throws -> [String] {
        let answer = try await HTTPExchange.perform("/\(count)", at: .loopback(port: port(.log)))
        return answer.text.split(separator: "\n").map { String($0) }
    }

    /// Ends the server and waits until it is gone.
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

        def context(version):
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(certificate, key)
            made.load_verify_locations(authority)
            made.verify_mode = ssl.CERT_OPTIONAL
            made.minimum_version = made.maximum_version = version
            made.set_alpn_protocols(["http/1.1"])
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
                else:
                    answer(peer, b"served")
                peer.close()
            except OSError:
                pass
            finally:
                raw.close()

        def listen(number, tls):
            server = socket.socket(fileno=number)
            server.setblocking(True)
            while True:
                peer, _ = server.accept()
                peer.setblocking(True)
                threading.Thread(target=serve, args=(peer, tls), daemon=True).start()

        threading.Thread(target=listen, args=(4, context(ssl.TLSVersion.TLSv1_3)), daemon=True).start()
        threading.Thread(target=listen, args=(5, context(ssl.TLSVersion.TLSv1_2)), daemon=True).start()
        listen(3, None)

        """#
}
