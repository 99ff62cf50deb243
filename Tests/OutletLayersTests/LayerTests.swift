import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTesting
import OutletTransport
import Testing

@testable import OutletLayers

/// Layers alone, without a session.
@Suite struct LayerTests {
    private func request(_ url: String) -> HTTPRequest {
        HTTPRequest(url: URL(string: url))
    }

    @Test func `a cookie that a server sets is sent with the next request`() async throws {
        let network = StubTransport(answers: [
            .status(200, headers: ["Set-Cookie": "a=1"]), .status(204),
        ])
        let storage = CookieStorage()
        let layer = CookieLayer(around: network, storage: storage)
        for _ in 0..<2 { _ = await layer.send(request("http://a.test/")) }
        #expect(network.requests.map { $0.headers["Cookie"] } == [nil, "a=1"])
        #expect(storage.cookies(for: try #require(URL(string: "http://a.test/"))).count == 1)
    }

    @Test func `cookies of a challenge that the transport answers are stored`() async throws {
        let storage = CookieStorage()
        let layer = CookieLayer(around: UsingTransport(), storage: storage)
        let recorder = await layer.send(request("http://a.test/"))
        #expect(recorder.used.map(\.statusCode) == [401])
        #expect(
            storage.cookies(for: try #require(URL(string: "http://a.test/"))).map(\.pair)
                == ["of=401"])
    }

    @Test func `only responses over https have an effect on HSTS, whichever came before`() async {
        let answer = StubAnswer.status(200, headers: ["Strict-Transport-Security": "max-age=60"])
        let storage = HSTSStorage.memory
        let layer = HSTSLayer(
            around: StubTransport(answers: Array(repeating: answer, count: 6)), storage: storage)
        for url in ["http://a.test/", "https://b.test/", "http://c.test/"] {
            for _ in 0..<2 { _ = await layer.send(request(url)) }
        }
        #expect(storage.policies.map(\.host) == ["b.test"])
    }

