import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestSupport
import Testing

/// Header values that are not UTF-8, read and set by plugins.
@Suite(.timeLimit(.minutes(patience * 2))) struct FieldBytesTests {
    /// The bytes that a value may contain, as the plugin sets them.
    private let all = Array(0x21...0x7E) + [0x09, 0x20] + Array(UInt8(0x80)...0xFF)

    @Test func `plugins read and write header values as the bytes on the wire`() async throws {
        let host = try PluginFolder(faulty: "FieldBytes").load()
        let received = Array("caf".utf8) + [0xE9, 0x09, 0xFF, 0x80]
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Received: ".utf8)
        let server = try ScriptedServer.start(
            .request, .send(head + received + Array("\r\n\r\n".utf8)))
        let session = Session(transport: CurlTransport(), plugins: host)
        let response = await session.request(server.baseURL).serializingString().response
        #expect(try response.result.get() == "replaced")
        #expect(
            server.received(on: 0).split(separator: 0x0A).contains(
                Array("X-Sent: ".utf8) + all + [0x0D]))
        #expect(response.response?.headers.map(\.valueBytes) == [received])
        withExtendedLifetime(session) {}
    }

    @Test func `header values of a plugin's response keep their bytes`() async throws {
        let host = try PluginFolder(faulty: "FieldBytes").load()
        let session = Session(transport: CurlTransport(), plugins: host)
        let response = await session.request(
            "http://127.0.0.1:9/", headers: ["X-Answer": "yes"]
        ).serializingString().response
        #expect(try response.result.get() == "replaced")
        #expect(response.response?.headers.map(\.valueBytes) == [all])
        withExtendedLifetime(session) {}
    }
}
