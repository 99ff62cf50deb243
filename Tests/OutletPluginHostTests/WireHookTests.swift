import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletPluginHost
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// The hooks for requests on the wire: `finalize`, `redirect`, and those for pieces of bodies.
@Suite(.timeLimit(.minutes(2))) struct WireHookTests {
    private let address = "http://test.example/page"

    private func host(
        finalize: String = "", redirect: String = "", quick: Bool = false,
        observer: ActivityRecorder? = nil
    ) throws -> PluginHost {
        let id = quick ? "faulty.wire-quick" : "faulty.wire"
        return try PluginFolder(faulty: "Wire").load(
            configuration: [id: #"{"finalize": "\#(finalize)", "redirect": "\#(redirect)"}"#],
            observer: observer, answerDeadline: .seconds(60))
    }

    private func count(_ name: String, _ host: PluginHost, quick: Bool = false) throws -> Int64 {
        let value = try host.call("\(quick ? "faulty.wire-quick" : "faulty.wire").\(name)")
        guard case .int(let count) = value else { return -1 }
        return count
    }

    /// Waits until the plugin's counter `name` is at least `count`.
    private func reach(
        _ count: Int64, _ name: String, _ host: PluginHost, quick: Bool = false
    ) async throws {
        while try self.count(name, host, quick: quick) < count, !Task.isCancelled {
            await Task.yield()
        }
    }

    /// The plugin's error for which retriers were asked, or `error` itself.
    private static func innermost(_ error: SessionError?) -> PluginError? {
        var error: (any Error)? = error
        while case .requestRetryFailed(_, let original)? = error as? SessionError {
            error = original
        }
        return (error as? SessionError)?.underlyingError as? PluginError ?? error as? PluginError
    }

    // MARK: Finalize

    @Test(arguments: [false, true])
    func `a finalize hook reads a body from memory, from a file and from a stream`(quick: Bool)
        async throws
    {
        let host = try host(finalize: "sign", quick: quick)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let bytes = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0) })
        let directory = try TemporaryDirectory()
        let file = directory.path("body")
        try bytes.write(to: URL(filePath: file))
        let stream = CountedStream(bytes, mayRewind: true)
        var request = HTTPRequest(url: URL(string: address), method: .post)
        for body in [HTTPBody.data(bytes), .file(path: file), .stream(stream)] {
            request.body = body
            let response = await session.request(request).serializingString().response
            #expect(response.error == nil)
        }
        let signatures = stub.requests.map { $0.headers["X-Signature"] }
        #expect(signatures.count == 3 && Set(signatures).count == 1)
        #expect(signatures.first??.hasPrefix("1000-") == true)
        // The plugin read the stream, the host rewound it, and the transport read it again.
        #expect(stream.rewinds == 1 && stream.position == 1000)
        withExtendedLifetime(session) {}
    }

    @Test func `a request with a non-rewindable body that a plugin has read is not sent`()
        async throws
    {
        let host = try host(finalize: "read")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        var request = HTTPRequest(url: URL(string: address), method: .post)
        request.body = .stream(CountedStream(Data("abc".utf8), mayRewind: false))
        let response = await session.request(request).serializingString().response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.hook == .finalize && error?.kind == .failed)
        #expect(error?.message.hasPrefix("it read the body, which cannot be read again") == true)
        #expect(stub.requests.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [true, false])
    func `a body that a failed plugin has begun to read is sent whole, or not at all`(
        canRewind: Bool
    ) async throws {
        let host = try PluginFolder(faulty: "Wire").load(
            configuration: ["faulty.wire": #"{"finalize": "stop"}"#], failsOpen: true)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        var request = HTTPRequest(url: URL(string: "http://a.example/"), method: .post)
        request.body = .stream(CountedStream(Data("abcdef".utf8), mayRewind: canRewind))
        let response = await session.request(request).serializingString().response
        if canRewind {
            #expect(stub.bodies.map { String(decoding: $0, as: UTF8.self) } == ["abcdef"])
            #expect(response.value == "x")
        } else {
            let error = response.error?.underlyingError as? PluginError
            let fact = "it read the body, which cannot be read again"
            #expect(error?.message.hasPrefix(fact) == true)
            #expect(stub.requests.isEmpty)
        }
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [true, false])
    func `a body that a plugin has read in an attempt that failed is sent whole, or not at all`(
        canRewind: Bool
    ) async throws {
        let host = try host(finalize: "once")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        var request = HTTPRequest(url: URL(string: address), method: .post)
        request.body = .stream(CountedStream(Data("abcdef".utf8), mayRewind: canRewind))
        let retrier = Retrier { request, _, _, answer in
            answer(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let response = await session.request(request, interceptor: retrier)
            .serializingString().response
        if canRewind {
            #expect(stub.bodies.map { String(decoding: $0, as: UTF8.self) } == ["abcdef"])
            #expect(response.value == "x")
        } else {
            let error = response.error?.underlyingError as? PluginError
            #expect(
                error?.message.hasPrefix("it read the body, which cannot be read again") == true)
            #expect(stub.requests.isEmpty)
        }
        withExtendedLifetime(session) {}
    }

    @Test func `a refusal is final, although the hook fails afterwards and the plugin fails open`()
        async throws
    {
        let host = try PluginFolder(faulty: "Wire").load(
            configuration: ["faulty.wire": #"{"finalize": "deny"}"#], failsOpen: true)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect((response.error?.underlyingError as? PluginError)?.isRefusal == true)
        #expect(stub.requests.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin that the program has shut down does not fail open`() async throws {
        let host = try PluginFolder(faulty: "Wire").load(
            configuration: ["faulty.wire": #"{"finalize": "fail"}"#], failsOpen: true)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        _ = await host.shutDown()
        let response = await session.request(address).serializingString().response
        #expect((response.error?.underlyingError as? PluginError)?.kind == .closed)
        #expect(stub.requests.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a refusal is final, although another plugin asks for more attempts than it may`()
        async throws
    {
        let folder = try PluginFolder(faulty: "Wire")
        try await folder.compile(
            """
            static outlet_status retry(outlet_instance *self, outlet_call call,
                                       outlet_request request, outlet_response response,
                                       uint32_t attempt, outlet_completion completion) {
                (void)call, (void)request, (void)response, (void)attempt;
                return self->host->retry_done(self->host, completion, OUTLET_RETRY_NOW, 0,
                                              outlet_text(""), outlet_text(""));
            }
            static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .retry = retry};
            static const outlet_hooks *hooks(outlet_instance *self) {
                (void)self;
                return &table;
            }
            static const outlet_descriptor descriptor = {DESCRIPTOR("test.again"), .hooks = hooks};
            OUTLET_MODULE(descriptor)
            """, as: "again.so")
        let host = try folder.load(configuration: ["faulty.wire": #"{"finalize": "fail"}"#])
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect(Self.innermost(response.error)?.code == "not-allowed", "\(response)")
        #expect(stub.requests.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a refusal is final, although the retry hook of another plugin fails`() async throws
    {
        let host = try PluginFolder(faulty: "Wire", "FailingHooks").load(configuration: [
            "faulty.wire": #"{"finalize": "fail"}"#,
            "faulty.failing-hooks": #"{"fail.hook": "retry"}"#,
        ])
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect(response.value == nil)
        let refusal = Self.innermost(response.error)
        #expect(refusal?.isRefusal == true && refusal?.code == "not-allowed")
        withExtendedLifetime(session) {}
    }

    @Test func `a refusal by process is final, although it is late and the call has failed before`()
        async throws
    {
        let folder = try PluginFolder(faulty: "FailingHooks")
        try await folder.compile(
            """
            #include <unistd.h>
            static outlet_status process(outlet_instance *self, outlet_call call,
                                         outlet_request request, outlet_response response,
                                         outlet_completion completion) {
                (void)call, (void)request, (void)response;
                self->host->done(self->host, completion, OUTLET_E_DENIED, outlet_text("no"),
                                 outlet_text("not this"));
                usleep(400000);
                return OUTLET_OK;
            }
            static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                               .process = process};
            static const outlet_hooks *hooks(outlet_instance *self) {
                (void)self;
                return &table;
            }
            static outlet_status create(const outlet_descriptor *descriptor,
                                        const outlet_host *host, outlet_call call,
                                        const outlet_config *config, outlet_instance **out) {
                (void)descriptor, (void)call, (void)config;
                *out = calloc(1, sizeof **out);
                if (*out == NULL) return OUTLET_E_FAILED;
                (*out)->host = host;
                return OUTLET_OK;
            }
            static const outlet_descriptor descriptor = {
                .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("a.guard"),
                .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks,
                .destroy = unmake};
            OUTLET_MODULE(descriptor)
            """, as: "guard.so")
        try folder.directory.write(
            #"{"plugins": {"a.guard": {"deadlines": {"process": 0.1}, "failOpen": true}, "#
                + #""faulty.failing-hooks": {"config": {"fail.hook": "retry"}}}}"#,
            to: "plugins.json")
        let host = try folder.load()
        let lost = TransferError(code: .networkConnectionLost, stage: .receiving, reason: "lost")
        let session = Session(transport: StubTransport { _ in .failure(lost) }, plugins: host)
        let response = await session.request(address).serializingString().response
        let refusal = Self.innermost(response.error)
        #expect(refusal?.plugin == "a.guard" && refusal?.isRefusal == true)
        #expect(response.value == nil && refusal?.code == "no")
        await host.shutDown()
    }

    @Test func `a hook may replace a stream that it has read and that cannot go back`() async throws
    {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            static outlet_status prepare(outlet_instance *self, outlet_call call,
                                         outlet_request request, outlet_completion completion) {
                uint8_t bytes[16];
                uint64_t count;
                (void)call, (void)completion;
                outlet_status status =
                    self->host->request_body_read(self->host, request, 0, bytes, 16, &count);
                if (status != OUTLET_OK) return status;
                for (uint64_t i = 0; i < count; i++) bytes[i]++;
                outlet_view changed = {bytes, count};
                return self->host->request_set_body(self->host, request, changed);
            }
            PREPARES("test.changing")
            """, as: "changing.so")
        let host = try folder.load()
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        var request = HTTPRequest(url: URL(string: address), method: .post)
        request.body = .stream(CountedStream(Data("abc".utf8), mayRewind: false))
        let response = await session.request(request).serializingString().response
        #expect(response.value == "x")
        #expect(stub.bodies.map { String(decoding: $0, as: UTF8.self) } == ["bcd"])
        await host.shutDown()
    }

    @Test func `a finalize hook may only change fields and attributes`() async throws {
        let host = try host(finalize: "probe")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        _ = await session.request(address).serializingString().response
        // The results of changing, in order: method, URL, body, answer (-6: wrong hook); `Host`,
        // `Content-Length` (-3: denied); another field, an attribute (0: changed).
        #expect(try host.call("faulty.wire.seen") == .text("-6 -6 -6 -6 -3 -3 0 0"))
        #expect(stub.requests.first?.headers["X-Probe"] == "v")
        // The plugin sees a `Host` field, but the request has none: the transport adds it.
        #expect(stub.requests.first?.headers["Host"] == nil)
        withExtendedLifetime(session) {}
    }

    @Test func `each request on the wire is finalized, but no cached response`() async throws {
        let recorder = ActivityRecorder()
        let host = try host(finalize: "look", redirect: "", observer: recorder)
        let stub = StubTransport { job in
            job.request.url?.path() == "/page"
                ? .redirect(to: "/cached")
                : StubAnswer.status(200, headers: ["Cache-Control": "max-age=1000"])
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let session = Session(transport: stub, configuration: configuration, plugins: host)
        for _ in 0..<2 { _ = await session.request(address).serializingString().response }
        #expect(try count("calls", host) == 3)
        #expect(stub.requests.count == 3)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `a failing finalize hook fails the request with the plugin's message`(quick: Bool)
        async throws
    {
        let host = try host(finalize: "fail", quick: quick)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(
            transport: stub, interceptor: RetryPolicy(retryLimit: 3), plugins: host)
        let response = await session.request(address).serializingString().response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.hook == .finalize && error?.code == "not-allowed")
        #expect(error?.message == "it is not allowed")
        #expect(stub.requests.isEmpty)
        #expect(try count("calls", host, quick: quick) == 1)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `a request waits for a pending finalize hook`(quick: Bool) async throws {
        let host = try host(finalize: "pend", quick: quick)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let task = session.request(address).serializingString()
        async let response = task.response
        try await reach(1, "pending", host, quick: quick)
        #expect(stub.requests.isEmpty)
        #expect(try host.call("\(quick ? "faulty.wire-quick" : "faulty.wire").release") == .int(0))
        #expect(await response.value == "x")
        #expect(try count("cancels", host, quick: quick) == 0)
        withExtendedLifetime(session) {}
    }

    @Test func `a request that is cancelled while it is finalized is not sent`() async throws {
        let host = try host(finalize: "pend")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let request = session.request(address)
        async let response = request.serializingString().response
        try await reach(1, "pending", host)
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        try await reach(1, "cancels", host)
        // The late answer is refused (-2), but does not count as misbehaviour.
        #expect(try host.call("faulty.wire.release") == .int(-2))
        #expect(stub.requests.isEmpty)
        #expect(host.plugins.first?.misbehaviour == [:])
        withExtendedLifetime(session) {}
    }

    @Test func `a request suspended during a pending finalize hook stays suspended`() async throws {
        let host = try host(finalize: "pend")
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        let request = session.request(address)
        async let response = request.serializingString().response
        try await reach(1, "pending", host)
        request.suspend()
        #expect(try host.call("faulty.wire.release") == .int(0))
        #expect(request.isSuspended)
        request.resume()
        #expect(await response.value == "x")
        withExtendedLifetime(session) {}
    }

    @Test func `a WebSocket handshake waits for a pending finalize hook, and so do early messages`()
        async throws
    {
        let host = try host(finalize: "pend")
        let network = StubTransport { _ in
            .webSocket([.receive, .send(.string("hello")), .close(.normalClosure)])
        }
        let session = Session(transport: network, plugins: host)
        let request = session.webSocketRequest(to: "ws://a.test/")
        let messages = Recorder<WebSocketMessage>()
        request.streamMessages { messages.record($0) }
        try await reach(1, "pending", host)
        let sent = Once<Bool>()
        request.send(.string("early")) { result in
            sent.set((try? result.get()) != nil)
        }
        #expect(network.requests.isEmpty)
        #expect(try host.call("faulty.wire.release") == .int(0))
        #expect(try await messages.values(1) == [.string("hello")])
        #expect(try await sent.value())
        withExtendedLifetime(session) {}
    }

    @Test func `a failing finalize hook fails the WebSocket handshake`() async throws {
        let host = try host(finalize: "fail")
        let network = StubTransport { _ in .webSocket([.close(.normalClosure)]) }
        let session = Session(transport: network, plugins: host)
        let ended = Recorder<SessionError?>()
        session.webSocketRequest(to: "ws://a.test/").streamMessageEvents { event in
            if case .completed(let completion) = event.kind { ended.record(completion.error) }
        }
        let error = try await ended.values(1)[0]
        #expect((error?.underlyingError as? PluginError)?.code == "not-allowed")
        #expect(network.requests.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `a session keeps its plugin host running`() async throws {
        for quick in [false, true] {
            for (finalize, redirect) in [("look", ""), ("", "http://moved.example/")] {
                let stub = StubTransport { job in
                    job.request.url?.host() == "test.example" ? .redirect(to: "/next") : .text("x")
                }
                let session = Session(
                    transport: stub,
                    plugins: try host(finalize: finalize, redirect: redirect, quick: quick))
                // If the session did not retain the host, the host would shut down meanwhile on
                // another thread.
                for _ in 0..<100 { await Task.yield() }
                let response = await session.request(address).serializingUnserialized().response
                #expect(
                    (response.error?.underlyingError as? PluginError)?.kind == nil,
                    "\(finalize) \(redirect) \(quick)")
                withExtendedLifetime(session) {}
            }
        }
    }

    // MARK: Redirect

    @Test func `a redirect that a plugin does not follow is the response`() async throws {
        let host = try host(redirect: "take")
        let stub = StubTransport { _ in .redirect(to: "http://next.example/") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingUnserialized().response
        #expect(response.response?.statusCode == 302 && response.error == nil)
        #expect(stub.requests.count == 1)
        withExtendedLifetime(session) {}
    }

    @Test func `a redirect that a plugin refuses fails the request with its code`() async throws {
        let host = try host(redirect: "fail")
        let stub = StubTransport { _ in .redirect(to: "http://next.example/") }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingUnserialized().response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.hook == .redirect && error?.code == "not-allowed")
        #expect(stub.requests.count == 1)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: ["fail", "take"])
    func `a stream gets the body of a redirect only if that is the response`(redirect: String)
        async throws
    {
        let host = try host(redirect: redirect)
        let stub = StubTransport { _ in
            StubAnswer(
                statusCode: 302, headers: ["Location": "http://next.example/"],
                body: Data("moved".utf8))
        }
        let session = Session(transport: stub, plugins: host)
        var body = ""
        for await event in session.streamRequest(address).streamTask().streamingStrings() {
            body += event.value ?? ""
        }
        #expect(body == (redirect == "take" ? "moved" : ""))
        withExtendedLifetime(session) {}
    }

    @Test func `a redirect that a plugin changes to another server has no credentials`()
        async throws
    {
        let host = try host(redirect: "http://moved.example/")
        let stub = StubTransport { job in
            job.request.url?.host() == "test.example" ? .redirect(to: "/next") : .text("moved")
        }
        let session = Session(transport: stub, plugins: host)
        var request = HTTPRequest(url: URL(string: address))
        request.headers = ["Authorization": "Bearer secret", "X-Plain": "1"]
        let response = await session.request(request).serializingString().response
        #expect(response.value == "moved")
        #expect(stub.requests.last?.headers["Authorization"] == nil)
        #expect(stub.requests.last?.headers["X-Plain"] == "1")
        withExtendedLifetime(session) {}
    }

    @Test func `a redirect hook may change the next request, but not answer it`() async throws {
        let host = try host(redirect: "probe")
        let stub = StubTransport { job in
            job.request.url?.host() == "test.example" ? .redirect(to: "/next") : .text("there")
        }
        let session = Session(transport: stub, plugins: host)
        let response = await session.request(address).serializingString().response
        #expect(response.value == "there")
        // The order is the same as for `finalize`. Method, URL, body and `Host` may be changed; an
        // answer and `Content-Length` may not be set.
        #expect(try host.call("faulty.wire.seen") == .text("0 0 0 -6 0 -3 0 0"))
        #expect(
            stub.requests.last?.method == .put && stub.requests.last?.httpBody == Data("b".utf8))
        withExtendedLifetime(session) {}
    }

    @Test func `a cancelled request cancels a pending redirect hook`() async throws {
        let host = try host(redirect: "pend")
        let stub = StubTransport { _ in .redirect(to: "http://next.example/") }
        let session = Session(transport: stub, plugins: host)
        let request = session.request(address)
        async let response = request.serializingUnserialized().response
        try await reach(1, "pending", host)
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        try await reach(1, "cancels", host)
        #expect(stub.requests.count == 1)
        withExtendedLifetime(session) {}
    }

    @Test func `a redirect hook may return pending`() async throws {
        let host = try host(redirect: "pend")
        let stub = StubTransport(answers: [.redirect(to: "/next"), .text("there")])
        let session = Session(transport: stub, plugins: host)
        async let response = session.request(address).serializingString().response
        try await reach(1, "pending", host)
        #expect(try host.call("faulty.wire.release") == .int(0))
        #expect(await response.value == "there")
        withExtendedLifetime(session) {}
    }
}

/// A body stream that counts how often it is rewound.
private final class CountedStream: BodyStream {
    private struct State {
        var position = 0
        var rewinds = 0
    }

    private let bytes: Data
    private let mayRewind: Bool
    private let state = Lock(State())

    init(_ bytes: Data, mayRewind: Bool) {
        self.bytes = bytes
        self.mayRewind = mayRewind
    }

    var length: Int64? { Int64(bytes.count) }
    var rewinds: Int { state.withLock { $0.rewinds } }
    var position: Int { state.withLock { $0.position } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        state.withLock { state in
            let count = min(buffer.count, bytes.count - state.position)
            bytes.copyBytes(
                to: buffer.bindMemory(to: UInt8.self),
                from: state.position..<state.position + count)
            state.position += count
            return count
        }
    }

    func rewind() throws {
        guard mayRewind else { throw TestSupportError("the bytes are gone") }
        state.withLock { state in
            state.position = 0
            state.rewinds += 1
        }
    }
}