    @Test func `requests to a host with an HSTS policy use https`() async throws {
        let network = StubTransport(answers: [
            .status(200, headers: ["Strict-Transport-Security": "max-age=60"])
        ])
        let layer = HSTSLayer(around: network, storage: .memory)
        for url in ["http://a.test/", "https://a.test/", "http://a.test/", "http://b.test/"] {
            _ = await layer.send(request(url))
        }
        #expect(
            network.requests.map { $0.url?.absoluteString } == [
                "http://a.test/", "https://a.test/", "https://a.test/", "http://b.test/",
            ])
    }

    @Test func `a fresh stored response is returned without the network`() async throws {
        let network = StubTransport(answers: [
            StubAnswer(headers: ["Cache-Control": "max-age=60"], body: Data("x".utf8))
        ])
        let layer = CacheLayer(around: network, cache: ResponseCache())
        let first = await layer.send(request("http://a.test/"))
        let second = await layer.send(request("http://a.test/"))
        #expect(network.requests.count == 1)
        #expect(first.sources == [.network])
        #expect(second.sources == [.cache])
        #expect(await second.result.body == Data("x".utf8))
    }

    @Test func `cookies of a 304 response are set, and those of the stored response are not`()
        async throws
    {
        let network = StubTransport(answers: [
            StubAnswer(
                headers: ["Cache-Control": "no-cache", "ETag": #""1""#, "Set-Cookie": "a=stored"],
                body: Data("x".utf8)),
            .status(304, headers: ["ETag": #""1""#, "Set-Cookie": "b=confirmed"]),
        ])
        let storage = CookieStorage()
        let layer = CookieLayer(
            around: CacheLayer(around: network, cache: ResponseCache()), storage: storage,
            sends: false)
        _ = await layer.send(request("http://a.test/"))
        storage.removeCookies(since: .distantPast)
        let recorder = await layer.send(request("http://a.test/"))
        #expect(recorder.used.map(\.statusCode) == [304])
        #expect(recorder.heads.map(\.statusCode) == [200])
        #expect(
            storage.cookies(for: try #require(URL(string: "http://a.test/"))).map(\.pair)
                == ["b=confirmed"])
    }

    @Test(arguments: [
        ("max-age=60", "Authorization", ResponseSource.network),
        ("max-age=60", "X-Api-Key", .network), ("max-age=60", "Host", .network),
        ("max-age=60", "Accept-Language", .network), ("public, max-age=60", "X-Api-Key", .cache),
        ("public, max-age=60", "Accept-Language", .network), ("max-age=60", "X-Count", .cache),
    ])
    func `a response is not stored if a layer below has added a field that selects it`(
        control: String, name: String, source: ResponseSource
    ) async {
        let network = StubTransport { _ in
            StubAnswer(headers: ["Cache-Control": control, "Vary": "Accept-Language"])
        }
        let layer = CacheLayer(
            around: AddingLayer(next: network, fields: [name: "b.test"]), cache: ResponseCache())
        for _ in 0..<2 {
            let recorder = await layer.send(request("http://a.test/"))
            #expect(recorder.lastRequest?.headers[name] == "b.test" || recorder.sources == [.cache])
        }
        #expect(await layer.send(request("http://a.test/")).sources == [source])
    }

    @Test func `the answer of a plugin is neither stored nor replaced by a stored response`()
        async
    {
        let network = PluginTransport(
            next: StubTransport { _ in StubAnswer(headers: ["Cache-Control": "max-age=60"]) })
        let (cookies, hosts) = (CookieStorage(), HSTSStorage.memory)
        let layer = HSTSLayer(
            around: CookieLayer(
                around: CacheLayer(around: network, cache: ResponseCache()), storage: cookies),
            storage: hosts)
        let plain = request("https://a.test/")
        var answered = plain
        answered.givenAnswer = GivenAnswer(
            status: 403,
            headers: [
                "Cache-Control": "max-age=60", "Set-Cookie": "a=1",
                "Strict-Transport-Security": "max-age=60",
            ], body: Data())
        for (request, status) in [(answered, 403), (plain, 200), (plain, 200), (answered, 403)] {
            let recorder = await layer.send(request)
            #expect(await recorder.result.response?.statusCode == status)
        }
        #expect(cookies.cookies.isEmpty && hosts.policies.isEmpty)
    }

    @Test func `a challenge that a plugin gives is not answered, and nothing is learnt from it`()
        async
    {
        let server = StubTransport { _ in .status(200) }
        let network = PluginTransport(next: server)
        let hosts = HSTSStorage.memory
        let layer = HSTSLayer(
            around: AuthenticationLayer(around: network, storage: nil), storage: hosts)
        var request = request("https://a.test/")
        request.givenAnswer = GivenAnswer(
            status: 401,
            headers: [
                "WWW-Authenticate": "Basic realm=\"a\"", "Strict-Transport-Security": "max-age=60",
            ], body: Data())
        var job = TransferJob(request: request)
        job.credential = Credential(user: "ada", password: "1")
        job.credentialUse = .onChallenge
        let recorder = Recorder()
        _ = layer.start(job, handler: recorder)
        #expect(await recorder.result.response?.statusCode == 401)
        #expect(recorder.used.isEmpty && server.requests.isEmpty)
        #expect(hosts.policies.isEmpty)
    }

    @Test func `a request as changed by inner layers is known at the end of its transfer`()
        async
    {
        let network = StubTransport { _ in .status(200) }
        let changing = AddingLayer(next: network, fields: ["X-Added": "1"])
        let deferring = WaitingLayer(next: changing) {}
        for layer: any Transport in [
            CacheLayer(around: changing, cache: ResponseCache()), deferring,
            CacheLayer(around: deferring, cache: ResponseCache()),
        ] {
            let recorder = await layer.send(request("http://a.test/"))
            #expect(recorder.lastRequest?.headers["X-Added"] == "1")
        }
    }

    @Test func `a stored response that is used in place of an error is used to the end`() async {
        let gate = StubGate()
        let network = StubTransport(answers: [
            StubAnswer(
                headers: ["Cache-Control": "max-age=0, stale-if-error=60"],
                body: Data("stored".utf8)),
            StubAnswer(statusCode: 503, body: Data("down".utf8)).waiting(atByte: 1, for: gate),
        ])
        let layer = CacheLayer(around: network, cache: ResponseCache())
        _ = await layer.send(request("http://a.test/"))
        let recorder = Recorder()
        let task = layer.start(
            TransferJob(request: request("http://a.test/")), handler: recorder)
        await gate.arrival()
        // Meanwhile it becomes too old.
        (task as? CacheTask)?.course.withLock { $0.stored?.responseTime = .distantPast }
        gate.open()
        #expect(await recorder.result.body == Data("stored".utf8))
        #expect(recorder.heads.map(\.statusCode) == [200])
        #expect(recorder.heads.first?.headers["Age"] != nil)
    }

    // MARK: Layers that wait

    @Test func `a layer that waits sends the job when it may`() async {
        let network = StubTransport { _ in .status(204) }
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        let layer = WaitingLayer(next: network) {
            begin.finish()
            for await _ in opened {}
        }
        let recorder = Recorder()
        _ = layer.start(TransferJob(request: request("http://a.test/")), handler: recorder)
        for await _ in begun {}
        #expect(network.requests.isEmpty)
        open.finish()
        #expect(await recorder.result.response?.statusCode == 204)
    }

    @Test func `a transfer whose layer does not stop waiting fails with the layer's error`() async {
        struct Full: Error {}
        let network = StubTransport { _ in .status(204) }
        let layer = WaitingLayer(next: network) { throw Full() }
        let recorder = await layer.send(request("http://a.test/"))
        #expect(await recorder.result.error?.cause is Full)
        #expect(network.requests.isEmpty)
    }

    @Test func `a cancel ends the waiting of a layer`() async {
        let network = StubTransport { _ in .status(204) }
        let (stopped, isStopped) = AsyncStream.makeStream(of: Void.self)
        let layer = WaitingLayer(next: network) {
            defer { isStopped.finish() }
            try await Task.sleep(for: .seconds(3600))
        }
        let recorder = Recorder()
        layer.start(TransferJob(request: request("http://a.test/")), handler: recorder).cancel()
        #expect(await recorder.result.error?.code == .cancelled)
        for await _ in stopped {}
        #expect(network.requests.isEmpty)
    }

    @Test func `a download that continues a file does not use the cache`()
        async throws
    {
        let path = URL.temporaryDirectory.appending(path: "Outlet_\(UUID()).part").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("old!".utf8).write(to: URL(filePath: path))
        let network = StubTransport(answers: [
            StubAnswer(headers: ["Cache-Control": "max-age=60"], body: Data("whole".utf8)),
            StubAnswer(statusCode: 206, body: Data("rest".utf8)),
        ])
        let layer = CacheLayer(around: network, cache: ResponseCache())
        _ = await layer.send(request("http://a.test/"))
        let recorder = Recorder()
        _ = layer.start(
            TransferJob(
                request: request("http://a.test/"), delivery: .file(path: path, offset: 4)),
            handler: recorder)
        #expect(await recorder.result.error == nil)
        #expect(recorder.sources == [.network])
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("old!rest".utf8))
    }

    @Test func `the cache buffers no more of a body than it may store`() async {
        let body = StubAnswer(
            headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"],
            body: Data(count: 200), chunkSize: 40)
        let layer = CacheLayer(
            around: StubTransport(answers: [body]), cache: ResponseCache(memoryCapacity: 8 * 100))
        let watcher = PassedBytes()
        _ = layer.start(
            TransferJob(request: request("http://a.test/"), delivery: .chunks), handler: watcher)
        #expect(await watcher.recorder.result.error == nil)
        #expect(watcher.counts.withLock { $0 } == [40, 80, nil, nil, nil])
    }

    @Test func `cookies and HSTS policies of an interim response are ignored`() async throws {
        let cookies = CookieStorage()
        let hosts = HSTSStorage.memory
        let network = StubTransport(answers: [
            .status(204).after(
                interim: 103,
                headers: ["Set-Cookie": "a=1", "Strict-Transport-Security": "max-age=60"])
        ])
        let layer = HSTSLayer(
            around: CookieLayer(around: network, storage: cookies), storage: hosts)
        let recorder = await layer.send(request("https://a.test/"))
        #expect(recorder.heads.map(\.statusCode) == [103, 204])
        #expect(cookies.cookies.isEmpty)
        #expect(hosts.policies.isEmpty)
    }

    @Test func `calls that a layer does not implement are forwarded`() async throws {
        let network = StubTransport(answers: [.status(204)])
        let layer = EmptyLayer(next: network)
        let recorder = await layer.send(request("http://a.test/"))
        #expect(await recorder.result.response?.statusCode == 204)
        layer.shutDown()
        let late = await layer.send(request("http://a.test/"))
        #expect(await late.result.error?.code == .transportClosed)
    }
}

/// Records at each chunk the number of bytes that the cache has buffered.
private final class PassedBytes: TransferHandler {
    let recorder = Recorder()
    let counts = Lock<[Int?]>([])

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        let count = (task as? CacheTask)?.course.withLock { $0.passed?.count }
        counts.withLock { $0.append(count ?? nil) }
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        recorder.transferDidFinish(task, result: result, turn: turn)
    }
}

