import Dispatch
import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `Back-pressure` {
    private let body = String(repeating: "0123456789", count: 100)

    private func job(_ url: String, _ delivery: BodyDelivery = .chunks) -> TransferJob {
        TransferJob(request: HTTPRequest(url: URL(string: url)), delivery: delivery)
    }

    @Test func `a pause at the head delays the body until resume`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: body))
        let transport = CurlTransport.test()
        let probe = Probe(onHead: { _ in .pause })
        let task = transport.start(job(server.baseURL), handler: probe)
        try await probe.events.values(1)
        // Another transfer runs through meanwhile.
        let other = try LoopbackServer.start()
        #expect(try await transport.get("\(other.baseURL)/get").error == nil)
        #expect(probe.chunks.isEmpty)
        task.resume()
        #expect(try await probe.end.value().error == nil)
        #expect(probe.chunks == Array(body.utf8))
    }

    @Test func `a body in chunks of one byte does not hold up other transfers`() async throws {
        let other = try LoopbackServer.start()
        let flood = String(repeating: "1\r\nx\r\n", count: 4_000_000)
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            .send(flood), .stall)
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job(server.baseURL), handler: probe)
        try await probe.events.values(2)
        #expect(try await transport.get("\(other.baseURL)/get").error == nil)
        // Otherwise libcurl reads all of it at once.
        #expect(probe.chunks.count < 4_000_000)
        task.cancel()
        _ = try await probe.end.value()
    }

    @Test func `a pause at each chunk loses no bytes`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let probe = Probe(onChunk: { _ in .pause })
        let task = transport.start(job("\(server.baseURL)/bytes/300000"), handler: probe)
        var seen = 2
        while !probe.isOver {
            try await probe.events.values(seen)
            seen += 1
            task.resume()
        }
        #expect(try await probe.end.value().error == nil)
        #expect(probe.received(LoopbackServer.bytes(300_000)))
    }

    @Test func `a pause at each chunk of a gzip body loses no bytes`() async throws {
        // 200,000 zeros compressed to 200 bytes: one received piece decodes to many chunks.
        let made = try await Program.run(
            "/bin/sh", ["-c", "head -c 200000 /dev/zero | gzip -9 | base64 -w0"])
        let bytes = Array(try #require(Data(base64Encoded: made.output)))
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"),
            .trickle(bytes, size: 100, interval: .milliseconds(1)))
        let probe = Probe(onChunk: { _ in .pause })
        let request = HTTPRequest(
            url: URL(string: server.baseURL), headers: ["Accept-Encoding": "gzip"])
        let task = CurlTransport.test().start(
            TransferJob(request: request, delivery: .chunks), handler: probe)
        var seen = 2
        while !probe.isOver {
            try await probe.events.values(seen)
            seen += 1
            task.resume()
        }
        #expect(try await probe.end.value().error == nil)
        #expect(probe.chunks == Array(repeating: 0, count: 200_000))
    }

    @Test func `a suspended transfer makes no progress and does not time out`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), .send(body))
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 0.5 }
        let probe = Probe(onHead: { _ in .pause })
        let task = transport.start(job(server.baseURL), handler: probe)
        try await probe.events.values(1)
        // A request that times out meanwhile shows that the timeout has passed.
        let silent = try ScriptedServer.start(.request, .stall)
        #expect(try await transport.get(silent.baseURL).error?.code == .timedOut)
        #expect(try await transport.get(silent.baseURL).error?.code == .timedOut)
        #expect(probe.end.callCount == 0)
        task.resume()
        #expect(try await probe.end.value().error == nil)
        #expect(probe.chunks.count == 1000)
    }

    @Test func `the request timeout starts again at resume`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), .wait(gate),
            .send("body"))
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 1 }
        let probe = Probe(onHead: { _ in .pause })
        let task = transport.start(job(server.baseURL), handler: probe)
        try await probe.events.values(1)
        // A request that times out meanwhile shows that the timeout has passed.
        let silent = try ScriptedServer.start(.request, .stall)
        #expect(try await transport.get(silent.baseURL).error?.code == .timedOut)
        let other = try LoopbackServer.start()
        task.resume()
        // The loop handles messages in order: when this request ends, the resume has been handled.
        // Its handler opens the gate, because the test's own threads may be late by a timeout.
        _ = transport.start(job("\(other.baseURL)/get"), handler: Ending { _ in gate.open() })
        #expect(try await probe.end.value().error == nil)
        #expect(probe.chunks == Array("body".utf8))
    }

    @Test func `a transfer suspended before it has a connection starts after resume`() async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "x"), .again)
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        let first = Probe()
        _ = transport.start(job(server.baseURL, .collect), handler: first)
        let second = Probe()
        let suspended = transport.start(job(server.baseURL, .collect), handler: second)
        suspended.suspend()
        let third = Probe()
        _ = transport.start(job(server.baseURL, .collect), handler: third)
        gate.open()
        #expect(try await first.end.value().text == "x")
        #expect(try await third.end.value().text == "x")
        #expect(second.end.callCount == 0)
        suspended.resume()
        #expect(try await second.end.value().text == "x")
    }

    @Test func `repeated suspend and resume lose no bytes`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let probe = Probe()
        let task = transport.start(job("\(server.baseURL)/bytes/100000"), handler: probe)
        for _ in 0..<50 {
            task.suspend()
            task.resume()
        }
        #expect(try await probe.end.value().error == nil)
        #expect(probe.received(LoopbackServer.bytes(100_000)))
    }

    @Test func `a transfer resumed while its connection fails ends with the connection's error`()
        async throws
    {
        let (isHeld, isTold, isAsked, isSent) = (try Gate(), try Gate(), try Gate(), try Gate())
        // Suspending a transfer does not stop its TLS handshake.
        let server = try ScriptedServer.start(
            .anything, .wait(isAsked), .send("no handshake"), .open(isSent), .stall)
        let transport = CurlTransport.test()
        let executor = try #require(transport.taskExecutor)
        let probe = Probe()
        let task = transport.start(job("https://127.0.0.1:\(server.port)"), handler: probe)
        try await server.requests.values(1)
        // The loop handles one batch of messages and then the sockets before it reads messages that
        // arrived meanwhile. So libcurl has already ended the transfer, but the loop has not read
        // its completion, when `resume` is handled.
        let before = Task(executorPreference: executor) {
            isHeld.open()
            #expect(isTold.isOpen(within: .seconds(60)))
        }
        try await isHeld.opened()
        task.suspend()
        let after = Task(executorPreference: executor) {
            isAsked.open()
            #expect(isSent.isOpen(within: .seconds(60)))
            task.resume()
        }
        isTold.open()
        await before.value
        await after.value
        #expect(try await probe.end.value().error?.code == .secureConnectionFailed)
    }

    @Test func `a transfer to a file can be paused`() async throws {
        let server = try LoopbackServer.start()
        let directory = try TemporaryDirectory()
        let probe = Probe(onHead: { _ in .pause })
        let task = CurlTransport.test().start(
            job(
                "\(server.baseURL)/bytes/500000",
                .file(path: directory.path("out"), offset: 0)),
            handler: probe)
        try await probe.events.values(1)
        task.resume()
        #expect(try await probe.end.value().error == nil)
        #expect(try directory.read("out") == LoopbackServer.bytes(500_000))
    }
}

