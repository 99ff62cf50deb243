import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletObservation
@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

@Suite struct CURLDescriptionTests {
    let session = Session(
        transport: StubTransport { _ in .text("x") },
        configuration: {
            var configuration = SessionConfiguration.default
            configuration.headers = ["X-Default": "1", "X-Both": "session"]
            return configuration
        }())

    /// The command of a finished request.
    private func command(_ request: DataRequest, redacting: Bool = true) async -> String {
        _ = await request.serializingUnserialized().response
        return request.cURLDescription(redactingSecrets: redacting)
    }

    @Test func `options have the order of the fields, the request's before the session's`()
        async
    {
        var request = HTTPRequest(
            url: URL(string: "http://example.test/post?a=1"), method: .post,
            headers: ["X-Both": "own", "Content-Type": "text/plain", "Cookie": "k=v"],
            body: .data(Data("it's".utf8)))
        request.headers.append(name: "X-Empty", value: "")
        let text = await command(
            session.request(request).authenticate(username: "me", password: "pw"))
        #expect(
            text == """
                $ curl -v \\
                \t-X POST \\
                \t-u 'me:•••' \\
                \t-b 'k=•••' \\
                \t-H 'X-Both: own' \\
                \t-H 'Content-Type: text/plain' \\
                \t-H 'X-Empty;' \\
                \t-H 'X-Default: 1' \\
                \t-d 'it'\\''s' \\
                \t'http://example.test/post?a=1'
                """)
    }

    @Test func `secrets are shown only if redactingSecrets is false`() async {
        let request = session.request(
            "http://u:p@example.test/?token=abc", headers: ["Authorization": "Bearer abc"])
        let hidden = await command(request)
        #expect(hidden.contains("-H 'Authorization: Bearer •••'"))
        #expect(hidden.hasSuffix("'http://•••@example.test/?token=•••'"))
        #expect(!hidden.contains("abc"))
        let shown = request.cURLDescription(redactingSecrets: false)
        #expect(shown.contains("-H 'Authorization: Bearer abc'"))
        #expect(shown.hasSuffix("'http://u:p@example.test/?token=abc'"))
    }

    @Test(arguments: [
        (AuthenticationScheme.basic, "-u me:pw", "-u 'me:•••'"),
        (.digest, "--digest -u me:pw", "--digest -u 'me:•••'"),
        (.ntlm, "--ntlm -u me:pw", "--ntlm -u 'me:•••'"),
        (.negotiate, "--negotiate -u me:pw", "--negotiate -u 'me:•••'"),
        (.bearer, "-H 'Authorization: Bearer pw'", "-H 'Authorization: Bearer •••'"),
    ])
    func `a credential has the option of its scheme`(
        scheme: AuthenticationScheme, shown: String, hidden: String
    ) async {
        let request = session.request("http://example.test/")
            .authenticate(with: Credential(user: "me", password: "pw", scheme: scheme))
        #expect(await command(request).contains("-X GET \\\n\t\(hidden) \\\n"))
        #expect(request.cURLDescription(redactingSecrets: false).contains("\n\t\(shown) \\\n"))
    }

    @Test(arguments: ["Authorization", "X-Own"])
    func `a bearer token is not added to the request's own Authorization`(name: String) async {
        let request = session.request(
            "http://example.test/", headers: [HTTPHeader(name: name, value: "mine")]
        )
        .authenticate(with: Credential(bearerToken: "token"))
        let text = await command(request, redacting: false)
        #expect(text.contains("Bearer token") == (name == "X-Own"))
    }

    /// The arguments with which a shell calls curl; runs the text with a function named `curl`.
    private func arguments(of text: String, in shell: String = "sh") async throws -> [[UInt8]] {
        let script = "curl() { printf '%s\\0' \"$@\"; }\n" + text.dropFirst("$ ".count) + "\n"
        let result = try await Program.run(
            "/bin/\(shell)", ["-c", script], directory: "/")
        #expect(result.exitCode == 0 && result.errorOutput.isEmpty, "\(result.errorOutput)")
        return result.standardOutput.split(separator: 0, omittingEmptySubsequences: false)
            .dropLast().map(Array.init)
    }

    /// Words with characters that are special for a shell or a terminal.
    static let words = [
        "plain", "two words", "it's", "'", "''", "$(touch /tmp/x)", "`id`", #"a"b\c"#, #"\"#,
        "a\nb",
        "a\n\n", "*?[]{}~#!&|;<>()", "-n", "@/etc/passwd", "日本語", "!!", "a\\\nb", "=", "%s%%",
        // A combining mark makes one `Character` of itself and the quotation mark before it.
        "'\u{301}; touch /tmp/x; '\u{301}", "\"\u{301}$(id)", "$\u{FE0F}(id)", "`\u{301}id`\u{301}",
        "\\\u{301}", "'\u{FE0F}", "\u{1FEF}id\u{1FEF}", "\u{37E}id",
        // Characters that control a terminal.
        "\u{3}\u{15}\rid\r", "\u{1B}[201~id\t\u{7F}", "a\u{202E}b\u{2066}",
        "a\u{2028}b\u{85}c\u{9B}d",
    ]

    @Test(arguments: words, ["sh", "bash"])
    func `a shell reads each quoted word literally`(word: String, shell: String) async throws {
        let text =
            "$ curl \(ShellWord.quoted(word)) \(ShellWord.quoted(word, always: true)) end"
        let found = try await arguments(of: text, in: shell)
        #expect(found == [Array(word.utf8), Array(word.utf8), Array("end".utf8)])
        #expect(!text.utf8.contains { ($0 < 0x20 && $0 != 0x0A) || $0 == 0x7F })
        #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .format })
    }

    @Test(arguments: words)
    func `a shell calls curl with the exact values of the request`(word: String) async throws {
        // A field has no control characters but HTAB.
        let line = String(
            decoding: word.utf8.filter { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }, as: UTF8.self)
        let session = Session(transport: StubTransport { _ in .text("x") })
        var request = HTTPRequest(
            url: URL(string: "http://example.test/?q='"), method: HTTPMethod(rawValue: "P'`"),
            headers: ["Cookie": "k=\(line)", "X-Word": line, "Content-Type": "x/y"],
            body: .data(Data(word.utf8)))
        request.headers.append(name: "X-Empty", value: "")
        let text = await command(
            session.request(request).authenticate(username: word, password: word), redacting: false)
        let found = try await arguments(of: text)
        let sent = HTTPHeaders.default.map { ["-H", "\($0)"] }.joined()
        let body = word.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d"
        let expected =
            [
                "-v", "-X", "P'`", "-u", "\(word):\(word)", "-b", "k=\(line)", "-H",
                "X-Word: \(line)",
            ]
            + ["-H", "Content-Type: x/y", "-H", "X-Empty;"] + sent + ["--compressed", body, word]
            + ["http://example.test/?q='"]
        #expect(found == expected.map { Array($0.utf8) })
    }

    @Test(arguments: ["lonely", "@k=v"])
    func `a cookie that curl would read as a file name is passed as a header`(cookie: String) async
    {
        let text = await command(
            session.request("http://example.test/", headers: ["Cookie": cookie]), redacting: false)
        #expect(text.contains("-H 'Cookie: \(cookie)'") && !text.contains("-b "))
    }

    @Test func `a request that cannot be sent has no command`() {
        for headers in [["X": "a\r\nb"], ["@/etc/passwd": "x"]] as [HTTPHeaders] {
            let command = CURLCommand(
                request: HTTPRequest(url: URL(string: "http://x.test/"), headers: headers),
                credentials: [], redaction: .none)
            #expect(command.text == CURLCommand.failure)
        }
    }

    @Test func `a body with a leading at sign is passed raw, and a binary body is encoded`()
        async
    {
        func text(_ body: Data) async -> String {
            await command(
                session.request(
                    HTTPRequest(
                        url: URL(string: "http://example.test/"), method: .post,
                        body: .data(body))))
        }
        let at = await text(Data("@/etc/passwd".utf8))
        #expect(at.contains("--data-raw '@/etc/passwd'"))
        #expect(at.contains("-H Content-Type:"))
        let binary = await text(Data([0, 255]))
        #expect(binary.contains("--data-binary @<(echo AP8= | base64 -d)"))
    }

    @Test func `a HEAD request has --head, and brackets in a URL have --globoff`() async {
        let text = await command(session.request("http://[::1]/a", method: .head))
        #expect(text.contains("-X HEAD \\\n\t--head"))
        #expect(text.contains("--globoff"))
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch])
    func `a method that usually has a body sends an empty one`(method: HTTPMethod) async {
        let text = await command(session.request("http://example.test/", method: method))
        #expect(text.contains("-H Content-Type: \\\n\t-d '' \\\n"))
        let others = await command(session.request("http://example.test/", method: .delete))
        #expect(!others.contains("-d "))
    }

    @Test func `the URL is shown as it is sent, without dot segments`() async {
        let address = "http://example.test/a/%2e%2E/b/./c?d=/../e#/../f"
        let text = await command(session.request(address))
        #expect(text.hasSuffix("'http://example.test/b/c?d=/../e#/../f'"), "\(text)")
    }

    @Test func `the command of an upload contains the body`() async {
        let upload = session.upload(Data("abc".utf8), to: "http://example.test/post")
        #expect(await command(upload).contains("-d 'abc'"))
    }

    @Test func `after a redirect the command is that of the first request`() async {
        let session = Session(
            transport: StubTransport(answers: [.redirect(to: "/next"), .text("x")]))
        let text = await command(session.request("http://example.test/first"))
        #expect(text.hasSuffix("'http://example.test/first'"))
    }

    @Test func `a request that is not created yet has no command`() {
        let request = session.request("http://example.test/", shouldAutomaticallyResume: false)
        #expect(request.cURLDescription() == "$ curl command could not be created")
    }

    @Test func `only the last handler is called, once, when the request is created`()
        async throws
    {
        let seen = Recorder<String>()
        let session = Session(
            transport: StubTransport(answers: [.status(500), .text("x")]),
            interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let request = session.request("http://example.test/a").validate()
            .cURLDescription { _ in seen.record("first") }
            .cURLDescription(on: DispatchQueue(label: "curl")) { seen.record($0) }
        _ = await request.serializingData().response
        try await seen.values(1)
        request.cURLDescription { _ in seen.record("late") }
        let texts = try await seen.values(2)
        #expect(texts.last == "late")
        #expect(texts.first?.hasPrefix("$ curl -v") == true)
        #expect(request.retryCount == 1)
        #expect(seen.values.count == 2)
    }

    @Test func `a handler is called with the failure text if no request is created`() async throws {
        let seen = Recorder<String>()
        session.request("http://example.test/", requestModifier: { _ in throw Refused() })
            .cURLDescription { seen.record($0) }.response { _ in }
        let cancelled = session.request(
            "http://example.test/", shouldAutomaticallyResume: false)
        cancelled.cURLDescription { seen.record($0) }.cancel()
        let texts = try await seen.values(2)
        #expect(texts == Array(repeating: CURLCommand.failure, count: 2))
    }

    @Test func `stored credentials of the host take precedence over the request's own`() async {
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "stored", password: "1"),
            for: ProtectionSpace(
                host: "example.test", port: 0, protocol: "https", realm: "example.test",
                authenticationMethod: "basic"))
        var configuration = SessionConfiguration.default
        configuration.urlCredentialStorage = storage
        let session = Session(
            transport: StubTransport { _ in .text("x") }, configuration: configuration)
        let request = session.request("https://example.test/")
            .authenticate(username: "requests-own", password: "2")
        let text = await command(request, redacting: false)
        #expect(text.contains("-u stored:1"))
        #expect(!text.contains("requests-own"))
    }
}
