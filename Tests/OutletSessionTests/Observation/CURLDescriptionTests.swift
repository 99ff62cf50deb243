import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletSession

@Suite struct CURLDescriptionTests {
    private struct Refused: Error {}

    let session = Session(
        transport: StubTransport { _ in .text("x") },
        configuration: {
            var configuration = SessionConfiguration.default
            configuration.headers = ["X-Session": "1", "X-Both": "session"]
            return configuration
        }())

    /// The command of a finished request.
    private func command(_ request: DataRequest, redacting: Bool = true) async -> String {
        _ = await request.serializingUnserialized().response
        return request.cURLDescription(redactingSecrets: redacting)
    }

    @Test func `options come in the field's order, the request's fields before the session's`()
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
                \t-u "me:•••" \\
                \t-b "k=•••" \\
                \t-H "X-Both: own" \\
                \t-H "Content-Type: text/plain" \\
                \t-H "X-Empty;" \\
                \t-H "X-Session: 1" \\
                \t-d "it's" \\
                \t"http://example.test/post?a=1"
                """)
    }

    @Test func `secrets are shown only when asked for`() async {
        let request = session.request(
            "http://u:p@example.test/?token=abc", headers: ["Authorization": "Bearer abc"])
        let hidden = await command(request)
        #expect(hidden.contains(#"-H "Authorization: Bearer •••""#))
        #expect(hidden.hasSuffix(#""http://•••@example.test/?token=•••""#))
        #expect(!hidden.contains("abc"))
        let shown = request.cURLDescription(redactingSecrets: false)
        #expect(shown.contains(#"-H "Authorization: Bearer abc""#))
        #expect(shown.hasSuffix(#""http://u:p@example.test/?token=abc""#))
    }

    @Test(arguments: [
        "plain", "two words", "it's", "$(rm -rf /)", "`id`", #"a"b\c"#, "a\nb", "*?[]{}~#!&|;<>",
        "",
        "-n", "日本語",
    ])
    func `a shell takes every word literally`(word: String) throws {
        // The rules of POSIX.1-2017 §2.2, undone: within '…' nothing is special, within "…" a
        // backslash escapes these four, outside it escapes everything.
        var plain = ""
        var quote: Character?
        var rest = CURLCommand.quoted(word)[...]
        while let character = rest.popFirst() {
            switch (quote, character) {
            case (nil, "'"), (nil, "\""): quote = character
            case ("'", "'"), ("\"", "\""): quote = nil
            case (nil, "\\"): plain.append(rest.removeFirst())
            case ("\"", "\\"):
                let next = rest.removeFirst()
                #expect(#""\$`"#.contains(next))
                plain.append(next)
            default:
                plain.append(character)
                if quote == nil { #expect(character.isLetter || "-_./:@".contains(character)) }
                if quote == "\"" { #expect(!"$`!".contains(character)) }
            }
        }
        #expect(plain == word)
        #expect(quote == nil)
    }

    @Test func `a body that begins with an at sign names no file, one that is no text is encoded`()
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
        #expect(at.contains(#"--data-raw "@/etc/passwd""#))
        #expect(at.contains(#"-H "Content-Type:""#))
        let binary = await text(Data([0, 255]))
        #expect(binary.contains("--data-binary @<(echo AP8= | base64 -d)"))
    }

    @Test func `a HEAD asks for no body, and brackets in an address are no pattern`() async {
        let text = await command(session.request("http://[::1]/a", method: .head))
        #expect(text.contains("-X HEAD \\\n\t--head"))
        #expect(text.contains("--globoff"))
    }

    @Test func `an upload shows its body`() async {
        let upload = session.upload(Data("abc".utf8), to: "http://example.test/post")
        #expect(await command(upload).contains(#"-d "abc""#))
    }

    @Test func `after a redirect the command is still the first request's`() async {
        let session = Session(
            transport: StubTransport(answers: [.redirect(to: "/next"), .text("x")]))
        let text = await command(session.request("http://example.test/first"))
        #expect(text.hasSuffix(#""http://example.test/first""#))
    }

    @Test func `before there is a request there is no command`() {
        let request = session.request("http://example.test/", shouldAutomaticallyResume: false)
        #expect(request.cURLDescription() == "$ curl command could not be created")
    }

    @Test func `a handler is called once when the request is made, the last one set alone`()
        async throws
    {
        let seen = Events<String>()
        let session = Session(
            transport: StubTransport(answers: [.status(500), .text("x")]),
            interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let request = session.request("http://example.test/a").validate()
            .cURLDescription { _ in seen.append("first") }
            .cURLDescription(on: DispatchQueue(label: "curl")) { seen.append($0) }
        _ = await request.serializingData().response
        request.cURLDescription { _ in seen.append("late") }
        let texts = try await seen.wait(for: 2)
        #expect(texts.last == "late")
        #expect(texts.first?.hasPrefix("$ curl -v") == true)
        #expect(request.retryCount == 1)
        #expect(seen.values.count == 2)
    }

    @Test func `a handler hears that no request could be made`() async throws {
        let seen = Events<String>()
        session.request("http://example.test/", requestModifier: { _ in throw Refused() })
            .cURLDescription { seen.append($0) }.response { _ in }
        let cancelled = session.request(
            "http://example.test/", shouldAutomaticallyResume: false)
        cancelled.cURLDescription { seen.append($0) }.cancel()
        let texts = try await seen.wait(for: 2)
        #expect(texts == Array(repeating: CURLCommand.failure, count: 2))
    }
}
