import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletLayers
import OutletPluginHost
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Bodies of uploads, redirects and shared or stored responses, with plugins.
@Suite(.timeLimit(.minutes(patience))) struct TransferBodyTests {
    private let address = "http://test.example/"

    /// A plugin whose hook `name` runs `code`; `helpers` comes before it.
    private func plugin(
        _ name: String, _ parameters: String, _ code: String, helpers: String = "",
        flags: String = "0", mayConnect: Bool = true
    ) -> String {
        """
        #include <stdio.h>
        \(helpers)
        static outlet_status hook(outlet_instance *self, outlet_call call, \(parameters)) {
            const outlet_host *host = self->host;
            (void)host, (void)call, (void)request, (void)completion;
            \(code)
            return OUTLET_OK;
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .\(name) = hook};
        static const outlet_hooks *hooks(outlet_instance *self) {
            (void)self;
            return &table;
        }
        static const outlet_view permissions[] = {OUTLET_TEXT("net:127.0.0.1")};
        static const outlet_descriptor descriptor = {DESCRIPTOR("test.body"), .flags = \(flags),
                                                     .hooks = hooks,
                                                     .permissions = permissions,
                                                     .permission_count = \(mayConnect ? 1 : 0)};
        OUTLET_MODULE(descriptor)
        """
    }

    private let ofRequest = "outlet_request request, outlet_completion completion"
    private let ofRedirect =
        "outlet_request request, outlet_response response, outlet_request next, "
        + "outlet_completion completion"

    private func load(
        _ code: String, change: (inout PluginHost.Options) -> Void = { _ in }
    ) async throws -> PluginHost {
        let folder = try PluginFolder()
        try await folder.compile(code, as: "body.so")
        return try folder.load(change: change)
    }

    /// The code of a hook that reads the body of `target`, and sets its length and first byte as a
    /// field.
    private func reads(_ target: String) -> String {
        """
        uint8_t bytes[16];
        uint64_t count = 0;
        char text[64];
        outlet_request_snapshot head = {.struct_size = sizeof head};
        if (host->request_snapshot(host, \(target), &head) != OUTLET_OK) return OUTLET_E_FAILED;
        if (host->request_body_read(host, \(target), 0, bytes, sizeof bytes, &count) != OUTLET_OK) {
            return OUTLET_E_FAILED;
        }
        snprintf(text, sizeof text, "%d %.*s", (int)head.body_length, (int)count, (const char *)bytes);
        host->request_set_header(host, \(target), outlet_text("X-Body"), outlet_text(text));
        """
    }

    /// How a body is uploaded.
    enum Source: String, CaseIterable { case data, file, stream, form }

    private func upload(
        _ source: Source, through session: Session, _ directory: TemporaryDirectory
    ) throws -> UploadRequest {
        switch source {
        case .data: return session.upload(Data("first".utf8), to: address)
        case .file:
            return session.upload(
                URL(filePath: try directory.write("first", to: "file")), to: address)
        case .stream: return session.upload(Text("first"), to: address)
        case .form:
            return session.upload(
                multipartFormData: { $0.append(Data("first".utf8), withName: "a") }, to: address)
        }
    }

    @Test(arguments: Source.allCases, [true, false])
    func `a plugin sees the body of an upload, and what it replaces is sent`(
        source: Source, isQuick: Bool
    ) async throws {
        let host = try await load(
            plugin(
                "prepare", ofRequest,
                reads("request")
                    + "host->request_set_body(host, request, outlet_text(\"replaced\"));",
                flags: isQuick ? "OUTLET_F_NONBLOCKING" : "0"))
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let directory = try TemporaryDirectory()
        let request = try upload(source, through: session, directory)
        #expect(await request.serializingString().response.value == "x")
        let sent = try #require(stub.requests.first)
        #expect(sent.httpBody == Data("replaced".utf8))
        let seen = try #require(sent.headers["X-Body"])
        #expect(source == .form ? seen.contains("--") : seen == "5 first")
        withExtendedLifetime((session, directory)) {}
    }

    @Test func `an upload that plugins leave as it is has its own body in each attempt`()
        async throws
    {
        let host = try await load(plugin("prepare", ofRequest, reads("request")))
        let stub = StubTransport(answers: [.status(503), .text("x")])
        let session = Session(
            transport: stub, interceptor: RetryPolicy(exponentialBackoffScale: 0), plugins: host)
        let response = await session.upload(Text("first"), to: address, method: .put).validate()
            .serializingString().response
        #expect(response.value == "x")
        #expect(stub.requests.map { $0.headers["X-Body"] } == ["5 first", "5 first"])
        #expect(stub.bodies == [Data("first".utf8), Data("first".utf8)])
        withExtendedLifetime(session) {}
    }

    /// Where a plugin reads a body, whether that can go back, and whether calls have a scope anyway.
    struct Reading: CustomTestStringConvertible {
        let hook: String
        let mayRewind: Bool
        let hasScope: Bool

        static let all = ["adapt", "prepare", "finalize"].flatMap { hook in
            [(true, true), (true, false), (false, true), (false, false)].map {
                Reading(hook: hook, mayRewind: $0.0, hasScope: $0.1)
            }
        }

        var testDescription: String { "\(hook), rewinds: \(mayRewind), scope: \(hasScope)" }
    }

    @Test(arguments: Reading.all)
    func
        `an upload that a plugin has begun to read in a failed attempt is sent whole or not at all`(
            reading: Reading
        ) async throws
    {
        let code = """
            static int calls;
            uint8_t bytes[2];
            uint64_t count;
            if (calls++ > 0) return OUTLET_OK;
            host->request_body_read(host, request, 0, bytes, sizeof bytes, &count);
            return OUTLET_E_FAILED;
            """
        let host = try await load(
            plugin(reading.hook, ofRequest, code, mayConnect: reading.hasScope)
        ) {
            $0.settings["test.body", default: PluginSettings()].permissions = ["net:127.0.0.1"]
        }
        let stub = StubTransport { _ in .text("x") }
        let retrier = Retrier { request, _, _, answer in
            answer(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let session = Session(transport: stub, interceptor: retrier, plugins: host)
        let response = await session.upload(
            Text("first", mayRewind: reading.mayRewind), to: address, method: .put
        ).serializingString().response
        if reading.mayRewind {
            #expect(stub.bodies == [Data("first".utf8)])
            #expect(response.value == "x", "\(response)")
        } else {
            let error = response.error?.underlyingError as? PluginError
            #expect(error?.hook.rawValue == reading.hook, "\(response)")
            #expect(
                error?.message.hasPrefix("it read the body, which cannot be read again") == true)
            #expect(stub.requests.isEmpty)
        }
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [true, false])
    func `an upload that a plugin has read and answered needs its body no more`(hasScope: Bool)
        async throws
    {
        let code = """
            uint8_t bytes[2];
            uint64_t count;
            host->request_body_read(host, request, 0, bytes, sizeof bytes, &count);
            return host->request_answer(host, request, 200, NULL, 0, outlet_text("answer"));
            """
        let host = try await load(plugin("adapt", ofRequest, code, mayConnect: hasScope)) {
            $0.settings["test.body", default: PluginSettings()].permissions = ["net:127.0.0.1"]
        }
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.upload(
            Text("first", mayRewind: false), to: address, method: .put
        ).serializingString().response
        #expect(response.value == "answer", "\(response)")
        #expect(stub.requests.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `an upload keeps its body if an adapter after the plugin makes another request`()
        async throws
    {
        let host = try await load(plugin("adapt", ofRequest, reads("request")))
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let adapter = Adapter { request, _, completion in
            completion(.success(HTTPRequest(url: request.url, method: request.method)))
        }
        let response = await session.upload(Text("first"), to: address, interceptor: adapter)
            .serializingString().response
        #expect(response.value == "x" && stub.bodies == [Data("first".utf8)])
        withExtendedLifetime(session) {}
    }

    @Test func `a read far behind the end of a body that was sent finds nothing`() async throws {
        let host = try await load(
            plugin(
                "redirect", ofRedirect,
                """
                uint8_t bytes[16];
                uint64_t count = 1;
                (void)response;
                if (host->request_body_read(host, next, UINT64_MAX, bytes, sizeof bytes, &count) ||
                    count != 0) {
                    return OUTLET_E_FAILED;
                }
                """))
        // The server redirects before it has read the body.
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.requestHead, .respond("307 Temporary Redirect", headers: ["Location: /next"])]
                : [.request, .respond(body: "x")]
        }
        let session = Session(transport: CurlTransport(), plugins: host)
        let response = await session.upload(
            Text(String(repeating: "x", count: 1 << 20)), to: server.baseURL
        ).serializingString().response
        #expect(response.error?.underlyingError as? PluginError == nil, "\(response)")
        withExtendedLifetime(session) {}
    }

    @Test func `an upload whose body cannot be made fails with that error before its plugins`()
        async throws
    {
        let host = try await load(plugin("prepare", ofRequest, "return OUTLET_E_DENIED;"))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.upload(
            multipartFormData: {
                $0.append(URL(filePath: "/nonexistent/file"), withName: "a")
            }, to: address
        ).serializingString().response
        #expect(response.error?.isMultipartEncodingError == true, "\(response)")
        withExtendedLifetime(session) {}
    }

    @Test func `a redirect hook reads the body that is sent again`() async throws {
        let host = try await load(
            plugin("redirect", ofRedirect, "(void)response;" + reads("next")))
        let server = try LoopbackServer.start()
        let session = Session(transport: CurlTransport(), plugins: host)
        let response = await session.upload(
            Text("first"), to: "\(server.baseURL)/redirect-to?url=/post&status_code=307"
        ).serializingString().response
        let text = response.value ?? ""
        #expect(text.contains(#""data":"first""#), "\(text)")
        #expect(text.contains(#""X-Body":"5 first""#), "\(text)")
        withExtendedLifetime(session) {}
    }

    // MARK: Streams

    /// The code before a hook that watches responses: pieces are refused if `refuses`, and the status
    /// of the stream's end is logged.
    private func watches(refuses: Bool) -> String {
        """
        static outlet_status piece(outlet_instance *self, outlet_call call,
                                   outlet_response response, uint64_t offset, outlet_view bytes,
                                   outlet_completion completion, void *data) {
            (void)self, (void)call, (void)response, (void)offset, (void)bytes, (void)completion;
            (void)data;
            return \(refuses ? "OUTLET_E_DENIED" : "OUTLET_OK");
        }
        static void ended(outlet_instance *self, outlet_call call, outlet_status status,
                          void *data) {
            char text[16];
            (void)data;
            snprintf(text, sizeof text, "%d", (int)status);
            self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
        }
        static outlet_status watch(const outlet_host *host, outlet_request request) {
            const void *table;
            if (host->extension(host, outlet_text(OUTLET_STREAM_1), &table) != OUTLET_OK) {
                return OUTLET_E_FAILED;
            }
            return ((const outlet_streams *)table)->watch_response(host, request, piece, ended,
                                                                   NULL);
        }
        """
    }

    @Test func `a body that a redirect hook watches is shown to the plugin`() async throws {
        let host = try await load(
            plugin(
                "redirect", ofRedirect, "(void)response; return watch(host, next);",
                helpers: watches(refuses: true)))
        let stub = StubTransport(answers: [.redirect(to: "/there"), .text("there")])
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect((response.error?.underlyingError as? PluginError)?.hook == .streamPiece)
        withExtendedLifetime(session) {}
    }

    @Test func `the body of a redirect is not that of a broken response after it`() async throws {
        let recorder = ActivityRecorder()
        let host = try await load(
            plugin(
                "prepare", ofRequest, "return watch(host, request);",
                helpers: watches(refuses: false))
        ) { $0.observer = recorder }
        let server = try ScriptedServer.start(
            .request, .respond("301 Moved", headers: ["Location: /there"], body: "moved"), .request,
            .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"))
        let session = Session(transport: CurlTransport(), plugins: host)
        // Not kept: the response keeps the request, which keeps the stream.
        let code = await session.request(server.baseURL).serializingString().response.error?
            .transferError?.code
        #expect(code == .networkConnectionLost)
        #expect(try await recorder.lines.values(1).map(\.message) == ["-8"])
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin's own request gets a connection while all others wait for the plugin`()
        async throws
    {
        let server = try LoopbackServer.start()
        let helpers = """
            #include <outlet/http.h>
            static void arrived(outlet_instance *self, outlet_call call, outlet_response response,
                                void *data) {
                outlet_completion completion = {(uint64_t)(uintptr_t)data};
                const outlet_view none = {NULL, 0};
                int32_t status = 0;
                (void)call;
                self->host->response_status(self->host, response, &status);
                self->host->done(self->host, completion,
                                 status == 200 ? OUTLET_OK : OUTLET_E_FAILED, none, none);
            }
            static outlet_status piece(outlet_instance *self, outlet_call call,
                                       outlet_response response, uint64_t offset, outlet_view bytes,
                                       outlet_completion completion, void *data) {
                const outlet_http_request asked = {
                    .struct_size = sizeof asked, .url = outlet_text("\(server.baseURL)/get")};
                const void *table;
                outlet_exchange exchange;
                (void)response, (void)offset, (void)bytes, (void)data;
                if (self->host->extension(self->host, outlet_text(OUTLET_HTTP_1), &table) ||
                    ((const outlet_http *)table)
                        ->send(self->host, call, &asked, arrived,
                               (void *)(uintptr_t)completion.id, &exchange)) {
                    return OUTLET_E_FAILED;
                }
                return OUTLET_PENDING;
            }
            """
        let host = try await load(
            plugin(
                "prepare", ofRequest,
                """
                const void *table;
                if (host->extension(host, outlet_text(OUTLET_STREAM_1), &table)) {
                    return OUTLET_E_FAILED;
                }
                return ((const outlet_streams *)table)
                    ->watch_response(host, request, piece, NULL, NULL);
                """, helpers: helpers)
        ) {
            $0.answerDeadline = .seconds(20)
            $0.settings["test.body", default: PluginSettings()].permissions = ["net:127.0.0.1"]
        }
        var configuration = TransportConfiguration()
        configuration.httpMaximumConnectionsPerHost = 1
        let session = Session(
            transport: CurlTransport(configuration: configuration), plugins: host)
        let response = await session.request("\(server.baseURL)/bytes/10").serializingData()
            .response
        #expect(response.value?.count == 10, "\(response)")
        withExtendedLifetime(session) {}
    }

    // MARK: Shared and stored responses

    /// Loads a plugin that finalizes requests, alone or beside one for which calls have a scope.
    private func finalizing(isAlone: Bool) async throws -> PluginHost {
        let folder = isAlone ? try PluginFolder() : try PluginFolder(faulty: "Keeps")
        try await folder.compile(
            plugin("finalize", ofRequest, "", mayConnect: false), as: "body.so")
        return try folder.load(
            configuration: isAlone ? [:] : ["faulty.keeps": #"{"at": "none"}"#])
    }

    @Test(arguments: [true, false])
    func `requests that a plugin finalizes share no transfer`(isAlone: Bool) async throws {
        let host = try await finalizing(isAlone: isAlone)
        var configuration = SessionConfiguration()
        configuration.coalescesRequests = true
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, configuration: configuration, plugins: host)
        let tasks = (0..<2).map { _ in session.request(address).serializingString() }
        for task in tasks { #expect(await task.response.value == "x") }
        #expect(stub.requests.count == 2)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [true, false])
    func `a stale response is validated before it is used if a plugin finalizes requests`(
        isAlone: Bool
    ) async throws {
        let host = try await finalizing(isAlone: isAlone)
        let fields: HTTPHeaders = [
            "Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\"",
        ]
        let stub = StubTransport(
            answers: ["old", "new"].map { StubAnswer(headers: fields, body: Data($0.utf8)) })
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let session = Session(transport: stub, configuration: configuration, plugins: host)
        #expect(await session.request(address).serializingString().response.value == "old")
        #expect(await session.request(address).serializingString().response.value == "new")
        withExtendedLifetime(session) {}
    }

    // MARK: Serializers

    /// Loads a plugin whose `serialize` logs its call, and returns when the file `go` exists.
    private func serializing(
        go: String, deadline: Duration, flags: String = "OUTLET_F_CONCURRENT",
        observer: any PluginObserver
    ) async throws -> PluginHost {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            #include <unistd.h>
            static outlet_status serialize(outlet_instance *self, outlet_call call,
                                           outlet_request request, outlet_response response,
                                           outlet_sink sink, outlet_view *type) {
                (void)request, (void)response, (void)sink;
                self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text("called"), NULL, 0);
                while (access(GO, F_OK) != 0) usleep(1000);
                *type = outlet_text("text");
                return OUTLET_OK;
            }
            static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                               .serialize = serialize};
            static const outlet_hooks *hooks(outlet_instance *self) {
                (void)self;
                return &table;
            }
            static const outlet_descriptor descriptor = {DESCRIPTOR("test.hangs"),
                                                         .flags = \(flags), .hooks = hooks};
            OUTLET_MODULE(descriptor)
            """, as: "hangs.so", "-DGO=\"\(go)\"")
        return try folder.load(observer: observer) {
            $0.settings["test.hangs", default: PluginSettings()].deadlines = ["serialize": deadline]
        }
    }

    @Test func `other requests do not wait for a serialize hook`() async throws {
        let signals = try TemporaryDirectory()
        let host = try await serializing(
            go: signals.path("go"), deadline: .seconds(60), observer: ActivityRecorder())
        let serializer = try #require(host.serializer("test.hangs"))
        let session = Session(transport: StubTransport { _ in .text("x") })
        let slow = session.request(address).serializingResponse(using: serializer)
        while host.status.first?.activeCalls != 1, !Task.isCancelled { await Task.yield() }
        // Awaited requests are serialized on one queue.
        #expect(await session.request(address).serializingString().response.value == "x")
        try signals.write("", to: "go")
        #expect(await slow.response.value == PluginSerialized(type: "text", data: Data()))
        withExtendedLifetime(session) {}
    }

    @Test func `a serialize hook that hangs fails at its deadline`() async throws {
        let signals = try TemporaryDirectory()
        let recorder = ActivityRecorder()
        let host = try await serializing(
            go: signals.path("go"), deadline: .seconds(12), observer: recorder)
        let serializer = try #require(host.serializer("test.hangs"))
        let session = Session(transport: StubTransport { _ in .text("x") })
        let response = await session.request(address).serializingResponse(using: serializer)
            .response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.hook == .serialize && error?.kind == .timedOut)
        #expect(recorder.misbehaviours.values.map(\.kind) == [.neverSettled])
        try signals.write("", to: "go")
        #expect(await host.shutDown() == [])
        withExtendedLifetime(session) {}
    }

    @Test func `a serialize hook that could not begin in time is not called later`() async throws {
        let signals = try TemporaryDirectory()
        let recorder = ActivityRecorder()
        let host = try await serializing(
            go: signals.path("go"), deadline: .seconds(12), flags: "0", observer: recorder)
        let serializer = try #require(host.serializer("test.hangs"))
        let session = Session(transport: StubTransport { _ in .text("x") })
        let first = session.request(address).serializingResponse(using: serializer)
        while host.status.first?.activeCalls != 1, !Task.isCancelled { await Task.yield() }
        let second = session.request(address).serializingResponse(using: serializer)
        let error = await second.response.error?.underlyingError as? PluginError
        #expect(error?.message.contains("could not begin within 12.0 s") == true)
        try signals.write("", to: "go")
        #expect(await host.shutDown() == [])
        #expect(recorder.lines.values.map(\.message) == ["called"])
        _ = await first.response
        withExtendedLifetime(session) {}
    }
}

/// A body of text that is read as a stream.
private final class Text: BodyStream {
    private let bytes: [UInt8]
    private let mayRewind: Bool
    private let position = Lock(0)

    init(_ text: String, mayRewind: Bool = true) {
        bytes = Array(text.utf8)
        self.mayRewind = mayRewind
    }

    var length: Int64? { Int64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        position.withLock { position in
            let part = bytes[position...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            position += part.count
            return part.count
        }
    }

    func rewind() throws {
        guard mayRewind else { throw TestSupportError("the bytes are gone") }
        position.withLock { $0 = 0 }
    }
}
