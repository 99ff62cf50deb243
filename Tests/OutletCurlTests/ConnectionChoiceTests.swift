import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

/// Connections that libcurl would use for a request although it must not.
@Suite(.timeLimit(.minutes(patience))) struct ConnectionChoiceTests {
    private func transport(
        _ server: FramePeer, _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) -> CurlTransport {
        CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            change(&$0)
        }
    }

    private func start(
        _ path: String, of server: FramePeer, by transport: CurlTransport,
        _ method: HTTPMethod = .get,
        _ body: HTTPBody = .none, timeout: Double = 60, isPlain: Bool = false
    ) -> Probe {
        let probe = Probe()
        let base = isPlain ? server.plainURL : server.baseURL
        var request = HTTPRequest(
            url: URL(string: base + path), method: method, body: body)
        request.timeoutInterval = timeout
        _ = transport.start(TransferJob(request: request), handler: probe)
        return probe
    }

    @Test func `no request is sent on an HTTP/1 connection in use, also beside one with HTTP/2`()
        async throws
    {
        let server = try await FramePeer.start(withoutHTTP2First: 1)
        let transport = transport(server)
        // Until two further connections have been made.
        let held = start("/until/2", of: server, by: transport)
        let other = try await start("/", of: server, by: transport).end.value()
        #expect(
            other.response?.httpVersion == "HTTP/2" && other.text.utf8.last == UInt8(ascii: "1"))
        let paths = (1...6).map { "/path\($0)" }
        let probes = paths.map { start($0, of: server, by: transport) }
        for (path, probe) in zip(paths, probes) {
            let result = try await probe.end.value()
            #expect(result.error == nil)
            // With HTTP/2 the text is the number of the request.
            let isOwn = result.text.utf8.starts(with: "\(path) on ".utf8)
            #expect(isOwn || result.response?.httpVersion == "HTTP/2", "\(result.text)")
        }
        #expect(try await held.end.value().text == "/until/2 on 0")
        await server.stop()
    }

    /// Starts a request when another one ends, on the transport's own thread.
    private final class Chain: TransferHandler {
        let texts = Recorder<String>()
        let transport: CurlTransport
        private let job: TransferJob
        private let count: Int

        init(_ transport: CurlTransport, _ job: TransferJob, count: Int) {
            self.transport = transport
            self.job = job
            self.count = count
        }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            texts.record(result.error?.reason ?? result.text)
            if texts.count < count { _ = transport.start(job, handler: self) }
        }
    }

    @Test(arguments: ["", "/body"], [false, true])
    func `a second response to one request is not used for the next request, with and without TLS`(
        kind: String, isPlain: Bool
    ) async throws {
        let server = try await FramePeer.start(withoutHTTP2First: 100)
        let base = isPlain ? server.plainURL : server.baseURL
        let job = TransferJob(request: HTTPRequest(url: URL(string: base + "/twice" + kind)))
        let chain = Chain(transport(server), job, count: 10)
        _ = chain.transport.start(job, handler: chain)
        let texts = try await chain.texts.values(10)
        #expect(texts == (0..<10).map { "/twice\(kind) on \($0)" })
        await server.stop()
    }

    @Test func `a second response through an https proxy is not used for the next request`()
        async throws
    {
        let server = try await FramePeer.start(withoutHTTP2First: 100)
        let proxy = try await HandshakePeer.start()
        let transport = transport(server) {
            $0.proxy = .url(proxy.baseURL(.tls13), except: [])
        }
        let job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL + "/twice")))
        let chain = Chain(transport, job, count: 5)
        _ = transport.start(job, handler: chain)
        let texts = try await chain.texts.values(5)
        #expect(texts == (0..<5).map { "/twice on \($0)" })
        await proxy.stop()
        await server.stop()
    }

    @Test(arguments: ["/twice/challenge", "/twice/both"])
    func `a second response to a challenge is not used for the answer to the challenge`(
        path: String
    ) async throws {
        let server = try await FramePeer.start(withoutHTTP2First: 100)
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL + path)))
        job.credential = Credential(user: "ada", password: "secret")
        let result = try await transport(server).carry(job)
        #expect(result.error == nil && result.response?.statusCode == 200)
        #expect(result.text == "\(path) on 1", "\(result.error?.reason ?? "")")
        await server.stop()
    }

    @Test func `a challenge is answered on another connection if the server ends each with one`()
        async throws
    {
        let server = try await FramePeer.start(withoutHTTP2First: 100)
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL + "/twice/end")))
        job.credential = Credential(user: "ada", password: "secret")
        let result = try await transport(server).carry(job)
        #expect(result.error == nil && result.response?.statusCode == 200)
        #expect(result.text == "/twice/end on 1", "\(result.error?.reason ?? "")")
        await server.stop()
    }

    @Test(arguments: [false, true])
    func `a response that comes while a handler runs is not used for the request that it starts`(
        isUnix: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let (isAnswered, isThere) = (try Gate(), try Gate())
        let server = try ScriptedServer.start(at: isUnix ? .unix(path: path) : .loopback(port: 0)) {
            connection in
            guard connection == 0 else { return [.request, .respond(body: "good"), .again] }
            return [
                .request, .respond(body: "abc"), .wait(isAnswered), .respond(body: "evil"),
                .open(isThere), .stall,
            ]
        }
        let transport = CurlTransport.test { if isUnix { $0.unixSocketPath = path } }
        let job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        let next = Probe()
        let first = Ending { _ in
            isAnswered.open()
            _ = isThere.isOpen(within: .seconds(30))
            _ = transport.start(job, handler: next)
        }
        _ = transport.start(job, handler: first)
        #expect(try await next.end.value().text == "good")
    }

    @Test func `no request is sent on an HTTP/1 connection in use after a server wanted HTTP/1.1`()
        async throws
    {
        let server = try await FramePeer.start(
            .init(request: 0, [.reset(StreamEndTests.Reset.wantsHTTP1)]))
        let transport = transport(server)
        let first = try await start("/path0", of: server, by: transport).end.value()
        #expect(first.response?.httpVersion == "HTTP/1.1" && first.text == "/path0 on 1")
        for round in 1...3 {
            let paths = (1...8).map { "/path\(round).\($0)" }
            let probes = paths.map { start($0, of: server, by: transport) }
            for (path, probe) in zip(paths, probes) {
                let result = try await probe.end.value()
                let isOwn = result.text.utf8.starts(with: "\(path) on ".utf8)
                #expect(isOwn || result.response?.httpVersion == "HTTP/2", "\(result.text)")
            }
        }
        await server.stop()
    }

    @Test func `no request is sent on an HTTP/1 connection in use if https on the port has HTTP/2`()
        async throws
    {
        let server = try await FramePeer.start()
        let transport = transport(server)
        let held = start("/until/2", of: server, by: transport, isPlain: true)
        let other = try await start("/", of: server, by: transport).end.value()
        #expect(other.response?.httpVersion == "HTTP/2")
        let paths = (1...6).map { "/path\($0)" }
        let probes = paths.map { start($0, of: server, by: transport, isPlain: true) }
        for (path, probe) in zip(paths, probes) {
            let text = try await probe.end.value().text
            // Number 0 is the one in use.
            let isOwn = text.utf8.starts(with: "\(path) on ".utf8)
            #expect(isOwn && text.utf8.last != UInt8(ascii: "0"), "\(text)")
        }
        #expect(try await held.end.value().text.utf8.starts(with: "/until/2 on ".utf8))
        await server.stop()
    }

    @Test func `requests of which many are wanted over HTTP/1.1 are sent so`() async throws {
        let replies = (0..<40).flatMap { connection in
            (1..<60).map {
                FramePeer.Reply(
                    connection: connection, request: $0,
                    [.reset(StreamEndTests.Reset.wantsHTTP1)])
            }
        }
        let server = try await FramePeer.start(replies)
        let transport = transport(server) { $0.httpMaximumConnectionsPerHost = 8 }
        #expect(try await start("/", of: server, by: transport).end.value().text == "1 on 0")
        let probes = (0..<60).map { start("/path\($0)", of: server, by: transport) }
        for probe in probes {
            let result = try await probe.end.value()
            #expect(result.error == nil, "\(result.error?.reason ?? "")")
        }
        await server.stop()
    }

    @Test func `the stream of a cancelled request ends although waiting ones are cancelled too`()
        async throws
    {
        let server = try await FramePeer.start(
            (1...4).map { .init(request: $0, [.head(200)]) }, streams: 1)
        let transport = transport(server) { $0.httpMaximumConnectionsPerHost = 1 }
        #expect(try await start("/", of: server, by: transport).end.value().text == "1 on 0")
        let probes = (0..<4).map { _ in Probe() }
        let request = HTTPRequest(url: URL(string: server.baseURL))
        let tasks = probes.map { transport.start(TransferJob(request: request), handler: $0) }
        while probes[0].heads.isEmpty || transport.statistics.total.requestsWaiting != 3,
            !Task.isCancelled
        {
            await Task.yield()
        }
        for task in tasks { task.cancel() }
        for probe in probes { #expect(try await probe.end.value().error?.code == .cancelled) }
        let next = try await start("/", of: server, by: transport).end.value()
        #expect(next.text.utf8.last == UInt8(ascii: "1"), "\(next.text)")
        await server.stop()
    }

    @Test func `no request is sent on an HTTP/2 connection that has stopped answering`()
        async throws
    {
        let silent = (1...9).map { FramePeer.Reply(request: $0, []) }
        let server = try await FramePeer.start(silent)
        let transport = transport(server)
        #expect(try await start("/", of: server, by: transport).end.value().text == "1 on 0")
        let lost = (0..<3).map { _ in start("/", of: server, by: transport, timeout: 0.3) }
        for probe in lost { #expect(try await probe.end.value().error?.code == .timedOut) }
        let later = (0..<2).map { _ in start("/", of: server, by: transport, timeout: 5) }
        var texts: Set<String> = []
        for probe in later { texts.insert(try await probe.end.value().text) }
        #expect(texts == ["5 on 1", "6 on 1"])
        #expect(try await start("/", of: server, by: transport).end.value().text == "7 on 1")
        await server.stop()
    }

    /// The server would go on with a stream whose end libcurl does not send.
    @Test(arguments: [false, true])
    func `the connection of a cancelled request ends`(byHandler: Bool) async throws {
        let server = try await FramePeer.start(.init(request: 0, [.head(200)]))
        let transport = transport(server)
        let probe = byHandler ? Probe(onHead: { _ in .cancel }) : Probe()
        let request = HTTPRequest(url: URL(string: server.baseURL))
        let task = transport.start(TransferJob(request: request), handler: probe)
        while probe.heads.isEmpty, !Task.isCancelled { await Task.yield() }
        if !byHandler { task.cancel() }
        #expect(try await probe.end.value().error?.code == .cancelled)
        #expect(try await start("/", of: server, by: transport).end.value().text == "2 on 1")
        await server.stop()
    }

    @Test func `the connection of a cancelled request stays while another transfer uses it`()
        async throws
    {
        let server = try await FramePeer.start(
            .init(request: 0, [.head(200)]), .init(request: 1, [.head(200)]))
        let transport = transport(server)
        let open = start("/", of: server, by: transport)
        while open.heads.isEmpty, !Task.isCancelled { await Task.yield() }
        let probe = Probe()
        let request = HTTPRequest(url: URL(string: server.baseURL))
        let task = transport.start(TransferJob(request: request), handler: probe)
        while probe.heads.isEmpty, !Task.isCancelled { await Task.yield() }
        task.cancel()
        #expect(try await probe.end.value().error?.code == .cancelled)
        #expect(try await start("/", of: server, by: transport).end.value().text == "3 on 0")
        #expect(!open.isOver)
        await server.stop()
    }

    @Test func `a connection that another transfer uses is not taken for dead`() async throws {
        let server = try await FramePeer.start(
            .init(request: 0, [.head(200)]), .init(request: 1, []))
        let transport = transport(server)
        let open = start("/", of: server, by: transport)
        while open.heads.isEmpty, !Task.isCancelled { await Task.yield() }
        let slow = start("/", of: server, by: transport, timeout: 0.3)
        #expect(try await slow.end.value().error?.code == .timedOut)
        for number in 3...5 {
            let result = try await start("/", of: server, by: transport).end.value()
            #expect(result.text == "\(number) on 0")
        }
        #expect(!open.isOver)
        await server.stop()
    }

    /// The server enlarges no window, so that most of the large bodies stay unsent; only the length
    /// tells then that the response is complete.
    @Test(arguments: [(nil, 700), (5, 70_000)])
    func `uploads end with the early response of a server that takes no more of them`(
        length: Int?, size: Int
    ) async throws {
        // A busy machine may need more than one connection.
        let replies = (0..<4).flatMap { connection in
            (0..<80).map {
                FramePeer.Reply(
                    connection: connection, request: $0, isEarly: true,
                    [.head(200, length: length)], [.data("early", ends: true)])
            }
        }
        let server = try await FramePeer.start(replies)
        let transport = transport(server)
        for _ in 0..<(size > 1000 ? 1 : 10) {
            let probes = (0..<8).map { _ in
                start(
                    "/", of: server, by: transport, .post, .data(Data(count: size)), timeout: 30)
            }
            for probe in probes {
                let result = try await probe.end.value()
                #expect(result.error == nil && result.text == "early", "\(result.text)")
                #expect(result.metrics.total < 15_000_000)
            }
        }
        await server.stop()
    }
}
