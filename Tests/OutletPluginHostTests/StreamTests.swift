import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Plugins that see, change or make bodies piece by piece, with the service `outlet.stream/1`.
@Suite(.timeLimit(.minutes(patience))) struct StreamTests {
    /// One of the two plugins of the fixture, with its configuration.
    private struct Streams {
        let host: PluginHost
        let id: String
        let recorder = ActivityRecorder()

        init(
            _ settings: [String: String], quick: Bool = false,
            pieceDeadline: Double = 120, failsOpen: Bool = false
        ) throws {
            id = quick ? "faulty.streams-quick" : "faulty.streams"
            let members = settings.map { #""\#($0.key)": "\#($0.value)""# }
            let folder = try PluginFolder(faulty: "Streams")
            try folder.directory.write(
                #"{"plugins": {"\#(id)": {"deadlines": {"stream_piece": \#(pieceDeadline)}, "#
                    + #""failOpen": \#(failsOpen)}}}"#, to: "plugins.json")
            host = try folder.load(
                configuration: [id: "{\(members.joined(separator: ", "))}"], observer: recorder,
                answerDeadline: .seconds(120))
        }

        func count(_ name: String) throws -> Int64 {
            guard case .int(let count) = try host.call("\(id).\(name)") else { return -1 }
            return count
        }

        /// Waits until the plugin's counter `name` is at least `count`.
        func reach(_ count: Int64, _ name: String) async throws {
            while try self.count(name) < count, !Task.isCancelled { await Task.yield() }
        }

        func session(_ configuration: TransportConfiguration = .init()) -> Session {
            Session(transport: CurlTransport(configuration: configuration), plugins: host)
        }
    }

    /// How the calls of a test end.
    enum CallEnd: String, CaseIterable { case answered, cancelled, shutDown }

    @Test(arguments: CallEnd.allCases)
    func `request_done is called after the end functions of the request's streams`(end: CallEnd)
        async throws
    {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "StreamsAndDone").load(
            configuration: [
                "faulty.streams-and-done": end == .answered ? "{}" : #"{"hold": "yes"}"#
            ], observer: recorder)
        let server = try LoopbackServer.start()
        let session = Session(transport: CurlTransport(), plugins: host)
        let requests = (0..<4).map { _ in
            session.request("\(server.baseURL)/post", method: .post)
        }
        let tasks = requests.map { $0.serializingData() }
        if end == .answered {
            for task in tasks { #expect(await task.response.error == nil) }
        } else {
            // A held piece is an answer that the plugin owes.
            while host.status.first?.hooks["stream_piece"]?.calls != 4, !Task.isCancelled {
                await Task.yield()
            }
        }
        if end == .cancelled {
            for (request, task) in zip(requests, tasks) {
                request.cancel()
                _ = await task.response
            }
        }
        #expect(await host.shutDown().isEmpty)
        #expect(recorder.lines.values.map(\.message) == ["4 done, 0 early"])
        #expect(recorder.misbehaviours.values.map(\.fact) == [])
        for task in tasks { _ = await task.response }
    }

    private func pluginError(_ error: SessionError?) -> PluginError? {
        error?.underlyingError as? PluginError
    }

    // MARK: Watching

    @Test(arguments: ["count", "later"], [false, true])
    func `a plugin sees whole bodies of data requests, downloads and streams`(
        watch: String, quick: Bool
    ) async throws {
        let streams = try Streams(["watch": watch, "ask": "late"], quick: quick)
        let server = try LoopbackServer.start()
        let session = streams.session()
        let (address, bytes) = ("\(server.baseURL)/bytes/100000", LoopbackServer.bytes(100_000))
        let data = await session.request(address).serializingData().response
        #expect(data.value.map { Array($0) } == bytes)
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path("file"))
        let download = await session.download(
            address, to: { _, _ in (destinationURL: file, options: []) }
        ).serializingDownloadedFileURL().response
        #expect(download.error == nil)
        #expect(try Array(Data(contentsOf: file)) == bytes)
        var streamed: [UInt8] = []
        let task = session.streamRequest(address).streamTask()
        for await event in task.streamingData() {
            if case .stream(.success(let piece)) = event.event { streamed += piece }
        }
        #expect(streamed == bytes)
        try await streams.reach(3, "whole")
        let seen = try streams.count("seen")
        let bodies = try streams.count("bodies")
        #expect(seen == 300_000)
        #expect(bodies == 3)
        #expect(try streams.count("broken") == 0)
        #expect(try streams.count("late") == 0)
        let refusals = streams.recorder.lines.values.map(\.message)
        #expect(refusals.count == 3 && refusals.allSatisfy { $0.contains(", in will_send of ") })
        #expect(try streams.count("overlaps") == 0)
        #expect(streams.recorder.misbehaviours.values.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["count", "later"])
    func `a plugin sees the decoded body, also over HTTP/2`(watch: String) async throws {
        let streams = try Streams(["watch": watch])
        let nginx = try await Nginx.shared()
        var configuration = TransportConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let session = streams.session(configuration)
        let text = await session.request("\(nginx.baseURL(.tls))/compressed/text.txt")
            .serializingData().response
        let size = try #require(text.value?.count)
        #expect(text.response?.headers["Content-Encoding"] == "gzip")
        #expect(text.response?.httpVersion == "HTTP/2")
        try await streams.reach(1, "whole")
        #expect(try streams.count("seen") == Int64(size))
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["refuse", "refuse-end", "late-refusal"], [false, true])
    func `a refused body fails the download and leaves no file`(
        watch: String, quick: Bool
    ) async throws {
        let streams = try Streams(["watch": watch], quick: quick)
        let server = try ScriptedServer.start(
            .request, .respond(body: "X" + String(repeating: "y", count: 5000)))
        let session = streams.session()
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path("file"))
        let response = await session.download(
            server.baseURL, to: { _, _ in (destinationURL: file, options: []) }
        ).serializingDownloadedFileURL().response
        let error = try #require(pluginError(response.error))
        #expect(error.plugin == streams.id && error.hook == .streamPiece)
        #expect(error.code == "refused" && error.message == "this body is refused")
        #expect(!FileManager.default.fileExists(atPath: directory.path("file")))
        // Also if only the end is refused, the program has not received the whole body.
        try await streams.reach(1, "broken")
        #expect(try streams.count("whole") == 0)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["faulty.streams", "faulty.streams-quick"])
    func `a body that one plugin refuses at its end is complete for none`(
        refusing: String
    ) async throws {
        let ids = ["faulty.streams", "faulty.streams-quick"]
        let host = try PluginFolder(faulty: "Streams").load(
            configuration: Dictionary(
                uniqueKeysWithValues: ids.map {
                    ($0, #"{"watch": "\#($0 == refusing ? "refuse-end" : "count")"}"#)
                }))
        let server = try ScriptedServer.start(.request, .respond(body: "X23"))
        let session = Session(transport: CurlTransport(), plugins: host)
        let response = await session.request(server.baseURL).serializingData().response
        #expect(pluginError(response.error)?.plugin == refusing)
        for id in ids {
            while try host.call("\(id).broken") == .int(0), !Task.isCancelled { await Task.yield() }
            #expect(try host.call("\(id).whole") == .int(0))
        }
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `a body waits for a pending plugin and for a suspended request`(
        quick: Bool
    ) async throws {
        let streams = try Streams(["watch": "hold"], quick: quick)
        let server = try LoopbackServer.start()
        let session = streams.session()
        let request = session.request("\(server.baseURL)/bytes/10")
        async let response = request.serializingData().response
        try await streams.reach(1, "pending")
        request.suspend()
        #expect(try streams.host.call("\(streams.id).release") == .int(0))
        request.resume()
        // The end of the body is passed to the plugin like a piece, so it is held back as well.
        try await streams.reach(2, "pending")
        #expect(try streams.host.call("\(streams.id).release") == .int(0))
        #expect(await response.value?.count == 10)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `a cancelled request cancels the pending piece and ends the stream once`(
        quick: Bool
    ) async throws {
        let streams = try Streams(["watch": "hold"], quick: quick)
        let server = try LoopbackServer.start()
        let session = streams.session()
        let request = session.request("\(server.baseURL)/bytes/10")
        async let response = request.serializingData().response
        try await streams.reach(1, "pending")
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        try await streams.reach(1, "cancelled")
        try await streams.reach(1, "broken")
        #expect(try streams.host.call("\(streams.id).release") == .int(-2))
        #expect(await streams.host.shutDown() == [])
        #expect(streams.recorder.misbehaviours.values.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a piece that is never settled fails the request at the deadline`() async throws {
        let streams = try Streams(["watch": "hold"], pieceDeadline: 0.05)
        let server = try LoopbackServer.start()
        let session = streams.session()
        let response = await session.request("\(server.baseURL)/bytes/10").serializingData()
            .response
        let error = try #require(pluginError(response.error))
        #expect(error.hook == .streamPiece && error.kind == .timedOut)
        withExtendedLifetime(session) {}
    }

    @Test func `a body whose plugin fails open is delivered when a piece is never settled`()
        async throws
    {
        let streams = try Streams(["watch": "hold"], pieceDeadline: 0.05, failsOpen: true)
        let server = try LoopbackServer.start()
        let session = streams.session()
        let url = "\(server.baseURL)/bytes/200000"
        for body in 1...2 {
            let response = await session.request(url).serializingData().response
            #expect(response.error == nil && response.value?.count == 200_000)
            // Of each body the first piece: with the others it would wait for the deadline each time.
            #expect(try streams.count("pending") == body)
            #expect(try streams.count("bodies") == body)
        }
        try await streams.reach(2, "broken")
        #expect(try streams.count("whole") == 0)
        let lines = streams.recorder.lines.values.filter { $0.level == .warning }
        #expect(lines.count == 2)
        for line in lines {
            #expect(line.message.hasPrefix("stream_piece failed, and the request continues "))
            #expect(line.facts.map(\.value) == ["GET \(url)"])
        }
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true], [false, true])
    func `no byte reaches the program before the plugin has accepted its piece`(
        quick: Bool, isPlayed: Bool
    ) async throws {
        let streams = try Streams(["watch": "hold"], quick: quick, pieceDeadline: 0.05)
        let server = try LoopbackServer.start()
        let session =
            isPlayed
            ? Session(
                transport: StubTransport { _ in .text("0123456789") }, plugins: streams.host)
            : streams.session()
        let received = Recorder<Data>()
        let request = session.streamRequest("\(server.baseURL)/bytes/10")
        let error = await withCheckedContinuation { continuation in
            request.responseStream { (stream: DataStreamRequest.Stream<Data, Never>) in
                switch stream.event {
                case .stream(.success(let data)): received.record(data)
                case .complete(let completion): continuation.resume(returning: completion.error)
                }
            }
        }
        #expect(pluginError(error)?.hook == .streamPiece)
        #expect(received.values.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a shutdown fails a pending piece and completes`() async throws {
        let streams = try Streams(["watch": "hold"])
        let server = try LoopbackServer.start()
        let session = streams.session()
        async let response = session.request("\(server.baseURL)/bytes/10").serializingData()
            .response
        try await streams.reach(1, "pending")
        #expect(await streams.host.shutDown() == [])
        #expect(pluginError(await response.error)?.kind == .closed)
        withExtendedLifetime(session) {}
    }

    @Test func `a lost connection ends the stream as broken`() async throws {
        let streams = try Streams(["watch": "count"])
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"))
        let session = streams.session()
        let response = await session.request(server.baseURL).serializingData().response
        #expect(response.error != nil)
        try await streams.reach(1, "broken")
        #expect(try streams.count("seen") == 5)
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin also sees the body of a stub`() async throws {
        let streams = try Streams(["watch": "later"])
        let stub = StubTransport { _ in .text("0123456789") }
        let session = Session(transport: stub, plugins: streams.host)
        let response = await session.request("http://test.example/").serializingString().response
        #expect(response.value == "0123456789")
        try await streams.reach(1, "whole")
        #expect(try streams.count("seen") == 10)
        withExtendedLifetime(session) {}
    }

    @Test func `requests with a body plugin are not coalesced`() async throws {
        let streams = try Streams(["watch": "count"])
        let stub = StubTransport { _ in .silence }
        var configuration = SessionConfiguration()
        configuration.coalescesRequests = true
        let session = Session(
            transport: stub, configuration: configuration, plugins: streams.host)
        let requests = (0..<2).map { _ in session.request("http://test.example/").resume() }
        while stub.requests.count < 2, !Task.isCancelled { await Task.yield() }
        for request in requests { request.cancel() }
        #expect(stub.requests.count == 2)
        withExtendedLifetime(session) {}
    }

    // MARK: Making

    @Test(arguments: ["", "later"], ["", "20000"])
    func `a plugin makes a request body while it is sent`(how: String, length: String) async throws
    {
        for quick in [false, true] {
            let streams = try Streams(
                ["send": "20", "how": how, "length": length], quick: quick)
            let server = try LoopbackServer.start()
            let session = streams.session()
            let response = await session.request("\(server.baseURL)/post", method: .post)
                .serializingString().response
            let answer = try #require(response.value)
            #expect(answer.contains(String(repeating: "p", count: 20_000)))
            #expect(!answer.contains(String(repeating: "p", count: 20_001)))
            #expect(answer.contains(#""Content-Length""#) == !length.isEmpty)
            try await streams.reach(1, "whole")
            #expect(try streams.count("rounds") == 1)
            withExtendedLifetime(session) {}
        }
    }

    @Test(arguments: [false, true])
    func `the time limit of a body that a plugin does not end names the plugin and the hook`(
        quick: Bool
    ) async throws {
        let streams = try Streams(["send": "2000000000"], quick: quick)
        let server = try ScriptedServer.start(.requestHead, .stall)
        var configuration = TransportConfiguration()
        configuration.timeoutIntervalForResource = 1
        let session = streams.session(configuration)
        let response = await session.request(server.baseURL, method: .post)
            .serializingData().response
        let error = try #require(response.error?.underlyingError as? TransferError)
        #expect(error.code == .timedOut && error.stage == .sending)
        #expect(
            error.reason.contains("plugin \(streams.id), which makes the body (stream_make)"),
            "\(error.reason)")
        withExtendedLifetime(session) {}
    }

    @Test func `a body of no bytes is sent without a piece, and its stream is complete`()
        async throws
    {
        let streams = try Streams(["send": "20", "length": "0"])
        let server = try LoopbackServer.start()
        let session = streams.session()
        let response = await session.request("\(server.baseURL)/post", method: .post)
            .serializingString().response
        #expect(response.value?.contains(#""Content-Length":"0""#) == true, "\(response)")
        try await streams.reach(1, "whole")
        #expect(try streams.count("rounds") == 0 && streams.count("broken") == 0)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["", "later"])
    func `a request body is made again when a redirect needs it`(how: String) async throws {
        let streams = try Streams(["send": "20", "how": how])
        let server = try LoopbackServer.start()
        let session = streams.session()
        let response = await session.request(
            "\(server.baseURL)/redirect-to?url=/post&status_code=307", method: .post
        ).serializingString().response
        #expect(response.value?.contains(String(repeating: "p", count: 20_000)) == true)
        #expect(try streams.count("rounds") == 2)
        withExtendedLifetime(session) {}
    }

    @Test func `a body that cannot be made fails the request with the plugin's message`()
        async throws
    {
        let streams = try Streams(["send": "20", "how": "fail"])
        let server = try LoopbackServer.start()
        let session = streams.session()
        let response = await session.request("\(server.baseURL)/post", method: .post)
            .serializingString().response
        let error = try #require(pluginError(response.error))
        #expect(error.hook == .streamMake && error.message == "this body is refused")
        try await streams.reach(1, "broken")
        withExtendedLifetime(session) {}
    }

    @Test(
        arguments: [
            ("19500", "its body has more than the 19500 bytes that it declared"),
            // Only the next piece shows it.
            ("19000", "its body has more than the 19000 bytes that it declared"),
            ("20500", "its body has 20000 of the 20500 bytes that it declared"),
        ], ["", "later"])
    func `a body with another length than declared fails the request`(
        length: (declared: String, fact: String), how: String
    ) async throws {
        let streams = try Streams(["send": "20", "length": length.declared, "how": how])
        let server = try LoopbackServer.start()
        let session = streams.session()
        let response = await session.request("\(server.baseURL)/post", method: .post)
            .serializingString().response
        let error = try #require(response.error.map { "\($0)" })
        #expect(error.contains(length.fact), "\(error)")
        let noted = streams.recorder.misbehaviours.values
        #expect(noted.map(\.kind) == [.forbiddenValue])
        #expect(noted.map(\.fact) == ["stream_make: \(length.fact)"])
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["20500", "9223372036854775807"])
    func `a body that ends before its declared length fails a stubbed request`(
        length: String
    ) async throws {
        let streams = try Streams(["send": "20", "length": length])
        let session = Session(
            transport: StubTransport { _ in .text("x") }, plugins: streams.host)
        let response = await session.request("http://test.example/", method: .post)
            .serializingString().response
        let error = try #require(response.error.map { "\($0)" })
        #expect(error.contains("its body has 20000 of the \(length) bytes"), "\(error)")
        withExtendedLifetime(session) {}
    }

    @Test func `a response before the end of the request body cancels the pending piece`()
        async throws
    {
        let streams = try Streams(["send": "20", "how": "hold"])
        let isPending = try Gate()
        let server = try ScriptedServer.start(
            .requestHead, .wait(isPending), .respond("413 Content Too Large", body: "no"))
        let session = streams.session()
        async let answer = session.request(server.baseURL, method: .post).serializingString()
            .response
        try await streams.reach(1, "pending")
        isPending.open()
        let response = await answer
        #expect(response.response?.statusCode == 413)
        try await streams.reach(1, "cancelled")
        try await streams.reach(1, "broken")
        withExtendedLifetime(session) {}
    }

    @Test func `a rewound body is asked for again after the pending piece is cancelled`()
        async throws
    {
        let streams = try Streams(["send": "20", "how": "hold"])
        let isPending = try Gate()
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .requestHead, .wait(isPending),
                    .respond("307 Temporary Redirect", headers: ["Location: /next"]),
                ] : [.requestHead, .stall]
        }
        let session = streams.session()
        let request = session.request(server.baseURL, method: .post)
        async let response = request.serializingString().response
        try await streams.reach(1, "pending")
        #expect(try streams.count("cancelled") == 0)
        isPending.open()
        try await streams.reach(2, "pending")
        try await streams.reach(1, "cancelled")
        #expect(try streams.count("broken") == 0)
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        try await streams.reach(2, "cancelled")
        try await streams.reach(1, "broken")
        #expect(streams.recorder.misbehaviours.values.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a cancelled request does not wait for a pending piece`() async throws {
        let streams = try Streams(["send": "20", "how": "hold"])
        let server = try LoopbackServer.start()
        let session = streams.session()
        let request = session.request("\(server.baseURL)/post", method: .post)
        async let response = request.serializingString().response
        try await streams.reach(1, "pending")
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        try await streams.reach(1, "broken")
        #expect(await streams.host.shutDown() == [])
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `the stream of a body whose end is not settled in time is not complete`(
        failsOpen: Bool
    ) async throws {
        let streams = try Streams(
            ["watch": "hold"], pieceDeadline: 0.05, failsOpen: failsOpen)
        let session = Session(
            transport: StubTransport { _ in .status(200) }, plugins: streams.host)
        let response = await session.request("http://a.test/").serializingUnserialized().response
        #expect((response.error == nil) == failsOpen)
        try await streams.reach(1, "broken")
        #expect(try streams.count("whole") == 0)
        withExtendedLifetime(session) {}
    }
}
