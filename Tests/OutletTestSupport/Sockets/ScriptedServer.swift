internal import Glibc

/// A server that runs a script of ``Step`` values on each connection and records what it receives.
///
/// Each connection has its own thread. ``stop()`` ends all of them, whatever their step.
public final class ScriptedServer: Sendable {
    /// A request that the server has read.
    public struct Request: Sendable {
        /// The number of its connection, counted from 0.
        public let connection: Int
        /// The request line and the header lines, with the empty line, as sent.
        public let head: String
        /// The body as sent, chunk framing included.
        public let body: [UInt8]

        /// The last path component of the request target: `7` in `GET /cut/7 HTTP/1.1`.
        public var lastPart: Substring {
            let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
            return (words.count > 1 ? words[1] : "").split(separator: "/").last ?? ""
        }
    }

    /// The address on which the server listens.
    public let address: SocketAddress
    /// The number of each connection, recorded when it is accepted.
    public let connections = Recorder<Int>()
    /// The requests, each recorded when it has been read completely.
    public let requests = Recorder<Request>()
    /// The WebSocket frames that the server has read.
    public let frames = Recorder<WebSocketFrame>()
    /// The number of each connection, recorded when its script ends.
    public let endings = Recorder<Int>()

    private let stopGate: Gate
    private let bytes = Recorder<(connection: Int, bytes: [UInt8])>()

    /// Starts a server that runs the same script on every connection.
    ///
    /// - Throws: ``TestSupportError`` if the server cannot listen on the address.
    public static func start(
        at address: SocketAddress = .loopback(port: 0), _ steps: Step...
    ) throws -> ScriptedServer {
        try start(at: address) { _ in steps }
    }

    /// Starts a server that runs a different script on each connection.
    ///
    /// - Parameters:
    ///   - address: The address to listen on; by default a free port on 127.0.0.1.
    ///   - scripts: Called on the connection's thread with its number, counted from 0; returns the
    ///     script.
    /// - Throws: ``TestSupportError`` if the server cannot listen on the address.
    public static func start(
        at address: SocketAddress = .loopback(port: 0),
        scripts: @escaping @Sendable (_ connection: Int) -> [Step]
    ) throws -> ScriptedServer {
        let listener = try ListeningSocket(address)
        let server = try ScriptedServer(
            address: listener.port == 0 ? address : .loopback(port: listener.port))
        let play = Play(server: server)
        try onOwnThread { play.accept(from: listener, scripts: scripts) }
        return server
    }

    private init(address: SocketAddress) throws {
        self.address = address
        stopGate = try Gate()
    }

    deinit {
        stop()
    }

    /// The TCP port; 0 on a unix socket.
    public var port: UInt16 {
        guard case .loopback(let port) = address else { return 0 }
        return port
    }

    /// `http://127.0.0.1:PORT`, or `http://localhost` on a unix socket.
    public var baseURL: String { port == 0 ? "http://localhost" : "http://127.0.0.1:\(port)" }

    /// Returns all bytes that the server has read from a connection so far, in any step.
    public func received(on connection: Int) -> [UInt8] {
        Array(bytes.values.filter { $0.connection == connection }.map(\.bytes).joined())
    }

    /// Closes the port and all connections; calling it again does nothing.
    public func stop() {
        stopGate.open()
        if case .unix(let path) = address { unlink(path) }
    }

    /// What the threads use of the server.
    ///
    /// They do not retain the server itself: it stops when it is released, while they still run.
    private struct Play: Sendable {
        let gate: Gate
        let connections: Recorder<Int>
        let requests: Recorder<Request>
        let frames: Recorder<WebSocketFrame>
        let endings: Recorder<Int>
        let bytes: Recorder<(connection: Int, bytes: [UInt8])>

        init(server: ScriptedServer) {
            gate = server.stopGate
            connections = server.connections
            requests = server.requests
            frames = server.frames
            endings = server.endings
            bytes = server.bytes
        }

