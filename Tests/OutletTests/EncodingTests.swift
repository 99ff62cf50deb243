import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// Parameters and forms as a server receives them.
@Suite struct EncodingTests {
    let server: LoopbackServer
    let scratch: TemporaryDirectory
    let session = Session()

    init() throws {
        server = try LoopbackServer.start()
        scratch = try TemporaryDirectory()
    }

    private struct Echo: Decodable, Sendable {
        let args: [String: String]
        let headers: [String: String]
        let form: [String: String]?
        let files: [String: String]?
        let json: JSONValue?
    }

    @Test func `parameters are sent in query, form and JSON`() async throws {
        let parameters: Parameters = ["a b": "c&d=é", "n": 1, "yes": true]
        let query = try await session.request("\(server.baseURL)/get?x=1", parameters: parameters)
            .serializingDecodable(Echo.self).value
        #expect(query.args == ["x": "1", "a b": "c&d=é", "n": "1", "yes": "1"])
        let form = try await session.request(
            "\(server.baseURL)/post", method: .post, parameters: parameters
        ).serializingDecodable(Echo.self).value
        #expect(form.form == ["a b": "c&d=é", "n": "1", "yes": "1"])
        let json = try await session.request(
            "\(server.baseURL)/post", method: .post, parameters: parameters,
            encoding: JSONEncoding.default
        ).serializingDecodable(Echo.self).value
        #expect(json.json?["yes"] == true)
        #expect(json.json?["a b"] == "c&d=é")
        server.stop()
    }

    @Test(arguments: [nil, "zstd, br, gzip"])
    func `zstd is decoded if the request accepts it, and is not accepted by default`(
        wish: String?
    ) async throws {
        let coded = try #require(Framing.coded.first { $0.head.contains("zstd") })
        let answers = try ScriptedServer.start { _ in
            [
                .answer { request in
                    request.head.contains("zstd") ? coded.bytes : Framing.plain[0].bytes
                }
            ]
        }
        let response = await session.request(
            answers.baseURL, headers: wish.map { [.acceptEncoding($0)] }
        ).serializingString().response
        #expect(response.value == Framing.text)
        #expect(response.response?.headers["Content-Encoding"] == wish.map { _ in "zstd" })
        server.stop()
    }

    @Test(arguments: [UInt64.max, 0])
    func `a multipart form is sent completely with its exact length`(threshold: UInt64) async throws
    {
        let large = String(repeating: "0123456789abcdef", count: 20_000)
        let file = URL(filePath: try scratch.write(large, to: "f.txt"))
        let form = MultipartFormData()
        form.append(Data("français".utf8), withName: "text")
        form.append(file, withName: "file")
        form.append(Data("{}".utf8), withName: "json", fileName: "a.json", mimeType: nil)
        let echo = try await session.upload(
            multipartFormData: form, to: "\(server.baseURL)/post", usingThreshold: threshold
        ).serializingDecodable(Echo.self).value
        #expect(echo.form == ["text": "français"])
        #expect(echo.files == ["file": large, "json": "{}"])
        #expect(echo.headers["Content-Length"] == "\(try form.encode().count)")
        #expect(echo.headers["Transfer-Encoding"] == nil)
        server.stop()
    }

    @Test func `a file that shrinks before it is sent fails the upload`() async throws {
        let file = URL(filePath: try scratch.write("0123456789", to: "f.txt"))
        let form = MultipartFormData()
        form.append(file, withName: "file")
        try scratch.write("01234", to: "f.txt")
        let response = await session.upload(
            multipartFormData: form, to: "\(server.baseURL)/post", usingThreshold: 0
        ).serializingData().response
        #expect(
            response.error?.description.contains("/f.txt: it ended after 5 of 10 bytes") == true)
        server.stop()
    }
}
