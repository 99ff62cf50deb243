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

    @Test func `cookies that a server sets go along with what follows`() async throws {
        let network = StubTransport(answers: [
            .status(200, headers: ["Set-Cookie": "a=1"]), .status(204),
        ])
        let storage = CookieStorage()
        let layer = CookieLayer(around: network, storage: storage)
        for _ in 0..<2 { _ = await layer.send(request("http://a.test/")) }
        #expect(network.requests.map { $0.headers["Cookie"] } == [nil, "a=1"])
        #expect(storage.cookies(for: try #require(URL(string: "http://a.test/"))).count == 1)
    }

    @Test func `cookies of a challenge that a transport has answered count`() async throws {
        let storage = CookieStorage()
        let layer = CookieLayer(around: UsingTransport(), storage: storage)
        let recorder = await layer.send(request("http://a.test/"))
        #expect(recorder.used.map(\.statusCode) == [401])
        #expect(
            storage.cookies(for: try #require(URL(string: "http://a.test/"))).map(\.pair)
                == ["of=401"])
    }

    @Test func `a host that asks for https gets it`() async throws {
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

    @Test func `a stored response needs no network`() async throws {
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

    @Test func `what a stored response has set is not set again, what its confirmation sets is`()
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

    @Test func `what goes on a file that is there already does not come from the cache`()
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

    @Test func `no more of a body is buffered than the cache may store`() async {
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

    @Test func `nothing is learnt from an interim head`() async throws {
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

    @Test func `what a layer does not implement is passed on`() async throws {
        let network = StubTransport(answers: [.status(204)])
        let layer = EmptyLayer(next: network)
        let recorder = await layer.send(request("http://a.test/"))
        #expect(await recorder.result.response?.statusCode == 204)
        layer.shutDown()
        let late = await layer.send(request("http://a.test/"))
        #expect(await late.result.error?.code == .transportClosed)
    }
}

/// Notes with each chunk how many bytes the cache has kept so far.
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
