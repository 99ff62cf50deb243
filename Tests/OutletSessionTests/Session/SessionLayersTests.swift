import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests user-defined transport layers.
@Suite struct SessionLayersTests {
    private final class Marks: Sendable {
        let all = Lock([String]())
    }

    /// Appends its name to a field, and records the paths of its jobs.
    private final class Marking: TransportLayer {
        let next: any Transport
        private let name: String
        private let seen: Marks

        init(around next: any Transport, _ name: String, _ seen: Marks) {
            self.next = next
            self.name = name
            self.seen = seen
        }

        func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
            seen.all.withLock { $0.append("\(name) \(job.request.url?.path() ?? "")") }
            var job = job
            let marks = job.request.headers["X-Mark"].map { "\($0) " } ?? ""
            job.request.headers.update(name: "X-Mark", value: marks + name)
            return next.start(job, handler: handler)
        }
    }

    private final class Waiting: TransportLayer {
        let next: any Transport

        init(around next: any Transport) { self.next = next }

        func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
            start(job, handler: handler) { await Task.yield() }
        }
    }

    @Test func `performedRequests has what layers have changed after they waited`() async {
        let marks = Marks()
        let session = Session(
            transport: StubTransport { _ in .status(200) },
            layers: [{ Waiting(around: Marking(around: $0, "a", marks)) }])
        let request = session.request("http://a.test/")
        _ = await request.serializingData(emptyResponseCodes: [200]).response
        #expect(request.performedRequests.map { $0.headers["X-Mark"] } == ["a"])
    }

    @Test func `layers get each hop that is sent, in order, but no cached response`()
        async
    {
        let transport = StubTransport { job in
            job.request.url?.path() == "/from"
                ? .redirect(to: "/to")
                : StubAnswer(
                    headers: ["Cache-Control": "max-age=60", "Set-Cookie": "a=1"],
                    body: Data("x".utf8))
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let seen = Marks()
        let session = Session(
            transport: transport, configuration: configuration,
            layers: [{ Marking(around: $0, "one", seen) }, { Marking(around: $0, "two", seen) }])
        let request = session.request("http://a.test/from")
        _ = await request.serializingData().response
        _ = await session.request("http://a.test/from").serializingData().response
        // The first response of /to has set a cookie, which is part of the key of the second one.
        let count = transport.requests.count
        _ = await session.request("http://a.test/to").serializingData().response
        #expect(transport.requests.count == count)
        #expect(
            seen.all.withLock { $0 }.prefix(4) == ["one /from", "two /from", "one /to", "two /to"])
        #expect(transport.requests.allSatisfy { $0.headers["X-Mark"] == "one two" })
    }

    @Test func `a repeated request is sent with its own values, not with those of the last one`()
        async throws
    {
        let transport = StubTransport { _ in .status(200) }
        var configuration = SessionConfiguration()
        configuration.headers = ["X-Session": "s"]
        let session = Session(transport: transport, configuration: configuration)
        let plain = HTTPRequest(
            url: URL(string: "http://a.test/"), headers: ["X-Own": "a long value of the request"])
        var posted = plain
        posted.method = .post
        posted.body = .data(Data("x".utf8))
        var slow = plain
        slow.timeoutInterval = 7
        var described = plain
        described.context.id = UUID()
        for request in [plain, posted, plain, slow, plain, described, plain] {
            _ = await session.request(request).serializingData(emptyResponseCodes: [200]).response
        }
        let sent = transport.requests
        #expect(sent.allSatisfy { $0.headers["X-Session"] == "s" && $0.headers["X-Own"] != nil })
        #expect(sent.map(\.method) == [.get, .post, .get, .get, .get, .get, .get])
        #expect(sent.map(\.hasBody) == [false, true, false, false, false, false, false])
        #expect(sent.map { $0.timeoutInterval == 7 } == sent.indices.map { $0 == 3 })
        #expect(sent.map(\.hasContext) == sent.indices.map { $0 == 5 })
    }

    @Test func `equal addresses with other methods or fields are other requests`() async {
        let transport = StubTransport { _ in .status(200) }
        let session = Session(transport: transport)
        let fields: [HTTPHeaders?] = [["X": "1"], ["X": "1"], ["X": "2"], nil]
        for (method, headers) in zip([HTTPMethod.get, .head, .get, .get], fields) {
            _ = await session.request("http://a.test/", method: method, headers: headers)
                .serializingData(emptyResponseCodes: [200]).response
        }
        #expect(transport.requests.map(\.method) == [.get, .head, .get, .get])
        #expect(transport.requests.map { $0.headers["X"] } == ["1", "1", "2", nil])
    }

    @Test func `fields that layers add are in the performed requests`() async {
        let transport = StubTransport(answers: [.status(204)])
        let session = Session(
            transport: transport, layers: [{ Marking(around: $0, "one", Marks()) }])
        let request = session.request("http://a.test/")
        _ = await request.serializingData(emptyResponseCodes: [204]).response
        #expect(request.performedRequests.map { $0.headers["X-Mark"] } == ["one"])
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["one"])
    }

    /// Decides at once to send each job, and calls closures before and after.
    private final class Deferring: TransportLayer {
        let next: any Transport
        private let queue = DispatchQueue(label: "test.deferring")
        private let before: @Sendable () -> Void
        private let after: @Sendable () -> Void

        init(
            around next: any Transport, before: @escaping @Sendable () -> Void,
            after: @escaping @Sendable () -> Void
        ) {
            self.next = next
            self.before = before
            self.after = after
        }

        func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
            before()
            defer { after() }
            return DeferredTransfer.start(job, on: queue, handler: handler) { answer in
                answer(.success(job))
                return {}
            } begin: { job, handler in
                self.next.start(job, handler: handler)
            }
        }
    }

    /// The layers between a request and its transfer.
    enum Around: CaseIterable, Sendable {
        case nothing
        case cache
        case authentication
        case coalescing
    }

    /// Starts a request, and calls a closure with it when its job has reached the innermost layer.
    private func start(
        through around: Around, to transport: StubTransport,
        atLayer body: @escaping @Sendable (Request) -> Void
    ) async throws -> (session: Session, request: DataRequest, task: DataTask<Data>) {
        var configuration = SessionConfiguration()
        configuration.urlCache = around == .cache ? ResponseCache() : nil
        configuration.urlCredentialStorage = around == .authentication ? CredentialStorage() : nil
        configuration.coalescesRequests = around == .coalescing
        let current = Lock<Request?>(nil)
        let started = Once<Bool>()
        let session = Session(
            transport: transport, configuration: configuration,
            layers: [
                {
                    Deferring(around: $0) {
                        if let request = current.withLock({ $0.take() }) { body(request) }
                    } after: {
                        started.set(true)
                    }
                }
            ])
        let request = session.request("http://a.test/")
        current.withLock { $0 = request }
        let task = request.serializingData(emptyResponseCodes: [204])
        #expect(try await started.value())
        return (session, request, task)
    }

    @Test(arguments: Around.allCases)
    func `a request suspended before a layer has decided is sent at resume`(around: Around)
        async throws
    {
        let transport = StubTransport(answers: [.status(204)])
        let (session, request, task) = try await start(through: around, to: transport) {
            $0.suspend()
        }
        #expect(transport.requests.isEmpty)
        #expect(request.isSuspended)
        request.resume()
        #expect(await task.response.response?.statusCode == 204)
        #expect(transport.requests.count == 1)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: Around.allCases)
    func `a request cancelled before a layer has decided is not sent`(around: Around) async throws {
        let transport = StubTransport(answers: [.status(204)])
        let (session, _, task) = try await start(through: around, to: transport) { $0.cancel() }
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        #expect(transport.requests.isEmpty)
        withExtendedLifetime(session) {}
    }
}
