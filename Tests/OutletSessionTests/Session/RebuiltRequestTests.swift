import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests that a call keeps its context when code of the program passes on a new request.
@Suite(.timeLimit(.minutes(patience))) struct RebuiltRequestTests {
    /// Where the program passes on a new request.
    enum Place: CaseIterable { case adapter, lateAdapter, middleware, layer, redirect }

    /// Makes a session on a transport that redirects `/from` to `/to`.
    private func session(rebuildingIn place: Place, _ transport: StubTransport) -> Session {
        switch place {
        case .adapter: Session(transport: transport, interceptor: QuickRebuilding())
        case .lateAdapter:
            Session(
                transport: transport,
                interceptor: Adapter { request, _, completion in
                    Task { completion(.success(rebuilt(request))) }
                })
        case .middleware: Session(transport: transport, middleware: [RebuildingMiddleware()])
        case .layer:
            Session(
                transport: transport,
                layers: [{ RebuildingLayer(around: $0) }, { RebuildingLayer(around: $0) }])
        case .redirect:
            // The adapter makes the session describe its requests.
            Session(
                transport: transport, interceptor: Adapter { $2(.success($0)) },
                redirectHandler: .modify { _, next, _ in rebuilt(next) })
        }
    }

    @Test(arguments: Place.allCases)
    func `a new request in place of another one continues with the context of the call`(
        place: Place
    ) async throws {
        let transport = StubTransport { job in
            job.request.url?.path == "/from" ? .redirect(to: "/to") : .text("x")
        }
        let session = session(rebuildingIn: place, transport)
        var asked = HTTPRequest(url: URL(string: "http://api.test/from"))
        asked.context[Tenant.self] = "blue"
        asked.context[Colour.self] = "grey"
        let request = session.request(asked)
        #expect(try await request.serializingString().value == "x")
        let sent = transport.requests
        try #require(sent.map(\.url?.path) == ["/from", "/to"])
        #expect(sent.map(\.context.id) == [request.id, request.id])
        #expect(sent.map { $0.context[Tenant.self] } == ["blue", "blue"])
        #expect(sent.map(\.context.hop) == [0, 1])
        // The value that the program has set in the new request is added.
        #expect(sent.last?.context[Colour.self] == "red")
    }

    @Test func `a layer's change of the context reaches the layers after it`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(
            transport: transport,
            layers: [{ Painting(around: $0) }, { RebuildingLayer(around: $0, colour: nil) }])
        let request = session.request("http://api.test/")
        #expect(try await request.serializingString().value == "x")
        #expect(transport.requests.map { $0.context[Colour.self] } == ["green"])
        #expect(transport.requests.map(\.context.id) == [request.id])
    }

    @Test func `a request that a layer sends in a job of its own has a context of its own`()
        async throws
    {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport, layers: [{ Replacing(around: $0) }])
        var asked = HTTPRequest(url: URL(string: "http://api.test/"))
        asked.context[Tenant.self] = "blue"
        #expect(try await session.request(asked).serializingString().value == "x")
        #expect(transport.requests.map(\.context.id) == [nil])
        #expect(transport.requests.map { $0.context[Tenant.self] } == [nil])
    }

    @Test func `the handshake of a WebSocket continues with the context of the call`() async throws
    {
        let transport = StubTransport { _ in .status(403) }
        let session = Session(transport: transport, layers: [{ RebuildingLayer(around: $0) }])
        let request = session.webSocketRequest(to: "ws://api.test/")
        _ = await request.events()
        #expect(transport.requests.map(\.context.id) == [request.id])
    }

    @Test func `a request of an earlier call that is sent again begins a call of its own`()
        async throws
    {
        let transport = StubTransport { job in
            job.request.url?.path == "/from" ? .redirect(to: "/to") : .text("x")
        }
        let session = Session(transport: transport, interceptor: Adapter { $2(.success($0)) })
        var asked = HTTPRequest(url: URL(string: "http://api.test/from"))
        asked.context[Tenant.self] = "blue"
        let first = session.request(asked)
        #expect(try await first.serializingString().value == "x")
        let redirected = try #require(first.performedRequests.last)
        #expect(redirected.context.hop == 1)
        let second = session.request(redirected)
        #expect(try await second.serializingString().value == "x")
        let sent = try #require(transport.requests.last)
        #expect(sent.context.id == second.id && second.id != first.id)
        #expect(sent.context.hop == 0 && sent.context[Tenant.self] == "blue")
    }
}

private enum Tenant: RequestContextKey { typealias Value = String }
private enum Colour: RequestContextKey { typealias Value = String }

/// A new request with the same parts.
private func rebuilt(_ request: HTTPRequest, colour: String? = "red") -> HTTPRequest {
    var made = HTTPRequest(
        url: request.url, method: request.method, headers: request.headers, body: request.body)
    if let colour { made.context[Colour.self] = colour }
    return made
}

private struct QuickRebuilding: RequestInterceptor, SynchronousRequestAdapter {
    var synchronous: (any SynchronousRequestAdapter)? { self }

    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) -> HTTPRequest {
        rebuilt(request)
    }
}

private struct RebuildingMiddleware: Middleware {
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        try await next(rebuilt(request))
    }
}

private final class RebuildingLayer: TransportLayer {
    let next: any Transport
    private let colour: String?

    init(around next: any Transport, colour: String? = "red") {
        self.next = next
        self.colour = colour
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        job.request = rebuilt(job.request, colour: colour)
        return next.start(job, handler: handler)
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        var job = job
        job.request = rebuilt(job.request, colour: colour)
        return next.connect(job, handler: handler)
    }
}

private final class Painting: TransportLayer {
    let next: any Transport

    init(around next: any Transport) { self.next = next }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        job.request.context[Colour.self] = "green"
        return next.start(job, handler: handler)
    }
}

private final class Replacing: TransportLayer {
    let next: any Transport

    init(around next: any Transport) { self.next = next }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        next.start(
            TransferJob(request: HTTPRequest(url: job.request.url), delivery: job.delivery),
            handler: handler)
    }
}
