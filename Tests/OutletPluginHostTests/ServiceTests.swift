import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletPluginHost
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// The services of the host for plugins: their own requests, and timers.
@Suite(.timeLimit(.minutes(2))) struct ServiceTests {
    private func host(
        token: String = "", asksLate: Bool = false, observer: ActivityRecorder? = nil
    ) throws -> PluginHost {
        let late = asksLate ? #", "late": "yes""# : ""
        return try PluginFolder(faulty: "Services").load(
            configuration: ["faulty.services": #"{"token": "\#(token)"\#(late)}"#],
            observer: observer)
    }

    /// A response that never arrives.
    private static var never: StubAnswer {
        var answer = StubAnswer.text("x")
        answer.delay = nil
        return answer
    }

    private func count(_ name: String, _ host: PluginHost) throws -> Int64 {
        guard case .int(let count) = try host.call("faulty.services.\(name)") else { return -1 }
        return count
    }

    /// Waits until the plugin's counter `name` is at least `count`.
    private func reach(_ count: Int64, _ name: String, _ host: PluginHost) async throws {
        while try self.count(name, host) < count, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a plugin that needs an unavailable service is refused`() throws {
        let folder = try PluginFolder(faulty: "Services")
        let host = try folder.load()
        #expect(host.plugins.map(\.id) == ["faulty.services"])
        let reasons = host.failures.map(\.description)
        #expect(reasons.count == 2)
        #expect(reasons.first?.contains("it needs outlet.http/9, which this host") == true)
        #expect(reasons.last?.contains("it needs outlet.http/1, and asks for no server") == true)
        let files = try PluginInspection([.directory(folder.path)]).files
        let objections = try files.flatMap { file in
            try file.askCode().plugins.flatMap { file.objections(to: $0).map(\.description) }
        }
        #expect(objections.sorted() == reasons.sorted())
    }

    @Test func `a plugin's own request for a token does not call the plugin's hooks`()
        async throws
    {
        let host = try host(token: "http://token.example/")
        let stub = StubTransport { job in
            job.request.url?.host() == "token.example" ? .text("t-1") : .text("page")
        }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request("http://test.example/").serializingString().response
        #expect(response.value == "page")
        #expect(stub.requests.map { $0.url?.host() } == ["token.example", "test.example"])
        #expect(stub.requests.last?.headers["X-Token"] == "t-1")
        #expect(try count("adapted", host) == 1)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `a plugin's request inside a call uses the session of the call`(
        asksLate: Bool
    ) async throws {
        let host = try host(token: "http://token.example/", asksLate: asksLate)
        let other = StubTransport { _ in .text("other") }
        let stub = StubTransport { _ in .text("t-2") }
        let first = Session(transport: other, plugins: host)
        let second = Session(transport: stub, plugins: host)
        _ = await second.request("http://test.example/").serializingString().response
        #expect(other.requests.isEmpty && stub.requests.count == 2)
        // A request outside of a call uses the first session.
        #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
        try await reach(2, "done", host)
        #expect(other.requests.count == 1)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a plugin's request in request_done uses the session of the call`() async throws {
        let host = try PluginFolder(faulty: "Services").load(
            configuration: ["faulty.services": #"{"report": "http://report.example/"}"#])
        let other = StubTransport { _ in .text("other") }
        let stub = StubTransport { _ in .text("own") }
        let first = Session(transport: other, plugins: host)
        let second = Session(transport: stub, plugins: host)
        _ = await second.request("http://test.example/").serializingString().response
        try await reach(1, "done", host)
        #expect(stub.requests.map { $0.url?.host() } == ["test.example", "report.example"])
        #expect(other.requests.isEmpty)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `without a session, or with an invalid URL, a plugin's request is refused`() throws {
        let host = try host()
        let fetch = { try host.call("faulty.services.fetch", [.text($0)]) }
        #expect(try fetch("http://a.example/") == .int(-6))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        #expect(try fetch("ftp://a.example/") == .int(-4))
        #expect(try fetch("/relative") == .int(-4))
        #expect(try fetch("http://a.example/\r\nX") == .int(-4))
        #expect(try count("done", host) == 0)
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin cannot send to a server without permission, also by redirect`()
        async throws
    {
        let recorder = ActivityRecorder()
        let host = try host(observer: recorder)
        let stub = StubTransport { job in
            job.request.url?.path() == "/out"
                ? .redirect(to: "http://elsewhere.test/") : .redirect(to: "http://b.example/out")
        }
        let session = Session(transport: stub, plugins: host)
        let fetch = { try host.call("faulty.services.fetch", [.text($0)]) }
        #expect(try fetch("http://user:secret@elsewhere.test/?key=1") == .int(-3))
        #expect(
            recorder.lines.values.map(\.message) == [
                "send was refused: no permission is for its server elsewhere.test:80"
            ])
        #expect(try fetch("http://a.example/") == .int(0))
        try await reach(1, "done", host)
        // The redirect to a permitted host was followed; the other was returned as the response.
        #expect(try host.call("faulty.services.last") == .text("302 "))
        #expect(stub.requests.map { $0.url?.host() } == ["a.example", "b.example"])
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["http://plain.test/", "http://a.example/"])
    func `HSTS does not change a plugin's request to a port without permission`(
        address: String
    ) async throws {
        let host = try host()
        let stub = StubTransport { job in
            job.request.url?.host() == "a.example"
                ? .redirect(to: "http://plain.test/") : .text("secret")
        }
        let hsts = HSTSStorage.memory
        var configuration = SessionConfiguration()
        configuration.hsts = hsts
        let session = Session(transport: stub, configuration: configuration, plugins: host)
        for isKnown in [false, true] {
            if isKnown {
                let end = Date(timeIntervalSinceNow: 3600)
                hsts.setPolicy(.init(host: "plain.test", expiresDate: end))
            }
            #expect(
                try host.call("faulty.services.fetch", [.text(address)]) == .int(0))
            try await reach(isKnown ? 2 : 1, "done", host)
            let last = try host.call("faulty.services.last")
            #expect(isKnown ? last != .text("200 secret") : last == .text("200 secret"), "\(last)")
        }
        let urls = stub.requests.compactMap { $0.url?.absoluteString }
        #expect(!urls.contains { $0.hasPrefix("https:") }, "\(urls)")
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [
        ("CONNECT", "X", "", "only the transport sends CONNECT"),
        ("POST", "Content-Length", "x", "its field 1, 'Content-Length', the transport sets"),
        ("POST", "content-length", "", "its field 1, 'content-length', the transport sets"),
        ("POST", "Transfer-Encoding", "x", "its field 1, 'Transfer-Encoding', the transport sets"),
        ("POST", "a b", "x", "the name of its field 1 is not valid in HTTP, or too long"),
        ("a b", "X", "", "the method is no token"),
        ("GET", "X", "x", "it has a body, which GET must not have"),
        ("", "X", "x", "it has a body, which GET must not have"),
        ("HEAD", "X", "x", "it has a body, which HEAD must not have"),
    ])
    func `a plugin's request that cannot be sent is refused at the call, and a line names the part`(
        method: String, name: String, body: String, reason: String
    ) async throws {
        let recorder = ActivityRecorder()
        let host = try host(observer: recorder)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        func send(_ texts: String...) throws -> PluginValue {
            try host.call("faulty.services.send_with", texts.map { .text($0) })
        }
        #expect(try send(method, name, body) == .int(-4))
        #expect(recorder.lines.values.map(\.message) == ["send was refused: \(reason)"])
        #expect(try send("POST", "X", "x") == .int(0))
        try await reach(1, "done", host)
        #expect(stub.requests.map(\.method) == [.post])
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin's request is never coalesced with others`() async throws {
        let host = try host()
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
        try await reach(1, "done", host)
        #expect(stub.requests.map(\.context.needsOwnTransfer) == [true])
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin's request that follows no redirects gets the redirect as response`()
        async throws
    {
        let host = try host()
        let stub = StubTransport { _ in .redirect(to: "http://b.example/out") }
        let session = Session(transport: stub, plugins: host)
        let fetch = { try host.call("faulty.services.fetch", [.text($0)]) }
        #expect(try fetch("!http://a.example/") == .int(0))
        try await reach(1, "done", host)
        #expect(try host.call("faulty.services.last") == .text("302 "))
        #expect(stub.requests.count == 1)
        // With an unknown flag, no request is sent.
        #expect(try fetch("?http://a.example/") == .int(-9))
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin receives the error of its request`() async throws {
        let host = try host()
        let stub = StubTransport(answers: [
            .failure(TransferError(code: .cannotConnectToHost, reason: "refused"))
        ])
        let session = Session(transport: stub, plugins: host)
        #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
        try await reach(1, "done", host)
        #expect(try host.call("faulty.services.last") == .text("0 cannotConnectToHost"))
        withExtendedLifetime(session) {}
    }

    @Test func `a request that a plugin cancels completes once, as cancelled`() async throws {
        let host = try host()
        let stub = StubTransport { _ in Self.never }
        let session = Session(transport: stub, plugins: host)
        #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
        #expect(try host.call("faulty.services.give_up") == .int(0))
        try await reach(1, "done", host)
        #expect(try host.call("faulty.services.last") == .text("0 cancelled"))
        #expect(try host.call("faulty.services.give_up") == .int(-2))
        #expect(host.plugins.first?.misbehaviour == [:])
        #expect(await host.shutDown() == [])
        withExtendedLifetime(session) {}
    }

    @Test func `a shutdown completes a plugin's requests and timers before destroy`() async throws {
        let recorder = ActivityRecorder()
        let host = try host(observer: recorder)
        let stub = StubTransport { _ in Self.never }
        let session = Session(transport: stub, plugins: host)
        for _ in 0..<3 {
            #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
            #expect(
                try host.call("faulty.services.start", [.int(3_600_000_000_000)]) == .int(0))
        }
        #expect(await host.shutDown() == [])
        #expect(recorder.lines.values.map(\.message) == ["3 done, 0 fired, 3 cancelled"])
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin may have at most 64 requests and 1024 timers at the same time`()
        async throws
    {
        let host = try host()
        let stub = StubTransport { _ in Self.never }
        let session = Session(transport: stub, plugins: host)
        for _ in 0..<64 {
            #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
        }
        #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(-6))
        #expect(try host.call("faulty.services.give_up") == .int(0))
        try await reach(1, "done", host)
        #expect(try host.call("faulty.services.fetch", [.text("http://a.example/")]) == .int(0))
        for _ in 0..<1024 {
            #expect(try host.call("faulty.services.start", [.int(3_600_000_000_000)]) == .int(0))
        }
        #expect(try host.call("faulty.services.start", [.int(1)]) == .int(-6))
        #expect(await host.shutDown() == [])
        withExtendedLifetime(session) {}
    }

    @Test func `timers whose end is still to be reported count against the limit`() async throws {
        let host = try host()
        guard case .int(let started) = try host.call("faulty.services.churn", [.int(20_000)]) else {
            throw Missing()
        }
        // A thread that is about to report an end does not count any more.
        #expect(started >= 1024 && started < 2000)
        try await reach(started, "cancelled", host)
        #expect(try host.call("faulty.services.start", [.int(0)]) == .int(0))
        #expect(await host.shutDown() == [])
    }

    private struct Missing: Error {}

    @Test func `a timer fires once, or is cancelled once`() async throws {
        let host = try host()
        #expect(try host.call("faulty.services.start", [.int(0)]) == .int(0))
        try await reach(1, "fired", host)
        #expect(try host.call("faulty.services.stop") == .int(-2))
        #expect(try host.call("faulty.services.start", [.int(3_600_000_000_000)]) == .int(0))
        #expect(try host.call("faulty.services.stop") == .int(0))
        try await reach(1, "cancelled", host)
        #expect(try count("fired", host) == 1)
        #expect(await host.shutDown() == [])
    }

    /// Sends a request from `adapt`, and a second one when that is done, with the call of that
    /// function.
    private static let asksTwice = """
        #include <stdlib.h>
        struct waiting { outlet_completion completion; int isSecond; };
        static outlet_status send_one(outlet_instance *, outlet_call, struct waiting *);
        static void answered(outlet_instance *self, outlet_call call, outlet_response response,
                             void *data) {
            struct waiting *waiting = data;
            (void)response;
            if (waiting->isSecond++ == 0 && send_one(self, call, waiting) == OUTLET_OK) return;
            self->host->done(self->host, waiting->completion, OUTLET_OK, outlet_text(""),
                             outlet_text(""));
            free(waiting);
        }
        static outlet_status send_one(outlet_instance *self, outlet_call call,
                                      struct waiting *waiting) {
            const outlet_http_request asked = {.struct_size = sizeof asked,
                                               .url = outlet_text("http://own.test/" NAME)};
            const void *table = NULL;
            outlet_exchange exchange;
            self->host->extension(self->host, outlet_text(OUTLET_HTTP_1), &table);
            const outlet_http *http = table;
            return http == NULL ? OUTLET_E_FAILED
                                : http->send(self->host, call, &asked, answered, waiting, &exchange);
        }
        static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                                   outlet_completion completion) {
            struct waiting *waiting = calloc(1, sizeof *waiting);
            (void)request;
            waiting->completion = completion;
            outlet_status status = send_one(self, call, waiting);
            if (status == OUTLET_OK) return OUTLET_PENDING;
            free(waiting);
            return status;
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .adapt = adapt};
        static const outlet_hooks *hooks(outlet_instance *self) { (void)self; return &table; }
        static const outlet_view needed[] = {OUTLET_TEXT("outlet.http/1")};
        static const outlet_view permissions[] = {OUTLET_TEXT("net:own.test")};
        static const outlet_descriptor descriptor = {
            DESCRIPTOR("test." NAME), .flags = OUTLET_F_CONCURRENT, .hooks = hooks,
            .permissions = permissions, .permission_count = 1,
            .required_services = needed, .required_service_count = 1};
        OUTLET_MODULE(descriptor)
        """

    @Test func `plugins whose requests lead to further ones do not call each other for ever`()
        async throws
    {
        let folder = try PluginFolder()
        for name in ["a", "b"] {
            try await folder.compile(
                "#define NAME \"\(name)\"\n\(Self.asksTwice)", as: "\(name).so")
        }
        let host = try folder.load()
        #expect(host.plugins.count == 2)
        let other = Session(transport: StubTransport { _ in .text("other") }, plugins: host)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request("http://test.example/").serializingString().response
        #expect(response.value == "x")
        let paths = stub.requests.map { $0.url?.path() ?? "" }
        // Each plugin sends two requests for that of the program, and two for each of the other's.
        #expect(paths.filter { $0 == "/a" }.count == 6 && paths.filter { $0 == "/b" }.count == 6)
        #expect(paths.count == 13)
        withExtendedLifetime((other, session)) {}
    }
}
