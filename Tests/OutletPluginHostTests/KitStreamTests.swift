import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

/// A plugin written in Swift that processes bodies piece by piece.
@Suite(.timeLimit(.minutes(patience))) struct KitStreamTests {
    private let recorder = ActivityRecorder()

    private func response(
        mode: String, _ address: String, method: HTTPMethod = .get
    ) async throws -> DataResponse<String, SessionError> {
        let host = try PluginFolder(samples: ["libKitFixture.so"]).load(observer: recorder)
        let session = Session(transport: CurlTransport(), plugins: host)
        let response = await session.request(
            address, method: method, headers: ["X-Mode": mode]
        ).serializingString().response
        withExtendedLifetime(session) {}
        _ = await host.shutDown()
        return response
    }

    private func watched(_ body: String) async throws -> DataResponse<String, SessionError> {
        let server = try ScriptedServer.start(.request, .respond("200 OK", body: body))
        return try await response(mode: "watch", server.baseURL)
    }

    private func made(_ mode: String) async throws -> DataResponse<String, SessionError> {
        let server = try LoopbackServer.start()
        return try await response(mode: mode, "\(server.baseURL)/post", method: .post)
    }

    private var lines: [String] { recorder.lines.values.map(\.message) }

    @Test func `a plugin receives a whole body in pieces`() async throws {
        let response = try await watched("hello")
        #expect(response.value == "hello")
        let seen = lines.filter { $0.contains(" at ") || $0.hasPrefix("watched") }
        #expect(
            seen == [
                "200 at 0: 5, end false", "200 at 5: 0, end true", "watched, whole true",
            ])
        #expect(recorder.misbehaviours.values.isEmpty)
    }

    @Test func `an error that a plugin throws for a piece fails the request`() async throws {
        let error = try await watched("axx").error?.underlyingError
        let failure = try #require(error as? PluginError)
        #expect(failure.hook == .streamPiece && failure.code == "has-x")
        #expect(failure.message == "there is an x")
        #expect(lines.contains("watched, whole false"))
    }

    @Test(arguments: [("make", "10 bytes, streamed"), ("make-chunked", "streamed")])
    func `the body that a plugin makes is reported as a stream`(
        mode: String, size: String
    ) async throws {
        _ = try await made(mode)
        #expect(recorder.activities.values.flatMap(\.effects).contains("body: \(size)"))
    }

    @Test(arguments: ["make", "make-chunked"])
    func `a plugin makes a body in pieces`(mode: String) async throws {
        let response = try await made(mode)
        #expect(response.value?.contains("0123456789\"") == true)
        #expect(response.value?.contains("Content-Length") == (mode == "make"))
        #expect(lines.contains("made, whole true"))
    }

    @Test func `an error that a plugin throws instead of making a piece fails the request`()
        async throws
    {
        let error = try await made("make-short").error?.underlyingError
        let failure = try #require(error as? PluginError)
        #expect(failure.hook == .streamMake && failure.code == "dry")
        #expect(lines.contains("made, whole false"))
    }
}