@Suite struct `A reused connection` {
    /// A server that responds to the first request of each connection and resets it at the second.
    private func server() throws -> ScriptedServer {
        try ScriptedServer.start(.request, .respond(body: "first"), .request, .reset)
    }

    @Test func `a POST on a reused connection that is reset is not sent again`() async throws {
        let server = try server()
        let transport = CurlTransport.test()
        #expect(try await transport.get(server.baseURL).text == "first")
        let result = try await transport.perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post, body: .data(Data("x".utf8))))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(server.requests.values.count { $0.head.hasPrefix("POST") } == 1)
    }

    @Test func `a GET on a reused connection that is reset is sent again on a new one`()
        async throws
    {
        let server = try server()
        let transport = CurlTransport.test()
        #expect(try await transport.get(server.baseURL).text == "first")
        let result = try await transport.get(server.baseURL)
        #expect(result.error == nil)
        #expect(result.text == "first")
        #expect(server.connections.count == 2)
    }
}

@Suite struct `A credential` {
    @Test func `a challenge is answered, and only the final head is reported`() async throws {
        let server = try LoopbackServer.start()
        var job = TransferJob(
            request: HTTPRequest(url: URL(string: "\(server.baseURL)/basic-auth/me/secret")))
        job.credential = Credential(user: "me", password: "secret")
        let probe = Probe()
        let result = try await CurlTransport.test().carry(job, probe: probe)
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 200)
        #expect(probe.heads.map(\.statusCode) == [200])
    }

    @Test func `a wrong credential results in the 401 response`() async throws {
        let server = try LoopbackServer.start()
        var job = TransferJob(
            request: HTTPRequest(url: URL(string: "\(server.baseURL)/basic-auth/me/secret")))
        job.credential = Credential(user: "me", password: "wrong")
        let probe = Probe()
        let result = try await CurlTransport.test().carry(job, probe: probe)
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 401)
        #expect(probe.heads.map(\.statusCode) == [401])
    }

    @Test func `a credential is not used for the challenge of another request`() async throws {
        let challenge = #"WWW-Authenticate: Digest realm="x", nonce="n", qop="auth""#
        let server = try ScriptedServer.start(
            .request, .respond("401 Unauthorized", headers: [challenge]), .request,
            .respond(body: "in"))
        let transport = CurlTransport.test()
        #expect(try await transport.get(server.baseURL).response?.statusCode == 401)
        var job = TransferJob(request: HTTPRequest(url: URL(string: "\(server.baseURL)/other")))
        job.credential = Credential(user: "me", password: "secret", scheme: .digest)
        job.credentialUse = .atOnce
        #expect(try await transport.carry(job).text == "in")
        let heads = try await server.requests.values(2).map(\.head)
        #expect(heads.allSatisfy { !$0.contains("Authorization") })
    }

    @Test func `a challenge with a control character is an error`() async throws {
        let challenge = "WWW-Authenticate: Digest realm=\"x\", nonce=\"a\rX-Other: 1\""
        let server = try ScriptedServer.start(
            .request, .respond("401 Unauthorized", headers: [challenge]), .again)
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        job.credential = Credential(user: "me", password: "secret", scheme: .digest)
        let result = try await CurlTransport.test().carry(job)
        #expect(result.error?.code == .badServerResponse)
        #expect(result.error?.reason.contains("WWW-Authenticate holds a control character") == true)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: ["http", "https"])
    func `a proxy challenge with a control character is an error`(
        scheme: String
    ) async throws {
        let challenge = "Proxy-Authenticate: Digest realm=\"x\", nonce=\"a\rX-Other: 1\""
        let proxy = try ScriptedServer.start(
            .requestHead, .respond("407 Who?", headers: [challenge]), .again)
        let transport = CurlTransport.test {
            $0.proxy = .url(proxy.baseURL, except: [])
            $0.proxyCredential = Credential(user: "me", password: "secret", scheme: .digest)
        }
        let result = try await transport.get("\(scheme)://h.test/")
        #expect(result.error?.code == .badServerResponse)
        #expect(
            result.error?.reason.contains("Proxy-Authenticate holds a control character") == true)
        #expect(proxy.requests.count == 1)
    }

    @Test(arguments: [(Int64?.none, false), (6, false), (nil, true)])
    func `a body stream is rewound and sent again after a challenge`(
        length: Int64?, isDeclared: Bool
    ) async throws {
        let challenge = "WWW-Authenticate: Basic realm=\"x\""
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond("401 Unauthorized", headers: [challenge])]
                : [.request, .respond(body: "in")]
        }
        let body = Pieces(["one", "two"], length: length)
        var job = TransferJob(
            request: HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                headers: isDeclared ? ["Content-Length": "6"] : [:], body: .stream(body)))
        job.credential = Credential(user: "me", password: "secret")
        let result = try await CurlTransport.test().carry(job)
        #expect(result.error == nil)
        #expect(result.text == "in")
        let bodies = try await server.requests.values(2).map(\.body)
        let sent = length ?? (isDeclared ? 6 : nil)
        #expect(
            bodies.last
                == Array((sent == nil ? "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n" : "onetwo").utf8))
    }
}

