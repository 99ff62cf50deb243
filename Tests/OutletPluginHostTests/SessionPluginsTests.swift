import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// A session with the `plugins` argument: the hooks are called for every kind of request.
@Suite(.timeLimit(.minutes(patience))) struct SessionPluginsTests {
    private let recorder = ActivityRecorder()
    private let address = "http://test.example/page"

    private func session(_ transport: StubTransport) throws -> Session {
        let folder = try PluginFolder(faulty: "Obliging", samples: ["librequest-id.so"])
        return Session(transport: transport, plugins: try folder.load(observer: recorder))
    }

    private var hooks: [String] {
        recorder.activities.values.map { "\($0.plugin) \($0.hook.rawValue)" }
            .filter { !$0.hasSuffix("create") }
    }

    private func expectAllHooks(_ transport: StubTransport) {
        let sent = transport.requests.first
        #expect(sent?.headers["X-Request-ID"] != nil, "\(hooks)")
        for hook in ["prepare", "did_receive", "process"] {
            #expect(
                hooks.filter { $0 == "faulty.obliging \(hook)" }.count == 1, "\(hook): \(hooks)")
        }
    }

    @Test func `a data request calls all hooks`() async throws {
        let transport = StubTransport(answers: [.text("x")])
        let session = try session(transport)
        #expect(try await session.request(address).serializingString().value == "x")
        expectAllHooks(transport)
    }

    @Test func `an upload calls all hooks`() async throws {
        let transport = StubTransport(answers: [.text("x")])
        let session = try session(transport)
        let request = session.upload(Data("body".utf8), to: address)
        #expect(try await request.serializingString().value == "x")
        expectAllHooks(transport)
    }

    @Test func `a download calls all hooks`() async throws {
        let transport = StubTransport(answers: [.text("x")])
        let session = try session(transport)
        let response = await session.download(address).serializingString().response
        #expect(response.value == "x")
        response.removeFiles()
        expectAllHooks(transport)
    }

    @Test func `a stream calls all hooks`() async throws {
        let transport = StubTransport(answers: [.text("x")])
        let session = try session(transport)
        let pieces = Recorder<String?>()
        session.streamRequest(address).responseStreamString { stream in
            if case .stream(.success(let text)) = stream.event { pieces.record(text) }
            if case .complete = stream.event { pieces.record(nil) }
        }
        #expect(try await pieces.values(2) == ["x", nil])
        expectAllHooks(transport)
    }

    @Test func `a WebSocket handshake calls all hooks`() async throws {
        let transport = StubTransport { _ in .webSocket([.close(.normalClosure)]) }
        let session = try session(transport)
        let ends = Recorder<SessionError?>()
        session.webSocketRequest(to: "ws://test.example/").streamMessageEvents { event in
            if case .completed(let completion) = event.kind { ends.record(completion.error) }
        }
        #expect(try await ends.values(1) == [nil])
        expectAllHooks(transport)
        withExtendedLifetime(session) {}
    }

    @Test func `a stream receives the body with which a plugin replaces a failure`() async throws {
        let late = TransferError(code: .timedOut, reason: "no answer within 1 s")
        let session = try session(StubTransport(answers: [.failure(late)]))
        let pieces = Recorder<String>()
        session.streamRequest(address).responseStreamString { stream in
            if case .stream(.success(let text)) = stream.event { pieces.record(text) }
            if case .complete(let completion) = stream.event {
                pieces.record("\(completion.response?.statusCode ?? 0)")
            }
        }
        #expect(try await pieces.values(2) == ["from the cache", "299"])
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin that replaces the response of a download fails it`()
        async throws
    {
        let late = TransferError(code: .timedOut, reason: "no answer within 1 s")
        let session = try session(
            StubTransport { _ in StubAnswer.text("0123456789").failing(with: late, atByte: 4) })
        let response = await session.download(address).serializingData().response
        response.removeFiles()
        #expect(response.error?.underlyingError is PluginError)
        #expect("\(response.error.map { "\($0)" } ?? "")".contains("a download"))
        let headless = try self.session(StubTransport(answers: [.failure(late)]))
        let nothing = await headless.download(address).serializingData().response
        #expect(nothing.error?.underlyingError is PluginError)
    }

    @Test func `a plugin's response reaches data requests and downloads without the network`()
        async throws
    {
        let transport = StubTransport(answers: [])
        let session = try session(transport)
        let headers: HTTPHeaders = ["X-Answer": "given"]
        #expect(
            try await session.request(address, headers: headers).serializingString().value
                == "given")
        let file = await session.download(address, headers: headers).serializingString().response
        #expect(file.value == "given")
        file.removeFiles()
        #expect(transport.requests.isEmpty)
    }

    @Test func `a plugin's failure of a response fails the call and keeps the response`()
        async throws
    {
        let session = try session(StubTransport(answers: [.status(418)]))
        let response = await session.request(address).serializingData().response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.hook == .process && error?.message == "no coffee")
        #expect(response.response?.statusCode == 418)
    }

    @Test(arguments: ["adapt", "prepare", "will_send", "retry", "did_receive", "process"])
    func `a hanging hook blocks no queue of the session, and a cancel ends the call`(
        hook: String
    ) async throws {
        let host = try PluginFolder(faulty: "Hangs").load(
            configuration: ["faulty.hangs": #"{"hook": "\#(hook)"}"#])
        let session = Session(
            transport: StubTransport { _ in hook == "retry" ? .status(503) : .text("x") },
            plugins: host)
        let ended = Recorder<SessionError?>()
        let request = session.request(address).validate().response { ended.record($0.error) }
        while !PluginHost.activeCalls.contains(where: {
            $0.plugin == "faulty.hangs" && $0.hook.rawValue == hook
        }), !Task.isCancelled { await Task.yield() }
        let queues = [
            session.rootQueue, session.requestQueue, session.serializationQueue,
            session.callbackQueue,
        ]
        for queue in queues {
            await withCheckedContinuation { queue.async(execute: $0.resume) }
        }
        #expect(ended.values.isEmpty)
        request.cancel()
        #expect(try await ended.values(1)[0] != nil)
    }
}
