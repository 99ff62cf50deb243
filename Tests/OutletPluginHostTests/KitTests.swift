import FoundationEssentials
import Glibc
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct KitTests {
    private let recorder = ActivityRecorder()

    private func load(
        _ configuration: String = "{}", observer: (any PluginObserver)? = nil
    ) throws -> PluginHost {
        try PluginFolder(samples: ["libKitFixture.so"])
            .load(configuration: ["test.kit": configuration], observer: observer ?? recorder)
    }

    /// Waits until the plugin has logged a message.
    private func logged(_ message: String) async {
        while !recorder.lines.values.contains(where: { $0.message == message }), !Task.isCancelled {
            await Task.yield()
        }
    }

    private func sent(
        mode: String, _ answers: StubAnswer...
    ) async throws -> (Response, [HTTPRequest]) {
        let stub = StubTransport(answers: answers)
        let response = try await load().provider(over: stub).request(.mode(mode))
        return (response, stub.requests)
    }

    @Test func `the host reads the metadata of a Swift plugin`() throws {
        let plugin = try #require(try load().plugins.first)
        #expect(plugin.name == "Kit")
        #expect(plugin.vendor == "Tests")
        #expect(plugin.permissions == ["env:HOME", "net:token.example"])
        #expect(
            plugin.hooks == [
                .adapt, .prepare, .finalize, .willSend, .redirect, .retry, .didReceive, .process,
                .serialize, .events,
            ])
        #expect(plugin.isConcurrent && !plugin.isNonblocking && plugin.makesThreads)
        #expect(plugin.misbehaviour == [:])
    }

    @Test func `a plugin can adapt a request without suspending`() async throws {
        let (_, requests) = try await sent(mode: "now", .status(200))
        #expect(requests.first?.headers["X-Adapted"] == "at once")
    }

    @Test func `a plugin can adapt a request after suspending`() async throws {
        let (_, requests) = try await sent(mode: "later", .status(200))
        #expect(requests.first?.headers["X-Adapted"] == "later")
    }

    @Test func `a plugin changes every part of a request`() async throws {
        let (_, requests) = try await sent(mode: "post", .status(200))
        let request = try #require(requests.first)
        #expect(request.method == .post)
        #expect(request.url?.absoluteString == "https://other.example/new")
        #expect(request.httpBody == Data("body of POST".utf8))
        #expect(request.headers.values(for: "X-Many") == ["1", "2"])
        #expect(request.headers["X-Remove"] == nil)
        let line = try #require(recorder.lines.values.first { $0.message.hasPrefix("POST") })
        #expect(line.message.hasSuffix("] hello gold 12"))
        #expect(line.level == .info)
    }

    /// Sends a request with the fixture's mode in `X-Mode`, in a session with the plugin.
    private func response(
        mode: String, body: HTTPBody = .none, over stub: StubTransport
    ) async throws -> DataResponse<String, SessionError> {
        let session = Session(transport: stub, plugins: try load())
        var request = HTTPRequest(url: URL(string: "http://test.example/page"), method: .post)
        request.headers = ["X-Mode": mode]
        request.body = body
        let response = await session.request(request).serializingString().response
        withExtendedLifetime(session) {}
        return response
    }

    @Test func `a plugin signs the request on the wire`() async throws {
        let stub = StubTransport { _ in .text("x") }
        let response = try await response(mode: "sign", body: .data(Data("abc".utf8)), over: stub)
        #expect(response.value == "x")
        #expect(stub.requests.last?.headers["X-Signature"] == "test.example 3 294")
    }

    @Test(arguments: ["follow", "take", "refuse"])
    func `a plugin decides about a redirect`(mode: String) async throws {
        let stub = StubTransport { job in
            job.request.url?.path() == "/page" ? .redirect(307, to: "/next") : .text("there")
        }
        let response = try await response(mode: mode, over: stub)
        switch mode {
        case "take": #expect(response.response?.statusCode == 307)
        case "refuse":
            let error = response.error?.underlyingError as? PluginError
            #expect(error?.code == "not-allowed" && error?.message == "not there")
        default:
            #expect(response.value == "there")
            #expect(stub.requests.last?.headers["X-From"] == "307 http://test.example/page")
        }
        #expect(stub.requests.count == (mode == "follow" ? 2 : 1))
    }

    @Test func `a plugin's own request does not call the plugin's hooks`() async throws {
        let stub = StubTransport { job in
            job.request.url?.host() == "token.example"
                ? .text(String(decoding: job.request.httpBody ?? Data(), as: UTF8.self))
                : .text("x")
        }
        let response = try await response(mode: "fetch", over: stub)
        #expect(response.value == "x")
        #expect(
            stub.requests.last?.headers["X-Adapted"] == "200 text/plain; charset=utf-8 who")
        #expect(stub.requests.first?.headers["X-Ask"] == "1")
        #expect(stub.requests.first?.headers["X-Many"] == nil)
    }

    @Test func `a task that outlives its hook sends requests of its own`() async throws {
        let stub = StubTransport { _ in .text("x") }
        let host = try load()
        let session = Session(transport: stub, plugins: host)
        let request = HTTPRequest(
            url: URL(string: "http://test.example/"), headers: ["X-Mode": "background"])
        #expect(await session.request(request).serializingString().response.value == "x")
        await logged("background 200")
        #expect(host.plugins.first?.misbehaviour == [:])
        withExtendedLifetime(session) {}
    }

    @Test func `a cancel before the first suspension of a hook cancels its task`() async throws {
        let observer = LineWatcher()
        let host = try load(observer: observer)
        let session = Session(
            transport: StubTransport(answers: [.status(200)]), plugins: host)
        let request = session.request(
            HTTPRequest(
                url: URL(string: "http://test.example/"), headers: ["X-Mode": "hang-logged"]),
            shouldAutomaticallyResume: false)
        observer.begin { line in
            guard line.message == "hangs" else { return }
            // On the hook's thread, which goes on when the plugin's `cancel` has returned.
            request.cancel()
            while host.plugins.first?.status.hooks["cancel"]?.calls != 1 { sched_yield() }
        }
        request.resume()
        let error = await request.serializingString().response.error
        #expect(error?.isExplicitlyCancelledError == true)
        while !observer.messages.values.contains("was cancelled"), !Task.isCancelled {
            await Task.yield()
        }
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin receives the error of its own request`() async throws {
        let stub = StubTransport { _ in
            .failure(TransferError(code: .cannotFindHost, reason: "no such host"))
        }
        let error = try await response(mode: "fetch", over: stub).error?.underlyingError
        #expect((error as? PluginError)?.code == "cannot-find-host")
        #expect((error as? PluginError)?.message.contains("no such host") == true)
    }

    @Test func `a plugin serializes a response`() async throws {
        let serializer = try #require(try load().serializer("test.kit"))
        let session = Session(transport: StubTransport(answers: [.text("x"), .status(204)]))
        let value = await session.request("http://test.example/")
            .serializingResponse(using: serializer).response.value
        #expect(
            value == PluginSerialized(type: "x.kit", data: Data("http://test.example/ x".utf8)))
        let error = await session.request("http://test.example/")
            .serializingResponse(using: serializer).response.error
        #expect(error?.description.contains("serialize failed (empty): nothing") == true)
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin receives the end of requests`() async throws {
        let session = Session(
            transport: StubTransport { _ in .text("x") }, plugins: try load())
        _ = await session.request("http://test.example/").serializingString().response
        await logged("finished 200 after 1, 36")
        let ends = recorder.lines.values.filter { $0.message.hasPrefix("finished ") }
        #expect(ends.map(\.message) == ["finished 200 after 1, 36"])
        withExtendedLifetime(session) {}
    }

    @Test func `an error that a plugin throws fails the request`() async throws {
        let provider = try load().provider(over: StubTransport(answers: [.status(200)]))
        let error = await pluginError { try await provider.request(.mode("throw")) }
        #expect(error?.description == "plugin test.kit: adapt failed: no token in the vault")
    }

    @Test func `a request fails open after a plugin's error, but not after its refusal`()
        async throws
    {
        let folder = try PluginFolder(samples: ["libKitFixture.so"])
        var options = PluginHost.Options()
        options.settings["test.kit"] = PluginSettings()
        options.settings["test.kit"]?.failsOpen = true
        options.observer = recorder
        let host = try PluginHost.load(directories: [folder.path], options: options)
        let stub = StubTransport { _ in .status(200) }
        let provider = host.provider(over: stub)
        _ = try await provider.request(.mode("throw"))
        let line = try #require(recorder.lines.values.first { $0.level == .warning })
        #expect(
            line.message
                == "adapt failed, and the request continues without it: no token in the vault")
        #expect(line.facts.map(\.name) == ["request"])
        #expect(line.facts.first?.value.contains("test.example") == true)
        let error = await pluginError { try await provider.request(.mode("deny")) }
        #expect(error?.description == "plugin test.kit: adapt failed (not-listed): not on the list")
        #expect(error?.isRefusal == true && stub.requests.count == 1)
    }

    @Test func `a plugin replaces a response`() async throws {
        let (response, _) = try await sent(mode: "now", .text("abc", statusCode: 201))
        #expect(response.statusCode == 202)
        #expect(try response.mapString() == "cba")
        #expect(response.response?.headers["X-Turned"] == "round")
        #expect(recorder.lines.values.contains { $0.message == "201, 2 headers, 3 bytes" })
    }

    @Test(arguments: [(204, "nothing is not enough"), (205, "205 makes no sense")])
    func `a plugin fails a response`(status: Int, message: String) async throws {
        let provider = try load().provider(over: StubTransport(answers: [.status(status)]))
        let error = await pluginError { try await provider.request(.mode("now")) }
        #expect(error?.hook == .process)
        #expect(error?.message == message)
    }

    @Test func `a plugin retries after a delay, then fails with a reason`() async throws {
        let stub = StubTransport(answers: [.status(503)])
        let provider = try load().provider(over: stub)
        let error = await pluginError { try await provider.request(.mode("now")) }
        #expect(error?.message == "gave up after 3")
        #expect(stub.requests.count == 3)
        let retries = recorder.activities.values.filter { $0.hook == .retry }
        #expect(retries.map(\.effects) == [["retry in 0.001 s"], ["retry in 0.001 s"], []])
    }

    @Test func `a shutdown cancels the tasks of a Swift plugin, and waits for them`() async throws {
        let host = try load()
        let interceptor = try #require(host.interceptors.first)
        let session = Session(transport: StubTransport(answers: [.status(200)]))
        let answer = Once<Result<HTTPRequest, any Error>>()
        interceptor.adapt(
            HTTPRequest(url: URL(string: "http://test.example/"), headers: ["X-Mode": "hang"]),
            using: RequestAdapterState(requestID: UUID(), session: session)
        ) { answer.set($0) }
        #expect(await host.shutDown() == [])
        guard case .failure(let error as PluginError) = try await answer.value() else {
            Issue.record("the request went on")
            return
        }
        #expect(error.kind == .closed)
        #expect(host.plugins.first?.misbehaviour == [:])
    }

    @Test func `settings are decoded by key path and checked against the schema`() throws {
        let host = try load(#"{"greeting": {"text": "good day"}, "limit": 1.5, "strict": true}"#)
        #expect(try host.call("test.kit.greet", ["Ada"]) == "good day, Ada")
        #expect(recorder.lines.values.map(\.message) == ["outlet: limit 1.5, strict true"])
        let refused = try load(#"{"strict": "maybe"}"#)
        #expect(refused.failures.first?.description.contains("/strict") == true)
    }

    @Test func `a running plugin gets other settings, which are validated as those at its start`()
        throws
    {
        let host = try load(#"{"greeting": {"text": "good day"}}"#)
        let plugin = try #require(host.plugins.first)
        #expect(plugin.isReconfigurable)
        try plugin.reconfigure(#"{"greeting": {"text": "welcome"}}"#)
        #expect(try host.call("test.kit.greet", ["Ada"]) == "welcome, Ada")
        let invalid = #expect(throws: PluginLoadError.self) {
            try plugin.reconfigure(#"{"greeting": {"text": 7}}"#)
        }
        #expect(invalid?.description.contains("/greeting/text") == true)
        let undecodable = #expect(throws: PluginError.self) {
            try plugin.reconfigure(#"{"odd": "even"}"#)
        }
        #expect(undecodable?.message.hasPrefix("configuration: /odd: ") == true)
        let refused = #expect(throws: PluginError.self) {
            try plugin.reconfigure(#"{"greeting": {"text": ""}}"#)
        }
        #expect(refused?.code == "no-greeting" && refused?.message == "the greeting is empty")
        #expect(refused?.hook == .reconfigure)
        #expect(try host.call("test.kit.greet", ["Ada"]) == "welcome, Ada")
        // Nothing of the former settings is kept.
        try plugin.reconfigure("{}")
        #expect(try host.call("test.kit.greet", ["Ada"]) == "hello, Ada")
    }

    @Test func `a plugin knows the directory for its files`() throws {
        let data = try TemporaryDirectory()
        var options = PluginHost.Options()
        options.dataDirectory = data.path
        let folder = try PluginFolder(samples: ["libKitFixture.so"])
        let host = try PluginHost.load(directories: [folder.path], options: options)
        #expect(try host.call("test.kit.directory", [""]) == .text("\(data.path)/test.kit"))
        #expect(try load().call("test.kit.directory", [""]) == "none")
    }

    @Test func `an exported function fails with a reason`() throws {
        let host = try load()
        #expect(throws: PluginCallError.self) { try host.call("test.kit.greet", [""]) }
        #expect(try host.call("test.kit.half", [3]) == 1.5)
    }

    @Test func `a function of any signature is called with its arguments`() throws {
        let host = try load()
        #expect(try host.call("test.kit.reverse", [.bytes([1, 0, 255])]) == .bytes([255, 0, 1]))
        #expect(throws: PluginCallError.self) { try host.call("test.kit.reverse", [.bytes([])]) }
        let likes = PluginCallback { .bool($0[0] != "green") }
        #expect(try host.call("test.kit.liked", [.function(likes)]) == 2)
    }
}

/// Calls a closure for each log line, on the thread that writes it.
private final class LineWatcher: PluginObserver {
    let messages = Recorder<String>()
    private let closure = Lock<(@Sendable (PluginLogLine) -> Void)?>(nil)

    func begin(_ body: @escaping @Sendable (PluginLogLine) -> Void) {
        closure.withLock { $0 = body }
    }

    func pluginDidLog(_ line: PluginLogLine) {
        messages.record(line.message)
        closure.withLock { $0 }?(line)
    }
}
