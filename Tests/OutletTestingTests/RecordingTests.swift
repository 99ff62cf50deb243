import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct RecordingTests {
    let address = "http://api.test/items?token=hidden&q=1"
    let directory: TemporaryDirectory
    var file: URL { directory.url.appending(path: "a.har") }

    init() throws { directory = try TemporaryDirectory() }

    /// Sends what the closure sends through a recording of `inner`, and returns the archive.
    private func record(
        _ inner: StubTransport, redaction: Redaction = .standard, bodyLimit: Int = 1000,
        _ use: (Session) async -> Void
    ) async throws -> HAR {
        let recording = try RecordingTransport(
            wrapping: inner, to: file, redaction: redaction, bodyLimit: bodyLimit)
        let session = Session(transport: recording)
        await use(session)
        try await recording.finish()
        return try HAR(contentsOf: file)
    }

    @Test func `recorded attempts are replayed in order`() async throws {
        let inner = StubTransport(answers: [
            .status(503), StubAnswer.json(#"{"a":1}"#).trailing(["X-Sum": "2"]),
        ])
        let url = address
        let archive = try await record(inner) { session in
            let request = session.request(
                url, interceptor: RetryPolicy(exponentialBackoffScale: 0)
            ).validate()
            #expect(await request.serializingString().response.value == #"{"a":1}"#)
        }
        #expect(archive.log.entries.map(\.response.status) == [503, 200])
        let replay = try ReplayTransport(from: file)
        let session = Session(transport: replay)
        let request = session.request(url, interceptor: RetryPolicy(exponentialBackoffScale: 0))
            .validate()
        #expect(await request.serializingDecodable([String: Int].self).response.value == ["a": 1])
        #expect(request.retryCount == 1)
        #expect(replay.unused.isEmpty && replay.unmatched.isEmpty)
    }

    @Test func `secrets are not recorded by default, and requests still match in a replay`()
        async throws
    {
        let inner = StubTransport { _ in
            var answer = StubAnswer.json(#"{"access_token":"s3cret","n":1}"#)
            answer.headers.append(name: "Set-Cookie", value: "id=s3cret; Path=/")
            return answer
        }
        var request = HTTPRequest(
            url: URL(string: "http://u:s3cret@api.test/?token=s3cret"), method: .post,
            headers: [
                "Authorization": "Bearer s3cret", "Content-Type": "application/json",
            ],
            body: .data(Data(#"{"password":"s3cret","n":1}"#.utf8)))
        let sent = request
        _ = try await record(inner) { session in
            _ = await session.request(sent).serializingString().response
        }
        let text = directory.text("a.har") ?? ""
        #expect(!text.contains("s3cret"))
        #expect(text.contains("Bearer •••"))
        // A request that differs only in a secret matches.
        request.body = .data(Data(#"{"password":"another","n":1}"#.utf8))
        let session = Session(transport: try ReplayTransport(from: file))
        let replayed = await session.request(request).serializingData().response
        #expect(replayed.value == Data(#"{"access_token":"•••","n":1}"#.utf8))
        _ = try await record(inner, redaction: .none) { session in
            _ = await session.request(sent).serializingString().response
        }
        #expect(directory.text("a.har")?.contains("s3cret") == true)
    }

    @Test func `bodies of data, streams, downloads and uploads are recorded completely`()
        async throws
    {
        let bytes = Data((0...255).map { UInt8($0) })
        let inner = StubTransport { _ in StubAnswer(body: bytes, chunkSize: 100) }
        let url = "http://api.test/bytes"
        let target = directory.url.appending(path: "downloaded")
        try directory.write("from a file", to: "upload")
        let upload = directory.url.appending(path: "upload")
        let archive = try await record(inner) { session in
            _ = await session.request(url).serializingData().response
            for await _ in session.streamRequest(URL(string: url)!).streamTask().streamingData() {}
            _ = await session.download(url, to: { _, _ in (target, []) })
                .serializingDownloadedFileURL().response
            _ = await session.upload(TestStream("from a stream"), to: url).serializingData()
                .response
            _ = await session.upload(upload, to: url).serializingData().response
        }
        let entries = archive.log.entries
        #expect(
            entries.map(\.response.content.text)
                == Array(repeating: bytes.base64EncodedString(), count: 5))
        #expect(entries.map(\.response.content.encoding) == Array(repeating: "base64", count: 5))
        #expect(
            entries.suffix(2).map(\.request.postData?.text) == ["from a stream", "from a file"])
        let replay = try ReplayTransport(from: file)
        let session = Session(transport: replay)
        let again = directory.url.appending(path: "again")
        #expect(await session.request(url).serializingData().response.value == bytes)
        _ = await session.download(url, to: { _, _ in (again, []) })
            .serializingDownloadedFileURL().response
        #expect(try Data(contentsOf: again) == bytes)
        let streamed = await session.upload(TestStream("from a stream"), to: url)
            .serializingData().response
        #expect(streamed.value == bytes)
    }

    @Test func `a multipart form matches regardless of its boundary`() async throws {
        let inner = StubTransport { _ in .text("ok") }
        let url = "http://api.test/form"
        func send(_ session: Session, _ value: String) async -> String? {
            await session.upload(
                multipartFormData: { $0.append(Data(value.utf8), withName: "a") }, to: url
            ).serializingString().response.value
        }
        _ = try await record(inner) { session in _ = await send(session, "one") }
        let replay = try ReplayTransport(from: file)
        let session = Session(transport: replay)
        #expect(await send(session, "two") == nil)
        #expect(await send(session, "one") == "ok")
        guard case .notRecorded(_, let nearMisses)? = replay.unmatched.first else {
            Issue.record("\(replay.unmatched)")
            return
        }
        #expect(nearMisses == ["POST http://api.test/form with another body"])
    }

    @Test func `compressed bodies match by their content, without its secrets`() async throws {
        let inner = StubTransport { .text($0.request.headers["X-Number"] ?? "") }
        let url = "http://api.test/log"
        func send(_ session: Session, _ number: Int, token: String) async -> String? {
            await session.request(
                url, method: .post,
                parameters: ["number": "\(number)", "token": token, "more": "text"],
                encoder: .json, headers: ["X-Number": "\(number)"],
                interceptor: .deflateCompressor
            ).serializingString().response.value
        }
        let archive = try await record(inner) { session in
            for number in 1...3 { _ = await send(session, number, token: "s3cret") }
        }
        #expect(Set(archive.log.entries.map(\.request.bodyKey)).count == 3)
        let session = Session(transport: try ReplayTransport(from: file))
        for number in [3, 1, 2] {
            #expect(await send(session, number, token: "another") == "\(number)")
        }
    }

    @Test func `JSON matches regardless of the order of its members`() async throws {
        let inner = StubTransport { .text($0.request.headers["X-Number"] ?? "") }
        func send(_ session: Session, _ body: String, _ number: Int) async -> String? {
            let request = HTTPRequest(
                url: URL(string: "http://api.test/"), method: .post,
                headers: ["Content-Type": "application/json", "X-Number": "\(number)"],
                body: .data(Data(body.utf8)))
            return await session.request(request).serializingString().response.value
        }
        _ = try await record(inner) { session in
            _ = await send(session, #"{"a": 1, "b": [{"c": 2, "d": 3}]}"#, 1)
            _ = await send(session, #"{"a": 1, "b": [{"c": 3, "d": 2}]}"#, 2)
        }
        let session = Session(transport: try ReplayTransport(from: file))
        #expect(await send(session, #"{"b":[{"d":2,"c":3}],"a":1}"#, 0) == "2")
        #expect(await send(session, #"{"b":[{"d":3,"c":2}],"a":1}"#, 0) == "1")
        #expect(await send(session, #"{"b":[{"d":3,"c":2}],"a":2}"#, 0) == nil)
    }

    @Test func `entries without a key answer other bodies only if no entry has the request's body`()
        async throws
    {
        func entry(_ text: String, _ answer: String, hasKey: Bool) -> HAR.Entry {
            var request = HAR.Request(
                method: "POST", url: "http://api.test/", httpVersion: "HTTP/1.1", headers: [])
            request.postData = HAR.PostData(mimeType: "text/plain", text: text)
            if hasKey {
                request.bodyKey = HAR.bodyKey(
                    of: Data(text.utf8), ["Content-Type": "text/plain"], .standard)
            }
            var content = HAR.Content(size: -1, mimeType: "text/plain")
            content.text = answer
            return HAR.Entry(
                startedDateTime: "", time: 0, request: request,
                response: HAR.Response(
                    status: 200, httpVersion: "HTTP/1.1", headers: [], content: content),
                timings: HAR.Timings())
        }
        // The body of the first was not recorded, and those of the others in two ways.
        let replay = ReplayTransport(
            HAR(
                log: HAR.Log(entries: [
                    entry("", "any", hasKey: false), entry("one", "to one", hasKey: true),
                    entry("two", "to two", hasKey: false),
                ])))
        let session = Session(transport: replay)
        for (body, answer) in [("two", "to two"), ("one", "to one"), ("three", "any")] {
            let request = HTTPRequest(
                url: URL(string: "http://api.test/"), method: .post,
                headers: ["Content-Type": "text/plain"], body: .data(Data(body.utf8)))
            #expect(await session.request(request).serializingString().response.value == answer)
        }
    }

    @Test func `a request without a recorded response is an error`() async throws {
        let inner = StubTransport { _ in .text("ok") }
        let url = address
        _ = try await record(inner) { session in
            _ = await session.request(url).serializingString().response
        }
        let replay = try ReplayTransport(from: file)
        let session = Session(transport: replay)
        let other = await session.request(url, method: .put).serializingString().response
        #expect(other.error?.transferError?.code == .resourceUnavailable)
        #expect(
            other.error?.transferError?.reason
                == "PUT http://api.test/items?token=•••&q=1: the archive has no answer: it has "
                + "GET http://api.test/items?token=•••&q=1")
        #expect(replay.unused == ["GET http://api.test/items?token=•••&q=1"])
        #expect(await session.request(url).serializingString().response.value == "ok")
        let twice = await session.request(url).serializingString().response
        #expect(
            twice.error?.transferError?.reason.hasSuffix(
                "the archive has no answer left: it was recorded 1 times") == true)
    }

    @Test func `failures are replayed with the bytes received before them`() async throws {
        let lost = TransferError(
            code: .networkConnectionLost, stage: .receiving, reason: "connection lost")
        let inner = StubTransport(answers: [
            StubAnswer.text("0123456789").failing(with: lost, atByte: 4), .failure(lost),
        ])
        let url = address
        _ = try await record(inner) { session in
            for _ in 0..<2 { _ = await session.request(url).serializingUnserialized().response }
        }
        let session = Session(transport: try ReplayTransport(from: file))
        let broken = await session.request(url).serializingUnserialized().response
        #expect(broken.error?.transferError?.code == .networkConnectionLost)
        #expect(broken.data == Data("0123".utf8))
        let failed = await session.request(url).serializingUnserialized().response
        #expect(failed.error?.transferError?.code == .networkConnectionLost)
        #expect(failed.response == nil)
    }

    @Test func `a body that was too large to be recorded is an error in a replay`() async throws {
        let inner = StubTransport { _ in .text("0123456789") }
        let url = address
        let archive = try await record(inner, bodyLimit: 9) { session in
            _ = await session.request(url).serializingString().response
        }
        #expect(
            try archive.log.entries.at(0).response.content.comment
                == "the body of 10 bytes is larger than the limit of 9")
        let session = Session(transport: try ReplayTransport(from: file))
        let error = await session.request(url).serializingString().response.error?.transferError
        #expect(error?.reason.hasSuffix("the archive has the answer without its body") == true)
    }

    @Test(arguments: [(Int.max, true), (Int.max - 1, true), (0, false), (-5, false), (.min, false)])
    func `a recording's limit may be any number`(limit: Int, hasBodies: Bool) async throws {
        try directory.write("sent", to: "upload")
        let upload = directory.url.appending(path: "upload")
        let place = directory.url.appending(path: "download")
        let url = address
        let archive = try await record(
            StubTransport { _ in .text("received") }, bodyLimit: limit
        ) { session in
            _ = await session.upload(Data("sent".utf8), to: url).serializingData().response
            _ = await session.upload(TestStream("sent"), to: url).serializingData().response
            _ = await session.upload(upload, to: url).serializingData().response
            _ = await session.download(url, to: { _, _ in (place, .removePreviousFile) })
                .serializingData().response
        }
        let entries = archive.log.entries
        #expect(
            entries.map(\.response.content.text)
                == Array(repeating: hasBodies ? "received" : nil, count: 4))
        #expect(
            entries.prefix(3).map { $0.request.postData?.text == "sent" }
                == Array(repeating: hasBodies, count: 3))
    }

    @Test func `a failure whose received bytes were not recorded is replayed`() async throws {
        var failed = entry(status: 200, size: 40)
        failed.error = HAR.Failure(
            code: TransferError.Code.cannotDecodeContentData.rawValue,
            stage: TransferError.Stage.receiving.rawValue, reason: "the checksum is wrong")
        let session = replay(failed)
        let error = await session.request(address).serializingString().response.error
        #expect(error?.transferError?.code == .cannotDecodeContentData)
        #expect(error?.transferError?.reason == "the checksum is wrong")
    }

    @Test func `a body that is not valid base64 is an error that says so`() async {
        let session = replay(entry(status: 200, size: 2, text: "a"))
        let error = await session.request(address).serializingString().response.error
        #expect(error?.transferError?.reason.hasSuffix("a body that is not valid base64") == true)
    }

    @Test func `uploads larger than the limit are replayed, whatever their bytes are`()
        async throws
    {
        let inner = StubTransport { _ in .text("ok") }
        let url = "http://api.test/upload"
        try directory.write(String(repeating: "f", count: 60), to: "upload")
        let upload = directory.url.appending(path: "upload")
        let stream = String(repeating: "s", count: 70)
        func uploadAll(_ session: Session) async -> [String?] {
            [
                await session.upload(upload, to: url).serializingString().response.value,
                await session.upload(TestStream(stream), to: url).serializingString().response
                    .value,
                await session.upload(Data(stream.utf8), to: url).serializingString().response
                    .value,
            ]
        }
        let archive = try await record(inner, bodyLimit: 9) { _ = await uploadAll($0) }
        let requests = archive.log.entries.map(\.request)
        #expect(
            requests.map(\.postData?.comment)
                == [60, 70, 70].map { "the body of \($0) bytes is larger than the limit of 9" })
        #expect(requests.map(\.bodySize) == [60, 70, 70])
        // The key of a body in memory is that of all its bytes.
        #expect(requests.map { $0.bodyKey == nil } == [true, true, false])
        let replay = try ReplayTransport(from: file)
        #expect(await uploadAll(Session(transport: replay)) == ["ok", "ok", "ok"])
        #expect(replay.unused.isEmpty)
    }

    @Test func `a replay waits for the recorded times on a test clock`() async throws {
        var entry = HAR.Entry(
            startedDateTime: "2026-01-01T00:00:00.000Z", time: 60_000,
            request: HAR.Request(method: "GET", url: address, httpVersion: "", headers: []),
            response: HAR.Response(
                status: 200, httpVersion: "HTTP/2", headers: [],
                content: HAR.Content(size: 1, mimeType: "text/plain")),
            timings: HAR.Timings())
        entry.response.content.text = "x"
        let clock = TestClock()
        let replay = ReplayTransport(
            HAR(log: HAR.Log(entries: [entry])), redaction: .none, clock: clock)
        let session = Session(transport: replay)
        async let value = session.request(address).serializingString().value
        await clock.waiters()
        clock.advance(by: .seconds(60))
        #expect(try await value == "x")
    }

    @Test func `archives of other programs are replayed`()
        async throws
    {
        try directory.write(
            #"""
            {"log": {"version": "1.2", "creator": {"name": "browser", "version": "1"}, "pages": [],
              "entries": [{"startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "cache": {},
                "_initiator": {"type": "other"}, "pageref": "p",
                "request": {"method": "POST", "url": "http://api.test/a#b", "httpVersion": "h2",
                  "headers": [], "queryString": [], "cookies": [], "headersSize": -1,
                  "bodySize": 3, "postData": {"mimeType": "text/plain", "text": "abc",
                  "params": [{"name": "f", "fileName": "x"}]}},
                "response": {"status": 200, "statusText": "", "httpVersion": "h2", "cookies": [],
                  "headers": [{"name": "x-a", "value": "1"}], "redirectURL": "",
                  "content": {"mimeType": "text/plain", "text": "aGk=", "encoding": "base64"},
                  "headersSize": -1, "bodySize": -1, "_transferSize": 9},
                "timings": {"send": 0, "wait": 1, "receive": 0}}]}}
            """#, to: "a.har")
        let session = Session(transport: try ReplayTransport(from: file, redaction: .none))
        let response = await session.request("http://api.test/a", method: .post)
            .serializingString().response
        #expect(response.value == "hi")
        #expect(response.response?.headers["X-A"] == "1")
        #expect(response.response?.httpVersion == "h2")
    }

    /// An entry as other programs write it.
    private func entry(
        status: Int, headers: [HAR.Pair] = [], size: Int64, text: String? = nil
    ) -> HAR.Entry {
        var entry = HAR.Entry(
            startedDateTime: "2026-01-01T00:00:00.000Z", time: 1,
            request: HAR.Request(method: "GET", url: address, httpVersion: "", headers: []),
            response: HAR.Response(
                status: status, httpVersion: "", headers: headers,
                content: HAR.Content(size: size, mimeType: "text/plain")),
            timings: HAR.Timings())
        entry.response.content.text = text
        if text != nil { entry.response.content.encoding = "base64" }
        return entry
    }

    private func replay(_ entries: HAR.Entry...) -> Session {
        Session(
            transport: ReplayTransport(HAR(log: HAR.Log(entries: entries)), redaction: .none))
    }

    @Test(arguments: [0, -1, 100])
    func `an entry without a response and without an error is a failure`(status: Int) async {
        let session = replay(entry(status: status, size: 0))
        let response = await session.request(address).serializingUnserialized().response
        #expect(response.response == nil)
        #expect(response.error?.transferError?.code == .networkConnectionLost)
    }

    @Test func `a redirect is replayed without its body, and base64 in lines is read`() async {
        let location = HAR.Pair(name: "Location", value: address)
        let session = replay(
            entry(status: 302, headers: [location], size: 5),
            entry(status: 200, size: 2, text: "aG\nk=\r\n"))
        #expect(await session.request(address).serializingString().response.value == "hi")
    }

    @Test func `a replayed body has the length that its head declares`() async throws {
        let inner = StubTransport { _ in .json(#"{"token":"s","n":1}"#) }
        let url = address
        _ = try await record(inner) { session in
            _ = await session.request(url).serializingString().response
        }
        let session = Session(transport: try ReplayTransport(from: file))
        let replayed = await session.request(address).serializingData().response
        #expect(replayed.value == Data(#"{"token":"•••","n":1}"#.utf8))
        #expect(replayed.response?.headers["Content-Length"] == "\(replayed.value?.count ?? 0)")
    }

    @Test func `a replay leaves out what no head of HTTP can have`() async {
        let session = replay(
            entry(
                status: 200,
                headers: [
                    HAR.Pair(name: ":status", value: "200"),
                    HAR.Pair(name: "set-cookie", value: "a=1\nb=2"),
                ], size: 2, text: "aGk="))
        let response = await session.request(address).serializingString().response
        #expect(response.value == "hi")
        #expect(response.response?.headers.values(for: "Set-Cookie") == ["a=1", "b=2"])
        #expect(response.response?.headers.map(\.name).contains(":status") == false)
    }

    @Test(.timeLimit(.minutes(patience)))
    func `many requests to one URL are replayed in any order`() async throws {
        // Each body is large, so that to parse all of them for each request takes minutes.
        let padding = String(repeating: "[1],", count: 500)
        let bodies = (0..<300).map { Data("[\(padding)\($0)]".utf8) }
        let entries = bodies.enumerated().map { index, body in
            var entry = entry(
                status: 200, size: 2, text: Data("\(index)".utf8).base64EncodedString())
            entry.request.method = "POST"
            entry.request.postData = HAR.PostData(
                mimeType: "application/json", text: String(decoding: body, as: UTF8.self))
            return entry
        }
        let session = Session(
            transport: ReplayTransport(HAR(log: HAR.Log(entries: entries)), redaction: .none))
        for (index, body) in bodies.enumerated().reversed() {
            var request = HTTPRequest(
                url: URL(string: address), method: .post, body: .data(body))
            request.headers = ["Content-Type": "application/json"]
            let value = await session.request(request).serializingString().response.value
            #expect(value == "\(index)")
        }
    }

    @Test func `a recording replaces an older one only when it is finished`() async throws {
        _ = try await record(StubTransport(answers: [.text("old")])) { session in
            _ = await session.request("http://api.test/old").serializingData().response
        }
        func urls() throws -> [String] { try HAR(contentsOf: file).log.entries.map(\.request.url) }
        func use(_ recording: RecordingTransport) async {
            let session = Session(transport: recording)
            _ = await session.request("http://api.test/new").serializingData().response
            withExtendedLifetime(session) {}
        }
        // A recording that is not finished does not change the file.
        do {
            let recording = try RecordingTransport(
                wrapping: StubTransport(answers: [.text("new")]), to: file)
            await use(recording)
            #expect(try urls() == ["http://api.test/old"])
        }
        #expect(try urls() == ["http://api.test/old"])
        let recording = try RecordingTransport(
            wrapping: StubTransport(answers: [.text("new"), .text("new")]), to: file)
        await use(recording)
        #expect(try urls() == ["http://api.test/old"])
        try await recording.finish()
        #expect(try urls() == ["http://api.test/new"])
        await use(recording)
        try await recording.finish()
        #expect(try urls().count == 2)
    }

    @Test func `a recording to a full disk is an error`() {
        #expect(throws: HARError.self) {
            try RecordingTransport(
                wrapping: StubTransport { _ in .silence }, to: URL(filePath: "/dev/full"))
        }
    }

    @Test func `a file that is missing or not an archive is an error`() throws {
        #expect(throws: HARError.self) { try ReplayTransport(from: file) }
        try directory.write(#"{"log":{"version":"1.2"}}"#, to: "a.har")
        do {
            _ = try ReplayTransport(from: file)
            Issue.record("read")
        } catch {
            #expect("\(error)".hasSuffix("is no HTTP archive: .log.creator is missing"))
        }
        #expect(throws: HARError.self) {
            try RecordingTransport(
                wrapping: StubTransport { _ in .silence },
                to: directory.url.appending(path: "none/a.har"))
        }
    }
}
