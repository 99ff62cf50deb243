import FoundationEssentials
import Outlet
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

/// A body that is generated while it is sent.
private final class Letters: BodyStream {
    private let count: Int
    private let position = Lock(0)
    let length: Int64?

    init(count: Int, announced: Bool) {
        self.count = count
        length = announced ? Int64(count) : nil
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        position.withLock { position in
            let size = min(buffer.count, count - position, 1000)
            for index in 0..<size {
                buffer[index] = UInt8(ascii: "a") + UInt8((position + index) % 26)
            }
            position += size
            return size
        }
    }

    func rewind() throws { position.withLock { $0 = 0 } }

    var text: String {
        String((0..<count).map { Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8($0 % 26))) })
    }
}

/// Uploads over libcurl.
@Suite struct UploadTests {
    private struct Echo: Decodable, Sendable {
        let method: String
        let data: String
        let headers: [String: String]
    }

    let server: LoopbackServer

    init() throws { server = try LoopbackServer.start() }

    @Test func `data and a file are uploaded`() async throws {
        defer { server.stop() }
        let session = Session()
        let directory = try TemporaryDirectory()
        try directory.write("from a file", to: "body")
        let requests = [
            session.upload(Data("from memory".utf8), to: "\(server.baseURL)/anything"),
            session.upload(
                URL(filePath: directory.path("body")), to: "\(server.baseURL)/anything",
                method: .put),
        ]
        var echoes: [Echo] = []
        for request in requests {
            echoes.append(try await request.serializingDecodable(Echo.self).value)
        }
        #expect(echoes.map(\.data) == ["from memory", "from a file"])
        #expect(echoes.map(\.method) == ["POST", "PUT"])
        #expect(echoes.allSatisfy { $0.headers["Content-Length"] == "11" })
    }

    @Test(arguments: ["/anything", "/redirect-to?url=/anything&status_code=307"])
    func `a file that reports no size is sent to its end`(target: String) async throws {
        defer { server.stop() }
        let file = URL(filePath: "/proc/version")
        let content = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let session = Session()
        let echo = try await session.upload(file, to: "\(server.baseURL)\(target)")
            .validate().serializingDecodable(Echo.self).value
        withExtendedLifetime(session) {}
        #expect(echo.data == content)
        #expect(echo.headers["Content-Length"] == nil)
    }

    @Test(arguments: [0, .max]) func `a part that reports no size is sent to its end`(
        threshold: UInt64
    ) async throws {
        let waiting = try ScriptedServer.start(.request, .respond(body: "done"))
        let file = URL(filePath: "/proc/version")
        let form = MultipartFormData(boundary: "x")
        form.append(file, withName: "file", fileName: "a", mimeType: "text/plain")
        form.append(Data("end".utf8), withName: "last")
        let session = Session()
        let response = await session.upload(
            multipartFormData: form, to: waiting.baseURL, usingThreshold: threshold
        )
        .serializingData().response
        withExtendedLifetime(session) {}
        #expect(response.error == nil)
        let sent = try #require(waiting.requests.values.first)
        let body = String(decoding: sent.body, as: UTF8.self)
        #expect(body.contains(String(decoding: try Data(contentsOf: file), as: UTF8.self)))
        #expect(body.contains("end") && body.contains("--x--"))
    }

    @Test(arguments: [true, false], [200, 307, 308])
    func `a stream is sent, and sent again after a redirect`(
        announced: Bool, code: Int
    ) async throws {
        defer { server.stop() }
        let session = Session()
        let letters = Letters(count: 100_000, announced: announced)
        let target = "/anything"
        let url =
            code == 200 ? target : "/redirect-to?url=\(target)&status_code=\(code)"
        let echo = try await session.upload(letters, to: "\(server.baseURL)\(url)")
            .validate().serializingDecodable(Echo.self).value
        #expect(echo.data == letters.text)
        #expect((echo.headers["Content-Length"] != nil) == announced)
    }

    @Test func `the progress of an upload ends with the total size`() async throws {
        defer { server.stop() }
        let session = Session()
        let progress = Recorder<TransferProgress>()
        let request = session.upload(Data(count: 3_000_000), to: "\(server.baseURL)/status/204")
            .uploadProgress { progress.record($0) }
        #expect(await request.serializingData().response.error == nil)
        let values = try await progress.values { $0.fractionCompleted == 1 }
        #expect(
            values.last
                == TransferProgress(completedUnitCount: 3_000_000, totalUnitCount: 3_000_000))
        #expect(
            zip(values, values.dropFirst())
                .allSatisfy { $0.completedUnitCount <= $1.completedUnitCount })
    }

    @Test func `upload progress is reported before the response, with the total size`() async throws
    {
        server.stop()
        let gate = try Gate()
        let waiting = try ScriptedServer.start(.request, .wait(gate), .respond(body: "ok"))
        defer { waiting.stop() }
        let session = Session()
        let progress = Recorder<TransferProgress>()
        let task = session.upload(Data(count: 3_000_000), to: waiting.baseURL)
            .uploadProgress { progress.record($0) }.serializingString()
        async let response = task.response
        // Before the server responds.
        let first = try await progress.values(1)[0]
        gate.open()
        #expect(await response.value == "ok")
        #expect(first.completedUnitCount > 0 && first.totalUnitCount == 3_000_000)
        let values = try await progress.values { $0.isFinished }
        #expect(values.allSatisfy { $0.totalUnitCount == 3_000_000 })
        #expect(
            zip(values, values.dropFirst())
                .allSatisfy { $0.completedUnitCount < $1.completedUnitCount })
    }

    @Test func `a stream is sent again for a retry`() async throws {
        server.stop()
        let broken = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .reset]
                : [.request, .respond(headers: ["Connection: close"], body: "ok")]
        }
        defer { broken.stop() }
        let session = Session(
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let letters = Letters(count: 5000, announced: true)
        let value = try await session.upload(letters, to: broken.baseURL, method: .put)
            .serializingString().value
        #expect(value == "ok")
        let bodies = try await broken.requests.values(2).map {
            String(decoding: $0.body, as: UTF8.self)
        }
        #expect(bodies == [letters.text, letters.text])
    }

    @Test func `the error of a missing file contains its path`() async throws {
        defer { server.stop() }
        let session = Session()
        let response = await session.upload(
            URL(filePath: "/nowhere/file"), to: "\(server.baseURL)/anything"
        ).serializingData().response
        #expect(response.error?.transferError?.code == .cannotOpenFile)
        #expect("\(response.error.map { "\($0)" } ?? "")".contains("/nowhere/file"))
    }
}
