import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// The fields that plugins receive are those that a server receives.
@Suite(.timeLimit(.minutes(patience))) struct WireFieldTests {
    @Test(arguments: ["GET", "POST", "POST body", "POST file", "PUT basic", "DELETE bearer"])
    func `a plugin sees the fields that are sent`(kind: String) async throws {
        let asks = "WWW-Authenticate: \(kind.hasSuffix("bearer") ? "Bearer" : "Basic") realm=\"x\""
        let server = try ScriptedServer.start(
            .request,
            .respond("401 Unauthorized", headers: ["Set-Cookie: a=b", asks], body: "who?"),
            .request, .respond(headers: ["Set-Cookie: a=b"], body: "ok"), .again)
        let recorder = FieldRecorder()
        var options = PluginHost.Options()
        options.configuration = ["faulty.wire": #"{"finalize": "look"}"#]
        options.observer = recorder
        let host = try PluginHost.load(
            [.file(Products.path("libFaultyWire.so"))], options: options)
        var configuration = SessionConfiguration.default
        configuration.proxy = .none
        let session = Session(configuration: configuration, plugins: host)
        let words = kind.split(separator: " ").map(String.init)
        var request = HTTPRequest(
            url: URL(string: server.baseURL), method: HTTPMethod(rawValue: words[0]))
        let directory = try TemporaryDirectory()
        switch words.last {
        case "body": request.body = .data(Data("abc".utf8))
        case "file": request.body = .file(path: try directory.write("abcd", to: "body"))
        default: break
        }
        let credential =
            switch words.last {
            case "basic": Credential(user: "user", password: "secret", scheme: .basic)
            case "bearer": Credential(bearerToken: "token")
            default: Credential?.none
            }
        let first = session.request(request)
        if let credential { first.authenticate(with: credential) }
        _ = await first.serializingString().response
        if credential == nil { _ = await session.request(request).serializingString().response }
        #expect(server.requests.count == 2)
        let lines = server.requests.values.flatMap {
            $0.head.split(separator: "\r\n").dropFirst().map(String.init)
        }
        #expect(recorder.fields.withLock { $0 }.sorted() == lines.sorted())
        #expect(lines.contains("Cookie: a=b"))
        #expect(lines.contains { $0.hasPrefix("Authorization: ") } == (credential != nil))
        #expect(await host.shutDown() == [])
    }
}

/// Records the fields that a plugin has logged, as lines.
private final class FieldRecorder: PluginObserver {
    let fields = Lock([String]())

    func pluginDidLog(_ line: PluginLogLine) {
        fields.withLock { $0 += line.facts.map { "\($0.name): \($0.value)" } }
    }
}