        func accept(
            from listener: ListeningSocket, scripts: @escaping @Sendable (Int) -> [Step]
        ) {
            var number = 0
            while let socket = listener.accept(unless: gate) {
                let connection = number
                number += 1
                connections.record(connection)
                do {
                    try onOwnThread {
                        play(scripts(connection), on: socket, connection: connection)
                    }
                } catch {
                    endings.record(connection)
                }
            }
        }

        private func play(_ steps: [Step], on socket: StreamSocket, connection: Int) {
            defer { endings.record(connection) }
            // Copied to give up the buffer of the read, which is far larger than its contents.
            var reader = RequestReader(socket: socket) { bytes.record((connection, $0.map { $0 })) }
            var index = 0
            while index < steps.count {
                let step = steps[index]
                index += 1
                if case .again = step { index = 0 }
                let isLast = index == steps.count
                guard perform(step, isLast, on: socket, &reader, connection) else { return }
            }
            reader.finish()
        }

        private func relay(_ socket: StreamSocket, to address: SocketAddress) {
            do {
                let server = try StreamSocket(connectingTo: address, gate: gate)
                try onOwnThread {
                    while let bytes = server.receive(), socket.send(bytes) {}
                    socket.finishSending()
                }
                while let bytes = socket.receive(), server.send(bytes) {}
                server.finishSending()
            } catch {
                socket.resetWhenClosed()
            }
        }

        /// Runs one step; returns `false` if the connection's script ends with it.
        private func perform(
            _ step: Step, _ isLast: Bool, on socket: StreamSocket, _ reader: inout RequestReader,
            _ connection: Int
        ) -> Bool {
            switch step {
            case .request:
                guard let head = reader.head(), let body = reader.body(of: head) else {
                    return false
                }
                requests.record(Request(connection: connection, head: head, body: body))
            case .requestHead:
                guard let head = reader.head() else { return false }
                requests.record(Request(connection: connection, head: head, body: []))
            case .answer(let bytes):
                guard let head = reader.head(), let body = reader.body(of: head) else {
                    return false
                }
                let request = Request(connection: connection, head: head, body: body)
                requests.record(request)
                return socket.send(bytes(request))
            case .send(let bytes):
                return socket.send(bytes)
            case .respond(let status, var headers, let body):
                if isLast, !headers.contains(where: { $0.hasPrefix("Connection:") }) {
                    headers.append("Connection: close")
                }
                let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
                return socket.send(lines.map { $0 + "\r\n" }.joined() + "\r\n" + body)
            case .trickle(let bytes, let size, let interval):
                var rest = bytes[...]
                while !rest.isEmpty {
                    guard socket.send(rest.prefix(size)) else { return false }
                    rest = rest.dropFirst(size)
                    guard rest.isEmpty || socket.pause(interval) else { return false }
                }
            case .repeat(let bytes):
                while socket.send(bytes[...]) {}
                return false
            case .wait(let other):
                return socket.wait(for: other)
            case .open(let other):
                other.open()
            case .stall:
                reader.drop()
                return false
            case .relay(let address):
                relay(socket, to: address)
                return false
            case .relayed(let address, let limit):
                guard let server = try? StreamSocket(connectingTo: address, gate: gate) else {
                    socket.resetWhenClosed()
                    return false
                }
                return socket.relay(to: server, limit: limit)
            case .anything:
                guard let bytes = reader.anything() else { return false }
                let head = String(decoding: bytes, as: UTF8.self)
                requests.record(Request(connection: connection, head: head, body: []))
            case .reset:
                socket.resetWhenClosed()
                return false
            case .upgrade(let lines, let glued, let limit):
                guard let head = reader.head() else { return false }
                requests.record(Request(connection: connection, head: head, body: []))
                let answer = WebSocketFrame.acceptance(of: head, lines).utf8
                return socket.send((answer + glued.flatMap(\.bytes)).prefix(limit))
            case .frame:
                guard let frame = reader.frame() else { return false }
                frames.record(frame)
            case .echo:
                while let frame = reader.frame() {
                    frames.record(frame)
                    guard let answer = frame.echo else { continue }
                    guard socket.send(answer.bytes) else { return false }
                    if frame.opcode == .close { return true }
                }
                return false
            case .again:
                break
            }
            return true
        }
    }
}
