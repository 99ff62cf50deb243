import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Interim responses and trailers, and tasks on the transport's thread.
@Suite struct FieldTests {
    @Test func `a request provides interim responses and trailers`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
                    + "HTTP/1.1 103 Early Hints\r\nLink: </b.css>\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                    + "2\r\nab\r\n0\r\nX-Sum: 195\r\n\r\n"))
        defer { server.stop() }
        let session = Session()
        let links = Recorder<String>()
        let request = session.request(server.baseURL)
            .onInformationalResponse { links.record($0.headers["Link"] ?? "") }
        let response = await request.serializingData().response
        #expect(response.value == Data("ab".utf8))
        #expect(response.response?.statusCode == 200)
        #expect(request.informationalResponses.map(\.statusCode) == [103, 103])
        #expect(try await links.values(2) == ["</a.css>", "</b.css>"])
        #expect(request.trailers?["X-Sum"] == "195")
    }

    @Test func `a request provides interim responses and trailers over HTTP/2`() async throws {
        let server = try Node()
        var configuration = SessionConfiguration()
        configuration.transport.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        let links = Recorder<String>()
        let request = session.request(server.baseURL)
            .onInformationalResponse { head in
                if let link = head.headers["Link"] { links.record(link) }
            }
        let response = await request.serializingData().response
        #expect(response.value == Data("ab".utf8))
        #expect(response.response?.statusCode == 200)
        #expect(response.response?.httpVersion == "HTTP/2")
        #expect(request.informationalResponses.map(\.statusCode) == [100, 103, 103])
        #expect(try await links.values(2) == ["</a.css>", "</b.css>"])
        #expect(request.trailers?["X-Sum"] == "195")
        withExtendedLifetime(session) {}
        await server.stop()
    }

    @Test func `a plain response has no interim responses and no trailers`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"))
        defer { server.stop() }
        let session = Session()
        let request = session.request(server.baseURL)
        _ = await request.serializingData().response
        #expect(request.informationalResponses.isEmpty)
        #expect(request.trailers == nil)
    }

    @Test func `a task may run on the transport's own thread`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"), .again)
        defer { server.stop() }
        let session = Session()
        let executor = try #require(session.taskExecutor)
        let threads = try await Task(executorPreference: executor) {
            let before = threadName()
            _ = try await session.request(server.baseURL).serializingData().value
            return [before, threadName()]
        }.value
        #expect(threads == ["outlet-loop", "outlet-loop"])
    }
}

private func threadName() -> String {
    let name = (try? Data(contentsOf: URL(filePath: "/proc/thread-self/comm"))) ?? Data()
    return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
}
