import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Tests header fields whose `Character`s or canonical equivalents differ from their bytes.
@Suite struct ProtocolTextTests {
    private func directives(_ value: String) -> CacheControl {
        CacheControl(["Cache-Control": value])
    }

    @Test func `cache directives are split at commas outside of closed quoted strings`() {
        #expect(directives("max-age=60,\u{301}x, no-store").noStore)
        #expect(!directives("x\u{301}no-store, no-\u{FE0F}store, \u{37E}no-store").noStore)
        #expect(!directives("no-store\u{A0}, x=\"a, no-store\"").noStore)
        #expect(directives("private=\"x, no-store").noStore)
        #expect(directives("ext=\"\\\", max-age=9\", max-age=5").maxAge == 5)
        #expect(directives("MAX-AGE = \"5\"").maxAge == 5)
        for value in ["٥", "+5", "5\u{301}", "-5", ""] {
            #expect(directives("max-age=\(value)").maxAge == 0)
        }
        #expect(directives("max-age=99999999999999999999999").maxAge == 1 << 31)
        #expect(CacheControl(["Pragma": "x, No-Cache"]).noCache)
        #expect(!CacheControl(["Pragma": "x-no-cache"]).noCache)
    }

    @Test func `challenges are split at commas outside of closed quoted strings`() {
        func schemes(_ field: String) -> [String] {
            AuthenticationChallenge.parse(field).map(\.scheme)
        }
        #expect(
            schemes("Basic realm=\"a\",\u{301}Digest realm=\"b\"") == ["basic", "\u{301}digest"])
        #expect(schemes("Basic realm=\"a, Digest realm=b") == ["basic", "digest"])
        #expect(schemes("Basic realm=\"a\\\", Digest realm=b\"") == ["basic"])
        let opaque = AuthenticationChallenge.parse("Negotiate abc=, NTLM TlRM==")
        #expect(opaque.map(\.scheme) == ["negotiate", "ntlm"])
        let areBare = opaque.allSatisfy { $0.parameters.isEmpty }
        #expect(areBare)
        let parsed = AuthenticationChallenge.parse(
            "Digest  REALM = \"a\\\"\u{301}b\" , qop=auth\u{A0}")
        #expect(parsed.first?.parameters["realm"]?.hasSameBytes(as: "a\"\u{301}b") == true)
        #expect(parsed.first?.parameters["qop"]?.hasSameBytes(as: "auth\u{A0}") == true)
        #expect(
            AuthenticationChallenge.parse("Basic realm=\"\"").first?.parameters == ["realm": ""])
    }

    @Test(arguments: [
        ("max-age=60", 60.0, false), ("Max-Age=\"60\"; INCLUDESUBDOMAINS", 60, true),
        ("max-age=60;\u{301}includeSubDomains", 60, false),
        ("max-age=60; x=\"; max-age=1\"", 60, false),
        ("max-age=60; includeSubDomain\u{17F}", 60, false),
        ("max-age=99999999999999999999", 1e10, false),
    ])
    func `an HSTS field is split by bytes`(field: String, age: Double, isDeep: Bool) throws {
        let now = Date(timeIntervalSince1970: 0)
        let policy = try #require(HSTSStorage.policy(field, host: "x.test", now: now))
        #expect(policy.expiresDate.timeIntervalSince1970 == age)
        #expect(policy.includesSubdomains == isDeep)
    }

    @Test(arguments: [
        "max-age=6\u{301}", "max-age=+6", "max-age", "max-age\u{37E}=6", "max-age=6; max-age=6",
        "max-age=٦",
    ])
    func `an invalid HSTS field is ignored`(field: String) {
        #expect(HSTSStorage.policy(field, host: "x.test", now: .now) == nil)
    }

    @Test(arguments: [
        ("bytes 0-4/5", 0 as Int64?, 5 as Int64?), ("BYTES  1-4/*", 1, nil), ("bytes */5", nil, 5),
    ])
    func `a Content-Range is parsed`(field: String, start: Int64?, total: Int64?) throws {
        let range = try #require(ContentRange(field))
        #expect(range.start == start && range.total == total)
    }

    @Test(arguments: [
        "bytes +0-4/5", "bytes 0-4/5\u{301}", "bytes\u{A0}0-4/5", "bytes 0\u{2010}4/5",
        "bytes 4-0/5",
        "bytes 0-5/5", "bytes 0-4", "bytes -4/5", "bytes 0-99999999999999999999/*", "bytes=0-4/5",
        "byte\u{17F} 0-4/5",
    ])
    func `an invalid Content-Range is ignored`(field: String) {
        #expect(ContentRange(field) == nil)
    }

    @Test(arguments: [
        "bytes=0-4\u{301}", "bytes=+0-4", "byte\u{17F}=0-4", "bytes=0-4-5", "bytes=0 1-4",
    ])
    func `an invalid Range is ignored`(field: String) {
        #expect(ByteRange([field]) == nil)
    }

    @Test func `media types are compared by their bytes`() throws {
        let html = try #require(MediaType("Text/HTML ; charset=x"))
        #expect(html.matches(try #require(MediaType("text/html"))))
        #expect(MediaType("text/\u{301}html")?.matches(html) == false)
        #expect(MediaType("te\u{212A}t") == nil && MediaType("a/b/c") == nil)
        #expect(
            try #require(MediaType("x/\u{212A}")).matches(try #require(MediaType("x/k"))) == false)
        let response = HTTPResponse(
            url: nil, statusCode: 200,
            headers: ["Content-Type": " TEXT/x-\u{212A};\u{301} charset=UTF-8"])
        #expect(response.mimeType?.hasSameBytes(as: "text/x-\u{212A}") == true)
        #expect(response.textEncoding == nil)
    }

    @Test(
        arguments: [("+5", -1), ("5\u{301}", -1), ("5, 5", -1), ("-1", -1), ("5", 5)]
            as [(String, Int64)])
    func `a Content-Length has only digits`(value: String, expected: Int64) {
        let response = HTTPResponse(url: nil, statusCode: 200, headers: ["Content-Length": value])
        #expect(response.expectedContentLength == expected)
    }

    @Test func `a charset may be quoted`() {
        for value in ["text/x; charset=\"UTF-8\"", "text/x;x=\"; charset=ascii\"; Charset = utf-8"]
        {
            let response = HTTPResponse(url: nil, statusCode: 200, headers: ["Content-Type": value])
            #expect(response.textEncoding == .utf8)
        }
    }

    @Test(arguments: [
        ("120", 120 as Double?), (" 120\t", 120), ("+120", nil), ("120\u{301}", nil), ("١٢٠", nil),
        ("1.5", nil),
    ])
    func `Retry-After is a number of seconds or a date`(value: String, expected: Double?) {
        let response = HTTPResponse(url: nil, statusCode: 503, headers: ["Retry-After": value])
        #expect(RetryAfter.delay(in: response, now: .now) == expected)
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:+7 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun,\u{301} 06 Nov 94 08:49:37",
        "Sun Nov 6 08:49:37 199٤", "Sun, 06 Nov 1994 08:49:37 GMT\u{301}",
    ])
    func `an invalid date is not parsed`(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test func `fields are equal only if their bytes are equal`() {
        #expect(HTTPHeader(name: "X", value: "\u{E9}") != HTTPHeader(name: "X", value: "e\u{301}"))
        #expect(HTTPHeader(name: "X", value: "\u{212A}") != HTTPHeader(name: "X", value: "K"))
    }

    @Test func `an entity tag that is not ASCII never matches`() {
        let head = HTTPResponse(
            url: nil, statusCode: 206,
            headers: ["ETag": "\"e\u{301}\"", "Content-Range": "bytes 5-9/10"])
        #expect(DownloadPlan(head, offset: 5, validator: "\"\u{E9}\"") == .restart)
        #expect(DownloadPlan(head, offset: 5, validator: "\"e\u{301}\"") == .restart)
    }

    @Test func `a stored response matches only requests with the same bytes`() {
        func request(_ value: String) -> CacheRequest {
            CacheRequest(
                HTTPRequest(url: URL(string: "http://x.test/"), headers: ["Accept": value]))
        }
        let response = HTTPResponse(url: nil, statusCode: 200, headers: ["Vary": "accept,\u{301}x"])
        let selectors = request("e\u{301}").selectors(for: response, isPublic: true) ?? []
        #expect(selectors.map(\.name) == [":route", "accept", "\u{301}x"])
        let entry = CacheEntry(
            response: response, data: Data(), requestTime: .now, responseTime: .now,
            selectors: selectors, userInfo: nil, storagePolicy: .allowed)
        #expect(entry.matches(request("e\u{301}")) && !entry.matches(request("\u{E9}")))
    }

    @Test func `the names of a part cannot add header lines`() throws {
        let form = MultipartFormData(boundary: "b")
        let name = "n\"\u{301}; x=\"\r\n\u{301}X: y"
        form.append(Data(), withName: name, fileName: name)
        let text = String(decoding: try form.encode(), as: UTF8.self)
        #expect(text.lines.count == 3)
        #expect(text.utf8.filter { $0 == UInt8(ascii: "\"") }.count == 4)
        form.append(Data(), withName: "a", mimeType: "text/plain\r\n\u{301}X: y")
        #expect(throws: SessionError.self) { try form.encode() }
    }

    @Test func `an event stream is split by bytes`() {
        var parser = ServerSentEventParser()
        let text =
            "data:\u{301}a\u{2028}b\r\nid: x\u{85}\nretry: ٥\n\u{FEFF}data: no\n\nid: a\u{0}\ndata: c\n\n"
        let events = parser.results(of: Data(text.utf8)).compactMap { try? $0.get() }
        #expect(events.map(\.data) == ["\u{301}a\u{2028}b", "c"])
        #expect(events.allSatisfy { $0.id == "x\u{85}" && $0.retry == nil })
    }
}
