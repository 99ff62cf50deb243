import Dispatch
import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// What `serialize` has in common with the other hooks of a call.
@Suite(.timeLimit(.minutes(2))) struct SerializeCallTests {
    private let address = "http://test.example/"

    /// Loads a plugin whose hooks are `serialize` and `request_done`, and with the setting `prepares`
    /// also `prepare`.
    ///
    /// `serialize` stores memory for the call, waits until there is a file at the path `waits`, if that
    /// is set, and logs; so does `request_done`, with the number of `serialize` that are running.
    private func load(
        _ configuration: String, _ recorder: ActivityRecorder,
        answerDeadline: Duration = .seconds(60)
    ) async throws -> PluginHost {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            #include <pthread.h>
            #include <stdio.h>
            #include <unistd.h>
            struct turning {
                outlet_instance base;
                pthread_mutex_t mutex;
                char waits[256], prepares[8];
                int inside;
            };
            static void say(outlet_instance *self, const char *text) {
                self->host->log(self->host, (outlet_call){0}, OUTLET_LOG_INFO, outlet_text(text),
                                NULL, 0);
            }
            static outlet_status create(const outlet_descriptor *descriptor,
                                        const outlet_host *host, outlet_call call,
                                        const outlet_config *config, outlet_instance **out) {
                struct turning *self = calloc(1, sizeof *self);
                (void)descriptor, (void)config;
                if (self == NULL) return OUTLET_E_FAILED;
                self->base.host = host;
                pthread_mutex_init(&self->mutex, NULL);
                setting(host, call, "waits", self->waits, sizeof self->waits);
                setting(host, call, "prepares", self->prepares, sizeof self->prepares);
                *out = &self->base;
                return OUTLET_OK;
            }
            static outlet_status prepare(outlet_instance *self, outlet_call call,
                                         outlet_request request, outlet_completion completion) {
                (void)call, (void)completion;
                return self->host->request_set_slot(self->host, request, self);
            }
            static outlet_status serialize(outlet_instance *instance, outlet_call call,
                                           outlet_request request, outlet_response response,
                                           outlet_sink sink, outlet_view *type) {
                struct turning *self = (struct turning *)instance;
                (void)call, (void)response;
                outlet_status status =
                    instance->host->request_set_slot(instance->host, request, self);
                if (status != OUTLET_OK) return status;
                pthread_mutex_lock(&self->mutex);
                self->inside++;
                pthread_mutex_unlock(&self->mutex);
                while (self->waits[0] != 0 && access(self->waits, F_OK) != 0) usleep(1000);
                say(instance, "serialized");
                pthread_mutex_lock(&self->mutex);
                self->inside--;
                pthread_mutex_unlock(&self->mutex);
                *type = outlet_text("text");
                return instance->host->sink_write(instance->host, sink, outlet_text("v"));
            }
            static void done(outlet_instance *instance, outlet_call call, outlet_request request) {
                struct turning *self = (struct turning *)instance;
                void *slot = NULL;
                char text[64];
                (void)call;
                instance->host->request_slot(instance->host, request, &slot);
                pthread_mutex_lock(&self->mutex);
                snprintf(text, sizeof text, "done with%s memory, %d inside",
                         slot == (void *)self ? "" : "out", self->inside);
                pthread_mutex_unlock(&self->mutex);
                say(instance, text);
            }
            static int32_t inside(outlet_instance *instance) {
                struct turning *self = (struct turning *)instance;
                pthread_mutex_lock(&self->mutex);
                int32_t count = self->inside;
                pthread_mutex_unlock(&self->mutex);
                return count;
            }
            static const outlet_export counting = {
                sizeof(outlet_export), OUTLET_X_ANY_THREAD, OUTLET_TEXT("inside"),
                OUTLET_TEXT("i()"), OUTLET_TEXT(""), (outlet_function)inside};
            static const outlet_export *const exports[] = {&counting};
            static const outlet_hooks table = {
                .struct_size = sizeof(outlet_hooks), .serialize = serialize,
                .request_done = done};
            static const outlet_hooks preparing = {
                .struct_size = sizeof(outlet_hooks), .serialize = serialize,
                .request_done = done, .prepare = prepare};
            static const outlet_hooks *hooks(outlet_instance *self) {
                return ((struct turning *)self)->prepares[0] != 0 ? &preparing : &table;
            }
            static const outlet_descriptor descriptor = {
                .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("test.turning"),
                .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake,
                .flags = OUTLET_F_CONCURRENT, .hooks = hooks, .exports = exports,
                .export_count = 1};
            OUTLET_MODULE(descriptor)
            """, as: "turning.so", "-pthread")
        return try folder.load(
            configuration: ["test.turning": configuration], observer: recorder,
            answerDeadline: answerDeadline)
    }

    private func awaitHook(in host: PluginHost) async throws {
        while try host.call("test.turning.inside") != .int(1), !Task.isCancelled {
            await Task.yield()
        }
    }

    @Test(arguments: ["{}", #"{"prepares": "yes"}"#])
    func `request_done ends a call of serialize once, with the memory of the call`(
        configuration: String
    ) async throws {
        let recorder = ActivityRecorder()
        let host = try await load(configuration, recorder)
        let serializer = try #require(host.serializer("test.turning"))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let request = session.request(address)
        let response = await request.serializingResponse(using: serializer).response
        #expect(response.value == PluginSerialized(type: "text", data: Data("v".utf8)))
        #expect(await host.shutDown() == [])
        let lines = recorder.lines.values.map(\.message)
        #expect(lines == ["serialized", "done with memory, 0 inside"])
    }

    @Test func `serialize outside of a call, or after its end, is a call of its own`() async throws
    {
        let recorder = ActivityRecorder()
        let host = try await load("{}", recorder)
        let serializer = try #require(host.serializer("test.turning"))
        _ = try serializer.serialize(request: nil, response: nil, data: nil, error: nil)
        // request_done runs on another thread.
        _ = try await recorder.lines.values(2)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let request = session.request(address)
        _ = try await request.serializingString().value
        let sent = try #require(request.request)
        while sent.scope?.isOver != true, !Task.isCancelled { await Task.yield() }
        _ = try serializer.serialize(request: sent, response: nil, data: nil, error: nil)
        #expect(await host.shutDown() == [])
        let lines = recorder.lines.values.map(\.message)
        let ended = ["serialized", "done with memory, 0 inside"]
        #expect(lines == ended + ended)
    }

    @Test func `request_done waits for a serialize whose deadline has passed`() async throws {
        let recorder = ActivityRecorder()
        let signals = try TemporaryDirectory()
        let host = try await load(
            #"{"prepares": "yes", "waits": "\#(signals.path("go"))"}"#, recorder,
            answerDeadline: .milliseconds(50))
        let serializer = try #require(host.serializer("test.turning"))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let request = session.request(address)
        let response = await request.serializingResponse(using: serializer).response
        #expect(response.error?.description.contains("did not return within 0.05 s") == true)
        let (plugin, scope) = (try #require(host.plugins.first), request.request?.scope)
        while scope?.isOver != true, !Task.isCancelled { await Task.yield() }
        // Otherwise request_done has been called, or is about to be.
        #expect(scope?.slot(of: plugin.instance) != nil)
        try signals.write("", to: "go")
        #expect(await host.shutDown() == [])
        let lines = recorder.lines.values.map(\.message)
        #expect(lines == ["serialized", "done with memory, 0 inside"])
    }

    @Test func `request_done waits for a serialize during a shutdown`() async throws {
        let recorder = ActivityRecorder()
        let signals = try TemporaryDirectory()
        let host = try await load(
            #"{"prepares": "yes", "waits": "\#(signals.path("go"))"}"#, recorder)
        let serializer = try #require(host.serializer("test.turning"))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let request = session.request(address)
        async let response = request.serializingResponse(using: serializer).response
        try await awaitHook(in: host)
        let instance = try #require(host.plugins.first).instance
        instance.shutDown(deadline: .distantFuture) { _ in }
        #expect(request.request?.scope?.slot(of: instance) != nil)
        try signals.write("", to: "go")
        #expect(await response.value != nil)
        #expect(await host.shutDown() == [])
        let lines = recorder.lines.values.map(\.message)
        #expect(lines == ["serialized", "done with memory, 0 inside"])
    }

    @Test(arguments: ["serialize", "trust", "events"])
    func `a request that a plugin sends with its call uses the session of the call`(
        hook: String
    ) async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            static void fetched(outlet_instance *self, outlet_call call, outlet_response response,
                                void *data) {
                (void)self, (void)call, (void)response, (void)data;
            }
            static outlet_status send(outlet_instance *self, outlet_call call) {
                const outlet_http_request own = {
                    .struct_size = sizeof own, .url = outlet_text("http://own.example/")};
                const void *table;
                outlet_exchange exchange;
                outlet_status status =
                    self->host->extension(self->host, outlet_text(OUTLET_HTTP_1), &table);
                if (status != OUTLET_OK) return status;
                return ((const outlet_http *)table)
                    ->send(self->host, call, &own, fetched, NULL, &exchange);
            }
            static outlet_status serialize(outlet_instance *self, outlet_call call,
                                           outlet_request request, outlet_response response,
                                           outlet_sink sink, outlet_view *type) {
                (void)request, (void)response, (void)sink;
                *type = outlet_text("text");
                return send(self, call);
            }
            static outlet_status trust(outlet_instance *self, outlet_call call,
                                       const outlet_trust *server) {
                (void)server;
                return send(self, call);
            }
            static void on_events(outlet_instance *self, outlet_call call,
                                  const outlet_events *events) {
                (void)events;
                send(self, call);
            }
            static const outlet_hooks table = {
                .struct_size = sizeof(outlet_hooks), .serialize = serialize, .trust = trust,
                .event_mask = OUTLET_EVENT_BIT(OUTLET_EVENT_FINISHED), .on_events = on_events};
            static const outlet_hooks *hooks(outlet_instance *self) { (void)self; return &table; }
            static const outlet_view permissions[] = {OUTLET_TEXT("net:own.example")};
            static const outlet_view services[] = {OUTLET_TEXT(OUTLET_HTTP_1)};
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("test.asks"), .hooks = hooks,
                .flags = OUTLET_F_CONCURRENT | OUTLET_F_NONBLOCKING,
                .permissions = permissions, .permission_count = 1,
                .required_services = services, .required_service_count = 1};
            OUTLET_MODULE(descriptor)
            """, as: "asks.so")
        let host = try folder.load()
        #expect(host.failures.isEmpty, "\(host.failures)")
        let other = StubTransport { _ in .text("other") }
        let stub = StubTransport { _ in .text("x") }
        var configuration = SessionConfiguration()
        configuration.transport.verifiesCertificates = false
        let first = Session(transport: other, configuration: configuration, plugins: host)
        let second = Session(transport: stub, configuration: configuration, plugins: host)
        switch hook {
        case "serialize":
            let serializer = try #require(host.serializer("test.asks"))
            _ = await second.request(address).serializingResponse(using: serializer).response
        case "trust":
            let policy = second.trustDecider?.policy(forHost: "b.test", port: 443)
            let trust = ServerTrust(host: "b.test", port: 443, sentCertificates: [])
            #expect(try policy?.evaluate(trust) != nil)
        default: _ = try await second.request(address).serializingString().value
        }
        while !stub.requests.contains(where: { $0.url?.host() == "own.example" }),
            other.requests.isEmpty, !Task.isCancelled
        {
            await Task.yield()
        }
        #expect(other.requests.isEmpty)
        withExtendedLifetime((first, second)) {}
    }
}
