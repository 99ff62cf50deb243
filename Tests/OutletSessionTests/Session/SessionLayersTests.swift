import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletSession
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

    @Test func `fields that layers add are in the performed requests`() async {
        let transport = StubTransport(answers: [.status(204)])
        let session = Session(
            transport: transport, layers: [{ Marking(around: $0, "one", Marks()) }])
        let request = session.request("http://a.test/")
        _ = await request.serializingData(emptyResponseCodes: [204]).response
        #expect(request.performedRequests.map { $0.headers["X-Mark"] } == ["one"])
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["one"])
    }
}