@Suite struct `Connections` {
    @Test func `the connections of one burst are reused for the next burst`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "x"), .again)
        let transport = CurlTransport.test()
        for _ in 0..<3 {
            let probes = (0..<4).map { _ in Probe() }
            for probe in probes {
                let request = HTTPRequest(url: URL(string: server.baseURL))
                _ = transport.start(TransferJob(request: request), handler: probe)
            }
            try await server.requests.values(4)
            gate.open()
            for probe in probes { #expect(try await probe.end.value().text == "x") }
        }
        #expect(server.connections.count == 4)
        #expect(server.requests.count == 12)
    }
}

@Suite struct `Calls from a handler and from another thread` {
    /// Starts a transfer when one ends, suspends it there and resumes it from another thread.
    private final class Chain: TransferHandler, @unchecked Sendable {
        // Unchecked: only the transport's thread accesses `left`.
        private let transport: CurlTransport
        private let job: TransferJob
        private let queue = DispatchQueue(label: "another thread")
        private var left: Int
        let done = Once<TransferResult>()

        init(_ transport: CurlTransport, _ job: TransferJob, length: Int) {
            self.transport = transport
            self.job = job
            left = length
        }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            guard left > 0, result.error == nil else { return done.set(result) }
            left -= 1
            let next = transport.start(job, handler: self)
            next.suspend()
            queue.async { next.resume() }
        }
    }

    @Test func `start, suspend and resume from two threads keep their order`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let url = URL(string: "\(server.baseURL)/get")
        let job = TransferJob(request: HTTPRequest(url: url))
        let chain = Chain(transport, job, length: 200)
        _ = transport.start(job, handler: chain)
        #expect(try await chain.done.value().error == nil)
    }
}
