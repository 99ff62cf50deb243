import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct HARRecorderTests {
    let address = "http://api.test/a?token=hidden&q=1"

    private func session(_ recorder: HARRecorder, _ answers: StubAnswer...) -> Session {
        Session(
            transport: StubTransport(answers: answers),
            interceptor: RetryPolicy(exponentialBackoffScale: 0), eventMonitors: [recorder])
    }

    @Test func `each attempt and each redirect has an entry`() async throws {
        let recorder = HARRecorder()
        let session = session(recorder, .redirect(to: "/b"), .status(503), .text("x"))
        let request = session.request(address).validate()
        _ = await request.serializingString().response
        let entries = recorder.archive.log.entries
        #expect(entries.map(\.response.status) == [302, 503, 200])
        #expect(
            entries.map(\.request.url) == [
                "http://api.test/a?token=•••&q=1", "http://api.test/b",
                "http://api.test/a?token=•••&q=1",
            ])
        #expect(entries.map(\.attempt) == [1, 1, 2])
        #expect(Set(entries.map(\.requestID)) == [request.id.uuidString])
        #expect(try entries.at(0).response.redirectURL == "/b")
        #expect(try entries.at(0).request.queryString.map(\.name) == ["token", "q"])
    }

    @Test func `secrets and bodies are left out by default`() async throws {
        let answer = StubAnswer(
            headers: ["Set-Cookie": "id=s3cret", "Content-Type": "text/plain"],
            body: Data("body".utf8))
        let headers: HTTPHeaders = ["Authorization": "Bearer s3cret", "Cookie": "a=s3cret"]
        let plain = HARRecorder()
        let hiding = session(plain, answer)
        _ = await hiding.request(address, headers: headers).serializingString().response
        let entry = try #require(plain.archive.log.entries.first)
        #expect(entry.request.cookies == [HAR.Pair(name: "a", value: "•••")])
        #expect(entry.response.cookies == [HAR.Pair(name: "id", value: "•••")])
        #expect(
            entry.request.headers.contains(HAR.Pair(name: "Authorization", value: "Bearer •••")))
        #expect(entry.response.content.text == nil)
        #expect(entry.response.content.size == 4)
        let open = HARRecorder(limits: .bodies(upTo: 4), redaction: .none)
        let showing = session(open, answer)
        _ = await showing.request(address, headers: headers).serializingString().response
        let shown = try #require(open.archive.log.entries.first)
        #expect(shown.request.cookies == [HAR.Pair(name: "a", value: "s3cret")])
        #expect(shown.response.content.text == "body")
    }

    @Test func `bodies of streams are recorded, and those of downloads are not`() async throws {
        let recorder = HARRecorder(limits: .bodies(upTo: 100))
        let answer = StubAnswer.text("0123456789").chunked(into: 3)
        let session = session(recorder, answer)
        let stream = session.streamRequest(URL(string: address)!)
        for await _ in stream.streamTask().streamingData() {}
        await session.download(address).serializingData().response.removeFiles()
        let entries = recorder.archive.log.entries
        #expect(entries.map(\.response.content.text) == ["0123456789", nil])
        #expect(entries.map(\.response.content.size) == [10, 10])
    }

    @Test func `the oldest entries are dropped, and the archive reports their number`() async throws
    {
        var limits = HARRecorder.Limits()
        limits.entries = 2
        let recorder = HARRecorder(limits: limits)
        let session = session(recorder, .status(200), .status(201), .status(204))
        for _ in 0..<3 { _ = await session.request(address).serializingUnserialized().response }
        let log = recorder.archive.log
        #expect(log.entries.map(\.response.status) == [201, 204])
        #expect(log.droppedEntries == 1)
        #expect(log.comment?.hasPrefix("the oldest 1 entries were left out") == true)
        recorder.removeAll()
        #expect(recorder.archive.log.entries.isEmpty)
    }

    @Test func `a written archive can be read again`() async throws {
        let directory = try TemporaryDirectory()
        let recorder = HARRecorder(limits: .bodies(upTo: 100))
        let lost = TransferError(code: .networkConnectionLost, stage: .receiving, reason: "lost")
        let session = session(recorder, .json("[1]"), .failure(lost))
        for _ in 0..<2 {
            _ = await session.request(address, method: .post).serializingUnserialized().response
        }
        let file = directory.url.appending(path: "a.har")
        try recorder.write(to: file)
        let archive = try HAR(contentsOf: file)
        #expect(archive == recorder.archive)
        #expect(archive.log.version == "1.2")
        #expect(try archive.log.entries.at(1).error?.code == "networkConnectionLost")
        #expect(throws: HARError.self) {
            try recorder.write(to: directory.url.appending(path: "none/a.har"))
        }
        #expect(directory.names == ["a.har"])
    }

    @Test func `the timings of an entry add up to its total time`() {
        var result = TransferResult(response: HTTPResponse(url: nil, statusCode: 200))
        result.metrics.queued = 1000
        result.metrics.nameLookup = 2000
        result.metrics.connect = 5000
        result.metrics.secureConnect = 9000
        result.metrics.preTransfer = 9500
        result.metrics.firstByte = 20_000
        result.metrics.total = 30_000
        result.metrics.remoteAddress = "[::1]:443"
        result.metrics.localAddress = "[::1]:50000"
        let request = HTTPRequest(url: URL(string: address))
        let entry = HAR.Entry(TransferExchange(request: request, result: result), bodyLimit: 0)
        let timings = entry.timings
        #expect(
            timings
                == HAR.Timings(
                    blocked: 1, dns: 2, connect: 7, send: 0.5, wait: 10.5, receive: 10, ssl: 4))
        #expect(
            timings.blocked + timings.dns + timings.connect + timings.send + timings.wait
                + timings.receive == entry.time)
        #expect(entry.serverIPAddress == "::1")
        #expect(entry.connection == "50000")
        result.metrics.isReusedConnection = true
        result.metrics.connect = 0
        let reused = HAR.Entry(TransferExchange(request: request, result: result), bodyLimit: 0)
        #expect(reused.timings.dns == -1 && reused.timings.connect == -1)
    }
}
