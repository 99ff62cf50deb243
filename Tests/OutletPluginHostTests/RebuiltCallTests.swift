import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// The contract of plugins for calls of which code of the program passes on new requests.
@Suite(.timeLimit(.minutes(2))) struct RebuiltCallTests {
    /// Where the program passes on a new request.
    enum Place: CaseIterable { case adapter, middleware, layer, redirect }

    private let address = "http://test.example/from"

    private func session(
        rebuildingIn place: Place, _ transport: StubTransport, _ host: PluginHost
    ) -> Session {
        switch place {
        case .adapter:
            Session(
                transport: transport,
                interceptor: Adapter { request, _, done in done(.success(rebuilt(request))) },
                plugins: host)
        case .middleware: Session(transport: transport, middleware: [Rebuilding()], plugins: host)
        case .layer:
            Session(
                transport: transport, layers: [{ RebuildingLayer(around: $0) }], plugins: host)
        case .redirect:
            Session(
                transport: transport, redirectHandler: .modify { _, next, _ in rebuilt(next) },
                plugins: host)
        }
    }

    @Test(arguments: Place.allCases)
    func `all hooks see one call, which request_done ends once`(place: Place) async throws {
        let host = try PluginFolder(faulty: "Keeps").load(
            configuration: ["faulty.keeps": #"{"at": "none"}"#])
        func count(_ name: String) throws -> Int64 {
            guard case .int(let count) = try host.call("faulty.keeps.\(name)") else { return -1 }
            return count
        }
        let stub = StubTransport { job in
            job.request.url?.path == "/from" ? .redirect(to: "/to") : .text("x")
        }
        let session = session(rebuildingIn: place, stub, host)
        #expect(try await session.request(address).serializingString().value == "x")
        while try count("finished") < 1, !Task.isCancelled { await Task.yield() }
        // adapt, prepare, two will_send, did_receive and process.
        #expect(try count("hooks_seen") == 6)
        #expect(try count("finished") == 1 && count("live") == 0)
        #expect(await host.shutDown() == [])
    }

    @Test(arguments: Place.allCases)
    func `request_id is the same in all hooks`(place: Place) async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            static outlet_status look(outlet_instance *self, outlet_call call,
                                      outlet_request request) {
                outlet_view id = outlet_text("none");
                self->host->request_attr(self->host, request, outlet_text("request.id"), &id);
                self->host->log(self->host, call, OUTLET_LOG_INFO, id, NULL, 0);
                return OUTLET_OK;
            }
            static outlet_status adapt(outlet_instance *self, outlet_call call,
                                       outlet_request request, outlet_completion completion) {
                (void)completion;
                return look(self, call, request);
            }
            static void see(outlet_instance *self, outlet_call call, outlet_request request) {
                look(self, call, request);
            }
            static void receive(outlet_instance *self, outlet_call call, outlet_request request,
                                outlet_response response) {
                (void)response;
                look(self, call, request);
            }
            static const outlet_hooks table = {
                .struct_size = sizeof(outlet_hooks), .adapt = adapt, .prepare = adapt,
                .finalize = adapt, .will_send = see, .did_receive = receive,
                .request_done = see};
            static const outlet_hooks *hooks(outlet_instance *self) { (void)self; return &table; }
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("test.ids"), .flags = OUTLET_F_CONCURRENT, .hooks = hooks};
            OUTLET_MODULE(descriptor)
            """, as: "ids.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let stub = StubTransport { job in
            job.request.url?.path == "/from" ? .redirect(to: "/to") : .text("x")
        }
        let session = session(rebuildingIn: place, stub, host)
        let request = session.request(address)
        #expect(try await request.serializingString().value == "x")
        #expect(await host.shutDown() == [])
        let ids = recorder.lines.values.map(\.message)
        #expect(ids.count == 8 && Set(ids) == [request.id.uuidString], "\(ids)")
    }

    @Test(arguments: [Place.adapter, .middleware, .layer])
    func `the answer of a plugin is used in place of the network`(place: Place) async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            PREPARE {
                (void)call, (void)completion;
                return self->host->request_answer(self->host, request, 203, NULL, 0,
                                                  outlet_text("answered"));
            }
            PREPARES_WITH("test.answers", OUTLET_F_CONCURRENT)
            """, as: "answers.so")
        let stub = StubTransport { _ in .text("network") }
        let session = session(rebuildingIn: place, stub, try folder.load())
        let response = await session.request(address).serializingString().response
        #expect(response.value == "answered" && response.response?.statusCode == 203)
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [Place.adapter, .middleware, .layer])
    func `a plugin sees the bodies that it watches`(place: Place) async throws {
        let host = try PluginFolder(faulty: "Streams").load(
            configuration: ["faulty.streams": #"{"watch": "count"}"#])
        let stub = StubTransport { _ in .text("body") }
        let session = session(rebuildingIn: place, stub, host)
        #expect(try await session.request(address).serializingString().value == "body")
        #expect(try host.call("faulty.streams.seen") == .int(4))
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [Place.adapter, .middleware, .layer])
    func `a plugin's own requests do not call its hooks`(place: Place) async throws {
        let host = try PluginFolder(faulty: "Services").load(
            configuration: ["faulty.services": #"{"token": "http://token.example/"}"#])
        let stub = StubTransport { job in
            job.request.url?.host() == "token.example" ? .text("t-1") : .text("page")
        }
        let session = session(rebuildingIn: place, stub, host)
        #expect(try await session.request(address).serializingString().value == "page")
        #expect(stub.requests.map { $0.url?.host() } == ["token.example", "test.example"])
        #expect(stub.requests.last?.headers["X-Token"] == "t-1")
        #expect(try host.call("faulty.services.adapted") == .int(1))
    }

    @Test func `a new request for a plugin's own may not go to a server without permission`()
        async throws
    {
        let host = try PluginFolder(faulty: "Services").load(
            configuration: ["faulty.services": #"{"token": "http://token.example/"}"#])
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, middleware: [Elsewhere()], plugins: host)
        #expect(try await session.request(address).serializingString().value == "x")
        #expect(stub.requests.map { $0.url?.host() } == ["test.example"])
        #expect(try host.call("faulty.services.last") == .text("0 addressNotAllowed"))
    }

    @Test func `a request that is sent again belongs to its new call only`() async throws {
        let host = try PluginFolder(faulty: "Streams").load(
            configuration: ["faulty.streams": #"{"watch": "count"}"#])
        let stub = StubTransport { _ in .text("body") }
        let session = Session(transport: stub, plugins: host)
        let first = session.request(address)
        #expect(try await first.serializingString().value == "body")
        let sent = try #require(first.performedRequests.last)
        #expect(try await session.request(sent).serializingString().value == "body")
        // Not the stream of the first call, which has ended.
        #expect(try host.call("faulty.streams.seen") == .int(8))
    }
}

/// A new request with the same parts.
private func rebuilt(_ request: HTTPRequest) -> HTTPRequest {
    HTTPRequest(
        url: request.url, method: request.method, headers: request.headers, body: request.body)
}

private struct Rebuilding: Middleware {
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        try await next(rebuilt(request))
    }
}

/// Sends the requests for a token to another server.
private struct Elsewhere: Middleware {
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        guard request.url?.host() == "token.example" else { return try await next(request) }
        return try await next(HTTPRequest(url: URL(string: "http://other.test/")))
    }
}

private final class RebuildingLayer: TransportLayer {
    let next: any Transport

    init(around next: any Transport) { self.next = next }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        job.request = rebuilt(job.request)
        return next.start(job, handler: handler)
    }
}
