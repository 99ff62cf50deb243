import FoundationEssentials
import OutletObservation
import Outlet
import OutletTestServer
import OutletTestSupport
import OutletTesting
import Testing

/// Archives of transfers over a real network connection.
@Suite struct ArchiveTests {
    private enum Users: TargetType {
        case user(URL)

        var baseURL: URL {
            switch self {
            case .user(let base): base
            }
        }
        var path: String { "get" }
        var method: HTTPMethod { .get }
        var task: HTTPTask { .requestPlain }
        var headers: [String: String]? { nil }
    }

    @Test(arguments: [
        ("404 Nowhere To Be Found", "Nowhere To Be Found"), ("404 ", ""), ("404", ""),
        ("404 see http://a.test/?token=s3cret", "see http://a.test/?token=•••"),
    ])
    func `an entry has the server's own reason phrase`(
        status: String, phrase: String
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(status, body: "x"))
        let recorder = HARRecorder()
        let session = Session(eventMonitors: [recorder])
        _ = await session.request(server.baseURL).serializingString().response
        let entry = try #require(recorder.archive.log.entries.first)
        #expect(entry.response.status == 404 && entry.response.statusText == phrase)
    }

    @Test func `recorded responses are replayed after the server has stopped`() async throws {
        let server = try LoopbackServer.start()
        let base = try #require(URL(string: server.baseURL))
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path).appending(path: "session.har")
        func use(_ session: Session) async throws -> [String] {
            let text = await session.request(base.appending(path: "redirect/2"))
                .serializingString().response
            let gzip = await session.request(base.appending(path: "gzip")).serializingData()
                .response
            let provider = Provider<Users>(session: session)
            let user = try await provider.request(.user(base))
            return [
                text.value ?? "\(text)", "\(gzip.value?.count ?? 0)",
                String(decoding: user.data, as: UTF8.self),
            ]
        }
        let recording = try RecordingTransport(wrapping: CurlTransport(), to: file)
        let live = try await use(Session(transport: recording))
        try await recording.finish()
        server.stop()
        let replay = try ReplayTransport(from: file)
        #expect(try await use(Session(transport: replay)) == live)
        #expect(replay.unused.isEmpty && replay.unmatched.isEmpty)
    }

    @Test func `an archive contains the timings of each transfer and reused connections`()
        async throws
    {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let recorder = HARRecorder(limits: .bodies(upTo: 10_000))
        let session = Session(eventMonitors: [recorder])
        _ = await session.request("\(server.baseURL)/redirect/1").serializingString().response
        _ = await session.request("\(server.baseURL)/post", method: .post).serializingString()
            .response
        let entries = recorder.archive.log.entries
        #expect(entries.map(\.response.status) == [302, 200, 200])
        #expect(entries.map { $0.timings.connect >= 0 } == [true, false, false])
        #expect(Set(entries.map(\.connection)).count == 1)
        for entry in entries {
            let stages = [
                entry.timings.blocked, entry.timings.dns, entry.timings.connect,
                entry.timings.send, entry.timings.wait, entry.timings.receive,
            ].filter { $0 >= 0 }
            #expect(abs(stages.reduce(0, +) - entry.time) < 0.01)
            #expect(entry.serverIPAddress == "127.0.0.1")
            #expect(entry.response.headersSize > 0 && entry.request.headersSize > 0)
        }
    }
}
