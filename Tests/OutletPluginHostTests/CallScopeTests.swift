import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// The memory that a plugin keeps for a call, and how long the host waits for its hooks.
@Suite(.timeLimit(.minutes(2))) struct CallScopeTests {
    private let address = "http://test.example/"

    /// Loads the fixture.
    ///
    /// - Parameters:
    ///   - at: The name of the hook that `how` applies to.
    ///   - how: "pend" returns `OUTLET_PENDING`, "block" blocks the thread, "settle" settles the
    ///     completion and then tries to change the request.
    ///   - quick: Whether to use the fixture's plugin with `OUTLET_F_NONBLOCKING`.
    ///   - answerDeadline: How long the host waits for a pending hook.
    private func host(
        at: String = "none", how: String = "", quick: Bool = false,
        answerDeadline: Duration = .seconds(60)
    ) throws -> PluginHost {
        let id = quick ? "faulty.keeps-quick" : "faulty.keeps"
        return try PluginFolder(faulty: "Keeps").load(
            configuration: [id: #"{"at": "\#(at)", "how": "\#(how)"}"#],
            answerDeadline: answerDeadline)
    }

    private func count(_ name: String, _ host: PluginHost, quick: Bool = false) throws -> Int64 {
        let value = try host.call("\(quick ? "faulty.keeps-quick" : "faulty.keeps").\(name)")
        guard case .int(let count) = value else { return -1 }
        return count
    }

    /// Waits until the plugin's counter `name` is at least `count`, and checks that it is equal.
    private func reach(
        _ count: Int64, _ name: String, _ host: PluginHost, quick: Bool = false
    ) async throws {
        while try self.count(name, host, quick: quick) < count, !Task.isCancelled {
            await Task.yield()
        }
        let reached = try self.count(name, host, quick: quick)
        #expect(reached == count, "\(name)")
    }

    @Test func `all hooks of a call share one memory, which request_done frees`() async throws {
        let host = try host()
        let stub = StubTransport(answers: [.status(503), .text("x")])
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).validate().serializingData().response
        #expect(response.response?.statusCode == 200)
        try await reach(1, "finished", host)
        #expect(try count("live", host) == 0)
        // Two attempts with adapt, prepare and will_send each; retry; did_receive and process.
        #expect(try count("hooks_seen", host) == 9)
        for _ in 0..<3 { _ = await session.request(address).serializingData().response }
        try await reach(4, "finished", host)
        #expect(try count("live", host) == 0)
        #expect(await host.shutDown() == [])
    }

    @Test func `a retry after a serialization failure belongs to the same call`()
        async throws
    {
        let host = try host()
        let stub = StubTransport(answers: [.text("no JSON"), .text("[1]")])
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingDecodable([Int].self).response
        #expect(response.value == [1])
        try await reach(1, "finished", host)
        // Two attempts with adapt, prepare, will_send, did_receive and process each, and a retry.
        #expect(try count("hooks_seen", host) == 11 && count("live", host) == 0)
    }

    @Test func `a kept HTTPRequest does not keep the session alive`() async throws {
        let host = try host()
        weak var transport: StubTransport?
        var kept: HTTPRequest?
        do {
            let stub = StubTransport { _ in .text("x") }
            transport = stub
            let session = Session(transport: stub, plugins: host)
            let response = await session.request(address).serializingString().response
            kept = stub.requests.first
            #expect(response.value == "x" && kept != nil)
            try await reach(1, "finished", host)
        }
        while transport != nil, !Task.isCancelled { await Task.yield() }
        withExtendedLifetime(kept) {}
    }

    @Test func `a shutdown right after a response still calls request_done`() async throws {
        for _ in 0..<20 {
            let recorder = ActivityRecorder()
            let host = try PluginFolder(faulty: "Keeps").load(
                configuration: ["faulty.keeps": #"{"at": "none"}"#], observer: recorder)
            let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
            _ = await session.request(address).serializingString().response
            #expect(await host.shutDown() == [])
            while !recorder.activities.values.contains(where: { $0.hook == .requestDone }),
                !Task.isCancelled
            {
                await Task.yield()
            }
        }
    }

    @Test func `quiesce gets the time that is left for the shutdown`() async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "Keeps").load(observer: recorder)
        #expect(await host.shutDown(deadline: .seconds(50)) == [])
        let lines = recorder.lines.values.filter { $0.plugin == "faulty.keeps" }
        let words = try #require(lines.first?.message.split(separator: " "))
        let rest = try #require(Int(words[0]))
        #expect(rest > 10_000 && rest <= 50_000)
    }

    @Test func `request_done is called for a call that fails before it is sent`() async throws {
        let host = try host(at: "prepare", how: "pend", answerDeadline: .milliseconds(50))
        let stub = StubTransport(answers: [.status(200)])
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingData().response
        #expect("\(String(describing: response.error))".contains("did not answer in time"))
        #expect(stub.requests.isEmpty)
        try await reach(1, "finished", host)
        #expect(try count("live", host) == 0)
    }

    @Test(arguments: ["adapt", "prepare", "process"])
    func `a hook may return pending and settle its completion later`(hook: String) async throws {
        let host = try host(at: hook, how: "pend")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let ended = Recorder<String?>()
        session.request(address).responseString { ended.record($0.value) }
        try await reach(1, "promised", host)
        #expect(ended.values.isEmpty)
        #expect(stub.requests.isEmpty == (hook != "process"))
        #expect(try count("release", host) == 0)
        #expect(try await ended.values(1)[0] == "x")
        try await reach(1, "finished", host)
        withExtendedLifetime(session) {}
    }

    @Test func `a hook of a nonblocking plugin may return pending too`() async throws {
        let host = try host(at: "prepare", how: "pend", quick: true)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let ended = Recorder<String?>()
        session.request(address).responseString { ended.record($0.value) }
        try await reach(1, "promised", host, quick: true)
        #expect(stub.requests.isEmpty && ended.values.isEmpty)
        #expect(try count("release", host, quick: true) == 0)
        #expect(try await ended.values(1)[0] == "x")
        try await reach(1, "finished", host, quick: true)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [("adapt", false), ("prepare", false), ("process", false), ("prepare", true)])
    func `a cancelled call cancels a pending hook at once and calls request_done`(
        hook: String, quick: Bool
    ) async throws {
        let host = try host(at: hook, how: "pend", quick: quick)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let ended = Recorder<SessionError?>()
        let request = session.request(address).response { ended.record($0.error) }
        try await reach(1, "promised", host, quick: quick)
        request.cancel()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        try await reach(1, "cancels", host, quick: quick)
        try await reach(1, "finished", host, quick: quick)
        #expect(try count("live", host, quick: quick) == 0)
        #expect(host.plugins.allSatisfy { $0.misbehaviour == [:] })
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["adapt", "prepare", "process"])
    func `a hook that blocks its thread fails the call at the deadline`(
        hook: String
    ) async throws {
        let host = try host(at: hook, how: "block", answerDeadline: .milliseconds(200))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect("\(String(describing: response.error))".contains("did not answer in time"))
        // The hook has not returned and still uses the call's memory.
        #expect(try count("finished", host) == 0)
        _ = try count("release", host)
        try await reach(1, "finished", host)
        #expect(try count("live", host) == 0)
    }

    @Test(arguments: ["will_send", "did_receive"])
    func `the host waits for an observing hook only until its deadline`(
        hook: String
    ) async throws {
        let host = try host(at: hook, how: "block", answerDeadline: .milliseconds(200))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect(response.value == "x")
        #expect(host.plugins.first?.misbehaviour == [.neverSettled: 1])
        #expect(try count("finished", host) == 0)
        _ = try count("release", host)
        try await reach(1, "finished", host)
    }

    @Test func `a change of the request after its completion was settled is refused`() async throws
    {
        let host = try host(at: "prepare", how: "settle")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        _ = await session.request(address).serializingString().response
        #expect(stub.requests.map { $0.headers["X-Late"] } == [nil])
        #expect(try count("late", host) == -2)
    }

    @Test func `all plugins together are limited to maximumRetries further attempts`() async throws
    {
        var options = PluginHost.Options()
        options.maximumRetries = 3
        let folder = try PluginFolder(faulty: "CrossedCompletions")
        let host = try PluginHost.load(directories: [folder.path], options: options)
        let stub = StubTransport { _ in .status(503) }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).validate().serializingData().response
        #expect(stub.requests.count == 4)
        #expect(
            "\(String(describing: response.error))".contains(
                "it asks for another attempt, but plugins may ask for at most 3"))
    }

    @Test func `a plugin without request_done cannot store memory for a call`() async throws {
        let host = try PluginFolder(faulty: "WrongHandles").load()
        // The fixture aborts the process if a call of the host returns a wrong status.
        let stub = StubTransport(answers: [.status(200)])
        _ = try await host.provider(over: stub).request(.page)
    }

    @Test func `request_done receives the request as the program made it`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            #include <stdio.h>
            static outlet_status adapt(outlet_instance *self, outlet_call call,
                                       outlet_request request, outlet_completion completion) {
                (void)call, (void)completion;
                return self->host->request_set_header(self->host, request, outlet_text("X-Own"),
                                                      outlet_text("1"));
            }
            static void done(outlet_instance *self, outlet_call call, outlet_request request) {
                outlet_request_snapshot seen = {.struct_size = sizeof seen};
                char text[200];
                self->host->request_snapshot(self->host, request, &seen);
                snprintf(text, sizeof text, "%.*s %.*s %d", (int)seen.method.len,
                         (const char *)seen.method.ptr, (int)seen.url.len,
                         (const char *)seen.url.ptr, (int)seen.field_count);
                self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
            }
            static const outlet_hooks table = {
                .struct_size = sizeof(outlet_hooks), .adapt = adapt, .request_done = done};
            static const outlet_hooks *hooks(outlet_instance *self) { (void)self; return &table; }
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("test.done"), .flags = OUTLET_F_CONCURRENT, .hooks = hooks};
            OUTLET_MODULE(descriptor)
            """, as: "done.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let request = HTTPRequest(
            url: URL(string: "http://a.test/x"), method: .put, headers: ["X-Asked": "1"])
        #expect(await session.request(request).serializingString().response.value == "x")
        await host.shutDown()
        #expect(recorder.lines.values.map(\.message) == ["PUT http://a.test/x 1"])
    }
}
