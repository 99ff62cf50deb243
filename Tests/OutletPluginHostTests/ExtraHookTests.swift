import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Serializers and event monitors that plugins provide.
@Suite(.timeLimit(.minutes(2))) struct ExtraHookTests {
    private let address = "http://test.example/page"

    private func host(
        _ configuration: String = "{}", observer: ActivityRecorder? = nil
    ) throws -> PluginHost {
        try PluginFolder(faulty: "Extras").load(
            configuration: ["faulty.extras": configuration], observer: observer)
    }

    @Test func `a plugin gets the last events of a request before a shutdown that follows it`()
        async throws
    {
        for _ in 0..<40 {
            let recorder = ActivityRecorder()
            let host = try PluginFolder(faulty: "Extras").load(observer: recorder)
            let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
            _ = await session.request("http://a.example/").serializingString().response
            #expect(await host.shutDown() == [])
            let lines = recorder.lines.values.map(\.message)
            #expect(lines.contains { $0.hasPrefix("5 a=200 ") }, "\(lines)")
        }
    }

    @Test func `a plugin with a trust hook that may block is refused`() throws {
        let host = try host()
        #expect(host.plugins.map(\.id) == ["faulty.extras", "faulty.judging"])
        #expect(
            host.failures.first?.description.hasSuffix(
                "its trust hook needs OUTLET_F_NONBLOCKING: all transfers wait for it") == true)
    }

    @Test func `a refused plugin may still complete quiesce later, and is destroyed`() async throws
    {
        let signals = try TemporaryDirectory()
        let folder = try PluginFolder()
        try await folder.compile(
            """
            #include <pthread.h>
            #include <unistd.h>
            static void *work(void *context) {
                outlet_instance *self = context;
                while (access(GO, F_OK) != 0) usleep(1000);
                self->host->quiesced(self->host);
                return NULL;
            }
            static outlet_status quiesce(outlet_instance *self, outlet_call call) {
                pthread_t thread;
                (void)call;
                if (pthread_create(&thread, NULL, work, self) != 0) return OUTLET_OK;
                pthread_detach(thread);
                return OUTLET_PENDING;
            }
            static void destroy(outlet_instance *self) {
                self->host->log(self->host, (outlet_call){0}, OUTLET_LOG_ERROR,
                                outlet_text("destroyed"), NULL, 0);
                unmake(self);
            }
            static outlet_status trust(outlet_instance *self, outlet_call call,
                                       const outlet_trust *server) {
                (void)self, (void)call, (void)server;
                return OUTLET_OK;
            }
            static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                               .trust = trust};
            static const outlet_hooks *hooks(outlet_instance *self) {
                (void)self;
                return &table;
            }
            static const outlet_descriptor descriptor = {
                .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.refused"),
                .version = OUTLET_TEXT("1.0.0"), .create = make, .destroy = destroy,
                .quiesce = quiesce, .hooks = hooks};
            OUTLET_MODULE(descriptor)
            """, as: "refused.so", "-DGO=\"\(signals.path("go"))\"", "-pthread")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        #expect(host.plugins.isEmpty && host.failures.count == 1)
        try signals.write("", to: "go")
        #expect(try await recorder.lines.values(1).map(\.message) == ["destroyed"])
        #expect(recorder.misbehaviours.values.isEmpty)
    }

    @Test(arguments: [("abc", "201 cba"), ("", "201 ")])
    func `a plugin serializes a response`(body: String, value: String) async throws {
        let host = try host()
        let serializer = try #require(host.serializer("faulty.extras"))
        let stub = StubTransport { _ in .text(body, statusCode: 201) }
        let session = Session(transport: stub)
        let response = await session.request(address)
            .serializingResponse(using: serializer).response
        #expect(
            response.value == PluginSerialized(type: "x.turned", data: Data(value.utf8)))
        #expect(host.serializer("faulty.judging") == nil)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [
        ("bad", "serialize failed (bad-body): it is bad"),
        ("odd", "serialize failed: the type that it names cannot be read"),
    ])
    func `a failing serialize hook fails the response`(body: String, reason: String)
        async throws
    {
        let host = try host()
        let serializer = try #require(host.serializer("faulty.extras"))
        let session = Session(transport: StubTransport { _ in .text(body) })
        let response = await session.request(address)
            .serializingResponse(using: serializer).response
        #expect(response.error?.description.contains("plugin faulty.extras: \(reason)") == true)
        withExtendedLifetime(session) {}
    }

    @Test(
        arguments: ["null", "huge", "long", "bytes"].map {
            ($0, "the type that it names cannot be read")
        } + [
            ("none", "it names no type"), ("escape", "its type has control characters"),
            ("text", "its text is not UTF-8"),
            ("json", "its value of the type json is "),
        ])
    func `a value with an invalid type or text fails the response`(how: String, fact: String)
        throws
    {
        let host = try PluginFolder(faulty: "Serializes").load(
            configuration: ["faulty.serializes": #"{"how": "\#(how)"}"#])
        let serializer = try #require(host.serializer("faulty.serializes"))
        let error = #expect(throws: PluginError.self) {
            try serializer.serialize(request: nil, response: nil, data: nil, error: nil)
        }
        let text = error?.description ?? ""
        let expected = "plugin faulty.serializes: serialize failed: \(fact)"
        #expect(how == "json" ? text.hasPrefix(expected) : text == expected, "\(text)")
        #expect(host.plugins.first?.misbehaviour == [.forbiddenValue: 1])
    }

    @Test func `a plugin receives the events of requests`() async throws {
        let recorder = ActivityRecorder()
        let host = try host(observer: recorder)
        let stub = StubTransport(answers: [
            .status(503), .redirect(to: "/there"), .text("there"),
        ])
        let session = Session(
            transport: stub, interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0),
            plugins: host)
        let response = await session.request(address).validate().serializingString().response
        #expect(response.value == "there")
        while recorder.lines.values.last?.message.hasPrefix("5 ") != true, !Task.isCancelled {
            await Task.yield()
        }
        let messages = recorder.lines.values.map(\.message)
        let there = "http://test.example/there"
        #expect(
            messages.filter { !$0.hasPrefix("4 ") } == [
                "0 a=1 b=0 \(address) id=36", "1 a=503 b=0 \(address) id=36",
                "3 a=1 b=0  id=36", "0 a=2 b=0 \(address) id=36", "2 a=302 b=0 \(there) id=36",
                "1 a=200 b=0 \(there) id=36", "5 a=200 b=2  id=36",
            ])
        #expect(messages.contains { $0.hasPrefix("4 ") })
        #expect(await host.shutDown() == [])
    }

    @Test func `a slow plugin receives the number of dropped events`() async throws {
        let host = try PluginFolder(faulty: "Extras").load(
            configuration: ["faulty.extras": #"{"slow": true}"#]
        ) { $0.maximumWaitingEvents = 3 }
        let session = Session(
            transport: StubTransport { _ in .status(204) }, plugins: host)
        _ = await session.request(address).serializingUnserialized().response
        func count(_ name: String) throws -> Int64 {
            guard case .int(let count) = try host.call("faulty.extras.\(name)") else { return -1 }
            return count
        }
        while try count("waiting") == 0, !Task.isCancelled { await Task.yield() }
        for _ in 0..<3 { _ = await session.request(address).serializingUnserialized().response }
        _ = try host.call("faulty.extras.release")
        while try count("dropped") == 0, !Task.isCancelled { await Task.yield() }
        let told = try count("told")
        let dropped = try count("dropped")
        #expect(told >= 4 && dropped >= 3 && told + dropped <= 16)
        #expect(await host.shutDown() == [])
    }

    @Test func `a plugin receives all waiting events before it is destroyed`() async throws {
        let recorder = ActivityRecorder()
        let host = try host(observer: recorder)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        _ = await session.request(address).serializingString().response
        while recorder.lines.values.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(await host.shutDown() == [])
        #expect(host.plugins.first?.misbehaviour == [:])
        withExtendedLifetime(session) {}
    }
}
