import FoundationEssentials
import Outlet
import OutletTestSupport
import OutletTesting
import Testing

/// The sample `Guard`.
@Suite(.timeLimit(.minutes(2 * patience))) struct GuardTests {
    private let plugin = SamplePlugin(name: "guard")

    private func answering() throws -> ScriptedServer {
        try ScriptedServer.start(.request, .respond(body: "hello"))
    }

    /// Sends a request, and returns its value and the plugin's error.
    private func ask(
        _ address: String, _ host: PluginHost, headers: HTTPHeaders? = nil
    ) async -> (value: String?, error: PluginError?) {
        let session = PluginSession(host)
        let response = await session.response(to: address, headers: headers)
        return (response.value, response.error?.pluginError)
    }

    // MARK: Rules

    private static let example = #"{"allow": ["api.example.com", "*.example.org"]}"#

    @Test(arguments: [
        (example, "http://api.example.com/", true),
        (example, "https://API.Example.COM:8443/x?y", true),
        (example, "https://api.example.com./", true), (example, "https://%61pi.example.com/", true),
        (example, "https://user:pw@api.example.com/", true),
        (example, "wss://api.example.com", true),
        (example, "https://a.example.org/", true), (example, "https://a.b.example.org/", true),
        (example, "https://example.org/", false), (example, "https://xexample.org/", false),
        (example, "https://example.com/", false), (example, "https://x.api.example.com/", false),
        (example, "https://api.example.com.evil.test/", false),
        (example, "https://api.example.com@evil.test/", false),
        (example, "https://api.example.com:80@evil.test/", false),
        (example, "https://evil.test/@api.example.com", false),
        (example, "https://evil.test#@api.example.com/", false),
        (example, "https://evil.test?@api.example.com/", false),
        (example, "https://evil.test\\@api.example.com/", false),
        (example, "https://a@b@api.example.com/", false),
        (example, "https://api.example.com%2F.evil.test/", false),
        (example, "https://api.example.com%00.evil.test/", false),
        (example, "https://api.example.com%/", false),
        (example, "https://api.example.com:x/", false),
        (example, "https://api.example.com:0/", false),
        (example, "https://api.example.com:65536/", false),
        (example, "https://api..example.org/", false), (example, "https://.example.org/", false),
        (example, "https://\u{430}pi.example.com/", false), (example, "https:///", false),
        (example, "ftp://api.example.com/", false), (example, "api.example.com", false),
        (example, "", false), (example, "https:api.example.com", false),
        ("{}", "https://api.example.com/", false), (#"{"allow": []}"#, "https://a.test/", false),
        (#"{"deny": ["b.test"]}"#, "https://a.test/", false),
        // IP addresses are compared in canonical form.
        (#"{"allow": ["127.0.0.1"]}"#, "http://127.1/", true),
        (#"{"allow": ["127.0.0.1"]}"#, "http://2130706433/", true),
        (#"{"allow": ["127.0.0.1"]}"#, "http://0x7f.0.0.01/", true),
        (#"{"allow": ["127.0.0.1"]}"#, "http://[::ffff:127.0.0.1]/", true),
        (#"{"allow": ["127.0.0.1"]}"#, "http://[::ffff:7f00:1]:8080/", true),
        (#"{"allow": ["0x7f.1"]}"#, "http://127.0.0.1/", true),
        (#"{"allow": ["127.0.0.1"]}"#, "http://127.0.0.2/", false),
        (#"{"allow": ["127.0.0.1"]}"#, "http://127.0.0.1.evil.test/", false),
        (#"{"allow": ["127.0.0.1"]}"#, "http://[::1]/", false),
        (#"{"allow": ["127.0.0.1"]}"#, "http://256.1/", false),
        (#"{"allow": ["[::1]"]}"#, "http://[0:0:0:0:0:0:0:1]:81/", true),
        (#"{"allow": ["[2001:DB8::1]"]}"#, "http://[2001:db8:0::0:1]/", true),
        (#"{"allow": ["[fe80::1]"]}"#, "http://[fe80::1%25lo]/", true),
        (#"{"allow": ["[::1]"]}"#, "http://[::1/", false),
        (#"{"allow": ["[::1]"]}"#, "http://[::1]x/", false),
        (#"{"allow": ["*.0.0.1.test"]}"#, "http://127.0.0.1/", false),
        (#"{"allow": ["xn--bcher-kva.example"]}"#, "https://XN--bcher-kva.example/", true),
        // Ports, schemes.
        (#"{"allow": ["a.test:8080"]}"#, "http://a.test:8080/", true),
        (#"{"allow": ["a.test:8080"]}"#, "http://a.test/", false),
        (#"{"allow": ["a.test:443"]}"#, "https://a.test/", true),
        (#"{"allow": ["a.test:443"]}"#, "http://a.test/", false),
        (#"{"allow": ["https://a.test"]}"#, "https://a.test/", true),
        (#"{"allow": ["https://a.test"]}"#, "wss://a.test/", true),
        (#"{"allow": ["https://a.test"]}"#, "http://a.test/", false),
        (#"{"allow": ["HTTP://A.test:"]}"#, "http://a.test:99/", true),
        // "deny" takes precedence over "allow".
        (#"{"allow": ["*"], "deny": ["*.evil.test"]}"#, "http://a.test/", true),
        (#"{"allow": ["*:443"]}"#, "http://a.test/", false),
        (#"{"allow": ["*:443"]}"#, "https://[::1]/", true),
        (#"{"allow": ["*"], "deny": ["*.evil.test"]}"#, "http://x.EVIL.test./", false),
        (#"{"allow": ["*"], "deny": ["127.0.0.1", "[::1]"]}"#, "http://0177.1/", false),
        (#"{"allow": ["*"], "deny": ["127.0.0.1"]}"#, "http://[::ffff:127.0.0.1]/", false),
    ])
    func `hosts are compared in canonical form`(
        configuration: String, address: String, isAllowed: Bool
    )
        throws
    {
        let host = try plugin.host(configuration)
        #expect(
            try host.call("dev.outlet.guard.allows", ["GET", .text(address)]) == .bool(isAllowed))
    }

    private static let paths =
        #"{"allow": ["GET,HEAD a.test/v1", "POST a.test/up/"], "deny": ["a.test/v1/secret"]}"#

    @Test(arguments: [
        ("GET", "/v1", true), ("HEAD", "/v1/", true), ("GET", "/v1/x?y=/../", true),
        ("GET", "/%761/x", true), ("GET", "/v10", false), ("GET", "/", false), ("GET", "", false),
        ("GET", "/V1", false), ("POST", "/v1", false), ("get", "/v1", false), ("GE", "/v1", false),
        ("POST", "/up/x", true), ("POST", "/up", false), ("POST", "/up/", true),
        ("GET", "/v1/secret", false), ("GET", "/v1/secret/x", false), ("GET", "/v1/secrets", true),
        ("GET", "/v1/%73ecret", false), ("GET", "/v1/../x", false), ("GET", "/v1/%2e%2E/x", false),
        ("GET", "/v1/.%2e", false), ("GET", "/v1/./x", false), ("GET", "/v1//secret", false),
        ("GET", "/v1/..;a=b/x", false), ("GET", "/v1/..%2fx", false), ("GET", "/v1\\..\\x", false),
        ("GET", "/v1/%252e%252e/x", false), ("GET", "/v1/%00", false), ("GET", "/v1/%", false),
        ("GET", "/v1/.../x", true), ("GET", "/v1/.hidden", true), ("GET", "/v1/a..b", true),
        ("GET", "/v1/a;b/c", false), ("GET", "/v1/secret;a=b", false),
        ("GET", "/v1/secret%3Ba", false),
    ])
    func `rules match paths and methods, and ambiguous paths are denied`(
        method: String, path: String, isAllowed: Bool
    ) throws {
        let host = try plugin.host(Self.paths)
        #expect(
            try host.call(
                "dev.outlet.guard.allows", [.text(method), .text("http://a.test\(path)")])
                == .bool(isAllowed))
    }

    // MARK: On the wire

    @Test func `an allowed request is sent`() async throws {
        let server = try answering()
        let host = try plugin.host(#"{"allow": ["GET http://127.0.0.1:\#(server.port)"]}"#)
        #expect(await ask(server.baseURL, host).value == "hello")
    }

    @Test(arguments: ["{}", #"{"allow": ["localhost", "127.0.0.1:1"]}"#])
    func `a request that no rule allows is not sent`(configuration: String) async throws {
        let server = try answering()
        let host = try plugin.host(configuration)
        let error = await ask("\(server.baseURL)/path?token=secret", host).error
        #expect(error?.code == "not-allowed" && error?.hook == .finalize)
        #expect(
            error?.message
                == "a request to http://127.0.0.1:\(server.port) is not allowed: no rule of \"allow\" "
                + "matches it")
        #expect(server.connections.count == 0)
    }

    @Test(arguments: [
        "http://127.1:PORT/", "http://2130706433:PORT/", "http://0x7f000001:PORT/",
        "http://%31%32%37.0.0.1:PORT/", "http://allowed.test@127.0.0.1:PORT/",
        "http://[::ffff:127.0.0.1]:PORT/", "http://LOCALHOST:PORT/", "http://localhost.:PORT/",
        "http://localhos%74:PORT/", "http://ｌocalhost:PORT/",
    ])
    func `a denied host is denied in each spelling`(address: String) async throws {
        let server = try answering()
        let host = try plugin.host(#"{"allow": ["*"], "deny": ["127.0.0.1", "localhost"]}"#)
        let (value, error) = await ask(
            address.replacing("PORT", with: "\(server.port)"), host)
        #expect(value == nil && error?.code == "not-allowed", "\(error?.message ?? "no error")")
        #expect(server.connections.count == 0)
    }

    @Test func `a redirect to a host that is not allowed is not followed`() async throws {
        let other = try answering()
        let target = "http://localhost:\(other.port)/?token=secret"
        let server = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: \(target)"]))
        let host = try plugin.host(#"{"allow": ["127.0.0.1"]}"#)
        let error = await ask(server.baseURL, host).error
        #expect(error?.code == "not-allowed" && error?.hook == .redirect)
        #expect(
            error?.message.hasPrefix("a request to http://localhost:\(other.port) is not") == true)
        #expect(error.map { "\($0)" }?.contains("secret") == false)
        #expect(server.requests.count == 1 && other.connections.count == 0)
    }

    @Test func `the plugin refuses requests even if failsOpen is set`() async throws {
        let other = try answering()
        let server = try ScriptedServer.start(
            .request,
            .respond("302 Found", headers: ["Location: http://localhost:\(other.port)/"]))
        let host = try plugin.host(
            #"{"allow": ["127.0.0.1:\#(server.port)"]}"#, failsOpen: true)
        #expect(await ask(other.baseURL, host).error?.hook == .finalize)
        #expect(await ask(server.baseURL, host).error?.hook == .redirect)
        #expect(other.connections.count == 0)
    }

    @Test func `a redirect to an allowed host is followed`() async throws {
        let other = try answering()
        let server = try ScriptedServer.start(
            .request,
            .respond("302 Found", headers: ["Location: http://localhost:\(other.port)/x"]))
        let host = try plugin.host(#"{"allow": ["127.0.0.1", "localhost"]}"#)
        #expect(await ask(server.baseURL, host).value == "hello")
    }

    @Test func `a redirect that a later plugin changes to a denied host is not sent`() async throws
    {
        let other = try answering()
        let server = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: /next"]))
        let host = try plugin.host(
            #"{"allow": ["127.0.0.1"]}"#, others: ["libFaultyWire.so"],
            othersConfiguration: [
                "faulty.wire": #"{"redirect": "http://localhost:\#(other.port)/"}"#
            ])
        #expect(host.plugins.map(\.id).first == "dev.outlet.guard")
        let error = await ask(server.baseURL, host).error
        #expect(error?.code == "not-allowed" && error?.hook == .finalize)
        #expect(other.connections.count == 0)
    }

    @Test(arguments: [
        (#"["http://a.test"]"#, false), (#"["a.test:80"]"#, false), (#"["https://a.test"]"#, true),
        (#"["a.test:443"]"#, true),
    ])
    func `the request is checked as HSTS has changed it`(
        rules: String, isSent: Bool
    ) async throws {
        let stub = StubTransport { _ in .text("hello") }
        var configuration = SessionConfiguration()
        configuration.hsts = .memory
        let end = Date(timeIntervalSinceNow: 3600)
        configuration.hsts?.setPolicy(.init(host: "a.test", expiresDate: end))
        let session = Session(
            transport: stub, configuration: configuration,
            plugins: try plugin.host(#"{"allow": \#(rules)}"#))
        let response = await session.request("http://a.test/").serializingString().response
        #expect((response.value == "hello") == isSent)
        #expect(stub.requests.map { $0.url?.absoluteString } == (isSent ? ["https://a.test/"] : []))
    }

    @Test(arguments: ["evil.test", "127.0.0.1", "127.0.0.1:1", "localhost:PORT"])
    func `a Host field with another server is refused`(name: String) async throws {
        let server = try answering()
        let host = try plugin.host(#"{"allow": ["127.0.0.1:\#(server.port)"]}"#)
        let session = PluginSession(host)
        let response = await session.response(
            to: server.baseURL, headers: ["Host": name.replacing("PORT", with: "\(server.port)")])
        #expect(
            response.error?.pluginError?.code == "not-allowed",
            "\(response.error.map { "\($0)" } ?? "")")
        #expect(server.connections.count == 0)
    }

    @Test func `the handshake of a WebSocket is checked`() async throws {
        let server = try answering()
        let session = try plugin.session(#"{"allow": ["https://127.0.0.1"]}"#)
        let ended = Recorder<SessionError?>()
        session.session.webSocketRequest(to: "ws://127.0.0.1:\(server.port)/").streamMessageEvents {
            event in
            if case .completed(let completion) = event.kind { ended.record(completion.error) }
        }
        let error = try await ended.values(1)[0]
        #expect(error?.pluginError?.code == "not-allowed", "\(error.map { "\($0)" } ?? "")")
        #expect(server.connections.count == 0)
        withExtendedLifetime(session) {}
    }

    // MARK: Configuration

    @Test(arguments: [
        (#"{"allow": "a.test"}"#, "/allow: "),
        (#"{"allow": [1]}"#, "/allow/0: "),
        (#"{"deny": [["a"]]}"#, "/deny/0: "),
        (#"{"alow": ["a.test"]}"#, "'alow'"),
        (#"{"allow": ["a.test"], "denied": ["b.test"]}"#, "'denied'"),
        (#"{"allow": ["a.test", ""]}"#, "\"allow\": rule 2: it has no host"),
        (#"{"allow": ["bücher.example"]}"#, "\"allow\": rule 1: not plain ASCII"),
        (#"{"allow": ["a.*.test"]}"#, "\"allow\": rule 1: its host has a character"),
        (#"{"allow": ["*x.test"]}"#, "\"allow\": rule 1: its host has a character"),
        (#"{"allow": ["*.10"]}"#, "\"allow\": rule 1: there is nothing under an IP address"),
        (#"{"allow": ["ftp://a.test"]}"#, "\"allow\": rule 1: its scheme"),
        (#"{"allow": ["a.test:99999"]}"#, "\"allow\": rule 1: its port"),
        (#"{"allow": ["::1"]}"#, "\"allow\": rule 1: its port"),
        (#"{"allow": ["[::1"]}"#, "\"allow\": rule 1: its host has one bracket"),
        (#"{"allow": ["1.2.3.4.5"]}"#, "\"allow\": rule 1: its host is not an IPv4 address"),
        (#"{"deny": ["get a.test"]}"#, "\"deny\": rule 1: before its space"),
        (#"{"deny": [" a.test"]}"#, "\"deny\": rule 1: it begins with a space"),
        (#"{"deny": ["a.test/x/../y"]}"#, "\"deny\": rule 1: its path can be read"),
        (#"{"deny": ["a.test/x?y"]}"#, "\"deny\": rule 1: a path ends before a query"),
    ])
    func `the error of an invalid configuration names the setting`(
        configuration: String, words: String
    ) {
        let refusal = plugin.refusal(of: configuration)
        #expect(refusal?.contains(words) == true, "\(refusal ?? "it started")")
    }
}