private final class EmptyLayer: TransportLayer {
    let next: any Transport

    init(next: any Transport) { self.next = next }
}

/// Answers a challenge itself, as libcurl does with NTLM.
private final class UsingTransport: Transport {
    private final class Task: TransferTask {
        let identifier = TransferIdentifier.next()
        func cancel() {}
        func suspend() {}
        func resume() {}
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let task = Task()
        let turn = TransportTurn()
        defer { turn.end() }
        let challenge = HTTPResponse(
            url: job.request.url, statusCode: 401, headers: ["Set-Cookie": "of=401"])
        handler.transfer(task, didUse: challenge, turn: turn)
        let response = HTTPResponse(url: job.request.url, statusCode: 200)
        _ = handler.transfer(task, didReceive: response, turn: turn)
        handler.transferDidFinish(task, result: TransferResult(response: response), turn: turn)
        return task
    }

    func shutDown() {}
}

/// Adds fields to each request.
private final class AddingLayer: TransportLayer {
    let next: any Transport
    private let fields: HTTPHeaders

    init(next: any Transport, fields: HTTPHeaders) {
        self.next = next
        self.fields = fields
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        for field in fields { job.request.headers.append(field) }
        return next.start(job, handler: handler)
    }
}

/// Waits before each request.
private final class WaitingLayer: TransportLayer {
    let next: any Transport
    private let wait: @Sendable () async throws -> Void

    init(next: any Transport, _ wait: @escaping @Sendable () async throws -> Void) {
        self.next = next
        self.wait = wait
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        start(job, handler: handler, after: wait)
    }
}

/// Plays the answers that plugins have given to requests, as the plugin host does.
private final class PluginTransport: TransportLayer {
    let next: any Transport

    init(next: any Transport) { self.next = next }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard let answer = job.request.givenAnswer else { return next.start(job, handler: handler) }
        let head = HTTPResponse(
            url: job.request.url, statusCode: answer.status, headers: answer.headers)
        return PlayedTransfer.start(
            KnownResult(TransferResult(response: head)), for: job, source: .plugin,
            on: DispatchQueue(label: "test.plugin"), handler: handler)
    }
}
