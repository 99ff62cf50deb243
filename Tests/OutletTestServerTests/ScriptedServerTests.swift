import OutletTestSupport
import Testing

@Suite struct `Scripted server` {
    @Test func `the server sends the script unchanged and records the request`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nX: 1\r\n\r\nbody without a length"))
        let response = try await HTTPExchange.perform(
            "/a?b", method: "POST", headers: ["x-Case: Kept"], body: "sent", at: server.address)
        #expect(response.head == "HTTP/1.1 200 OK\r\nX: 1")
        #expect(response.text == "body without a length")
        let request = try await server.requests.values(1)[0]
        #expect(request.head.hasPrefix("POST /a?b HTTP/1.1\r\n"))
        #expect(request.head.contains("\r\nx-Case: Kept\r\n"))
        #expect(request.body == Array("sent".utf8))
        #expect(String(decoding: server.received(on: 0), as: UTF8.self) == request.head + "sent")
    }

    @Test func `chunked bodies are read completely`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let socket = try StreamSocket(connectingTo: server.address, gate: Gate())
        let response = try await offPool {
            socket.send("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            socket.send("0\r\nTrailer: 1\r\n\r\n")
            return socket.receive()
        }
        #expect(response?.starts(with: "HTTP/1.1 200 OK".utf8) == true)
        let request = try await server.requests.values(1)[0]
        #expect(request.body == Array("3\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n".utf8))
    }

    @Test func `each connection has its own script`() async throws {
        let server = try ScriptedServer.start { connection in
            [.request, .respond("\(200 + connection) Number")]
        }
        #expect(try await HTTPExchange.perform("/", at: server.address).status == 200)
        #expect(try await HTTPExchange.perform("/", at: server.address).status == 201)
        #expect(try await server.connections.values(2) == [0, 1])
    }

    @Test func `the step again serves further requests on a connection`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let socket = try StreamSocket(connectingTo: server.address, gate: Gate())
        for _ in 0..<3 {
            let response = try await offPool {
                socket.send("GET / HTTP/1.1\r\n\r\n")
                return socket.receive()
            }
            #expect(response?.last == UInt8(ascii: "x"))
        }
        #expect(server.connections.count == 1)
        #expect(server.requests.count == 3)
    }

    @Test func `the script waits for a gate`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond("204 Late"))
        async let response = HTTPExchange.perform("/", at: server.address)
        try await server.requests.values(1)
        gate.open()
        #expect(try await response.status == 204)
    }

    @Test func `a trickle sends all bytes`() async throws {
        let text = Array("HTTP/1.1 200 OK\r\n\r\nslowly".utf8)
        let server = try ScriptedServer.start(
            .request, .trickle(text, size: 3, interval: .milliseconds(1)))
        #expect(try await HTTPExchange.perform("/", at: server.address).text == "slowly")
    }

    @Test func `a reset ends the connection`() async throws {
        let server = try ScriptedServer.start(.requestHead, .send("HTTP/1.1 200 OK\r\n"), .reset)
        let response = try await HTTPExchange.perform("/", at: server.address)
        #expect(response.body.isEmpty)
        #expect(try await server.endings.values(1) == [0])
    }

    @Test func `a stall ends when the client disconnects`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        do {
            let socket = try StreamSocket(connectingTo: server.address, gate: Gate())
            socket.send("GET / HTTP/1.1\r\n\r\n")
            try await server.requests.values(1)
            #expect(server.endings.count == 0)
        }
        try await server.endings.values(1)
    }

    @Test func `stop ends all scripts`() async throws {
        let never = try Gate()
        let server = try ScriptedServer.start { $0 == 0 ? [.stall] : [.wait(never)] }
        let sockets = try (0..<2).map { _ in
            try StreamSocket(connectingTo: server.address, gate: Gate())
        }
        try await server.connections.values(2)
        server.stop()
        try await server.endings.values(2)
        for socket in sockets { #expect(try await offPool { socket.receive() } == nil) }
    }

    @Test func `a Unix socket is served, and removed by stop`() async throws {
        let directory = try TemporaryDirectory()
        let address = SocketAddress.unix(path: directory.path("s"))
        let server = try ScriptedServer.start(at: address, .request, .respond("201 Unix"))
        #expect(try await HTTPExchange.perform("/", at: address).status == 201)
        server.stop()
        #expect(throws: TestSupportError.self) { try directory.read("s") }
    }
}
