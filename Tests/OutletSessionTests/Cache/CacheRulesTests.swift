import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Tests the rules of the private cache as pure functions: no clock, no network.
@Suite struct CacheRulesTests {
    let rules = CacheRules()
    let now = Date(timeIntervalSince1970: 1_700_000_000)

    private func request(
        _ method: HTTPMethod = .get, _ headers: HTTPHeaders = [:],
        policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy
    ) -> CacheRequest {
        CacheRequest(
            HTTPRequest(
                url: URL(string: "http://a.test/x#part"), method: method, headers: headers,
                cachePolicy: policy))
    }

    private func response(_ fields: HTTPHeaders, status: Int = 200) -> HTTPResponse {
        HTTPResponse(url: URL(string: "http://a.test/x"), statusCode: status, headers: fields)
    }

    /// Returns an entry that was received the given number of seconds ago.
    private func entry(
        _ fields: HTTPHeaders, ago seconds: Double = 0, to request: CacheRequest? = nil
    ) throws -> CacheEntry {
        let time = now - seconds
        let response = response(fields)
        return try #require(
            rules.entry(
                for: response, CacheEntry.Facts(response), data: Data("x".utf8),
                to: request ?? self.request(), requestTime: time, responseTime: time))
    }

    private func stores(_ fields: HTTPHeaders, status: Int = 200, _ request: CacheRequest) -> Bool {
        let response = response(fields, status: status)
        return rules.entry(
            for: response, CacheEntry.Facts(response), data: Data(), to: request, requestTime: now,
            responseTime: now) != nil
    }

    // MARK: Storing

    @Test(arguments: ["public", "private", "max-age=3600", "max-age=0", "no-cache", ""])
    func `a response is stored unless it or its request has no-store`(directive: String) {
        #expect(stores(directive.isEmpty ? [:] : ["Cache-Control": directive], request()))
        #expect(!stores(["Cache-Control": "\(directive), No-Store"], request()))
        #expect(!stores(["Cache-Control": directive], request(.get, ["Cache-Control": "no-store"])))
    }

    @Test func `only complete responses to GET are stored`() {
        #expect(!stores([:], request(.post)))
        #expect(!stores([:], request(.head)))
        #expect(!stores(["Cache-Control": "max-age=9"], status: 206, request()))
        #expect(!stores(["Cache-Control": "max-age=9"], request(.get, ["Range": "bytes=0-1"])))
        #expect(!stores(["Vary": "*", "Cache-Control": "max-age=9"], request()))
        #expect(stores([:], status: 404, request()))
        #expect(!stores([:], status: 302, request()))
        #expect(stores(["Cache-Control": "max-age=9"], status: 302, request()))
        #expect(!stores([:], status: 500, request()))
    }

    @Test(arguments: [401, 407]) func `a response with status 401 or 407 is never stored`(
        status: Int
    ) {
        #expect(!stores(["Cache-Control": "public, max-age=9"], status: status, request()))
    }

    private let ofConnection: HTTPHeaders = [
        "Connection": "close, X-Hop, Cache-Control", "X-Hop": "1",
        "Proxy-Authenticate": "Basic realm=\"p\"", "Proxy-Authentication-Info": "nextnonce=\"n\"",
        "Proxy-Authorization": "Basic cDpw", "Transfer-Encoding": "chunked",
    ]

    @Test func `fields of the connection and of the proxy are not stored`() throws {
        var fields = ofConnection
        fields["Cache-Control"] = "max-age=60"
        fields["X-End"] = "2"
        let stored = try entry(fields)
        #expect(stored.response.headers.map(\.name).sorted() == ["Cache-Control", "X-End"])
        #expect(rules.isFresh(stored, now: now))
    }

    @Test func `fields of the connection and of the proxy do not update a stored response`() throws
    {
        let old = try entry(["ETag": "\"1\"", "X-Hop": "stored"])
        let fresh = try #require(
            rules.freshened(
                old, by: response(ofConnection, status: 304), requestTime: now, responseTime: now))
        #expect(fresh.response.headers == old.response.headers)
    }

    // MARK: Freshness

    @Test(
        arguments: [
            (["Cache-Control": "max-age=60"], 59.0, true),
            (["Cache-Control": "max-age=60"], 60.0, false),
            (["Cache-Control": "max-age=60", "Age": "30"], 29.0, true),
            (["Cache-Control": "max-age=60", "Age": "30"], 31.0, false),
            (["Cache-Control": "max-age=\"60\""], 59.0, true),
            // Two values: the smaller one counts. Invalid: 0. Too large: the maximum.
            (["Cache-Control": "max-age=60, max-age=10"], 11.0, false),
            (["Cache-Control": "max-age=soon"], 0.0, false),
            (["Cache-Control": "max-age=99999999999999999999"], 1e6, true),
            (["Expires": "0"], 0.0, false),
            (["Expires": "Wed, 15 Nov 2023 22:13:20 GMT"], 1.0, true),
            (["Expires": "Mon, 13 Nov 2023 22:13:20 GMT"], 0.0, false),
            (["Expires": "0", "Cache-Control": "max-age=60"], 1.0, true),
            (["Last-Modified": "Mon, 13 Nov 2000 22:13:20 GMT"], 0.0, false), ([:], 0.0, false),
        ] as [(HTTPHeaders, Double, Bool)])
    func `a response is fresh for its declared lifetime`(
        fields: HTTPHeaders, ago: Double, isFresh: Bool
    ) throws {
        #expect(rules.isFresh(try entry(fields, ago: ago), now: now) == isFresh)
    }

    @Test func `the age of a response includes the duration of its request`() throws {
        var old = try entry(["Cache-Control": "max-age=60"])
        old.requestTime = now - 100
        #expect(!rules.isFresh(try entry(["Cache-Control": "max-age=60"], ago: 61), now: now))
        old.response.headers["Age"] = "0"
        #expect(rules.age(of: old, now: now) == 100)
        for nonsense in ["nan", "inf", "-5", "1e400", ""] {
            old.response.headers["Age"] = nonsense
            #expect(rules.age(of: old, now: now) == 100)
        }
        // RFC 9111 §5.1
        old.response.headers["Age"] = "200, 0"
        #expect(rules.age(of: old, now: now) == 300)
        // RFC 9111 §1.2.2
        old.response.headers["Age"] = "99999999999999999999"
        #expect(rules.age(of: old, now: now) > 0x8000_0000)
    }

    @Test func `a response from the future is not fresh`() throws {
        let entry = try entry(["Cache-Control": "max-age=60"], ago: -3600)
        #expect(!rules.isFresh(entry, now: now))
    }

    @Test func `heuristic freshness is used only on request`() throws {
        let fields: HTTPHeaders = [
            "Date": "Tue, 14 Nov 2023 22:13:20 GMT",
            "Last-Modified": "Tue, 14 Nov 2023 12:13:20 GMT",
        ]
        let entry = try entry(fields, ago: 3000)
        #expect(!rules.isFresh(entry, now: now))
        #expect(CacheRules(usesHeuristics: true).isFresh(entry, now: now))
        #expect(!CacheRules(usesHeuristics: true).isFresh(entry, now: now + 700))
    }

    // MARK: Decisions

    @Test func `a fresh response is used, and a stale one is validated or loaded again`() throws {
        let fresh = try entry(["Cache-Control": "max-age=60"])
        #expect(rules.decide(request(), fresh, now: now) == .respond(fresh))
        let stale = try entry(["Cache-Control": "max-age=60"], ago: 99)
        #expect(rules.decide(request(), stale, now: now) == .load(fallback: stale))
        let known = try entry(["Cache-Control": "max-age=60", "ETag": "\"1\""], ago: 99)
        #expect(rules.decide(request(), known, now: now) == .validate(known))
        #expect(rules.validators(of: known)["If-None-Match"] == "\"1\"")
        let always = try entry(["Cache-Control": "max-age=60, no-cache", "ETag": "\"1\""])
        #expect(rules.decide(request(), always, now: now) == .validate(always))
    }

    @Test func `a validator with a control character is not sent`() throws {
        let odd = try entry(
            ["Cache-Control": "max-age=60", "ETag": "\"\u{1}\"", "Last-Modified": "\u{7F}"], ago: 99
        )
        #expect(rules.decide(request(), odd, now: now) == .load(fallback: odd))
        #expect(rules.validators(of: odd).isEmpty)
    }

    @Test func `the request's cache directives are applied`() throws {
        let entry = try entry(["Cache-Control": "max-age=60", "ETag": "\"1\""], ago: 30)
        func decision(_ directive: String) -> CacheRules.Decision {
            rules.decide(request(.get, ["Cache-Control": directive]), entry, now: now)
        }
        #expect(decision("max-age=10") == .validate(entry))
        #expect(decision("min-fresh=40") == .validate(entry))
        #expect(decision("min-fresh=20") == .respond(entry))
        #expect(decision("no-cache") == .validate(entry))
        #expect(decision("no-store") == .load(fallback: nil))
        #expect(
            rules.decide(request(.get, ["Pragma": "no-cache"]), entry, now: now) == .validate(entry)
        )
        let old = try self.entry(["Cache-Control": "max-age=60", "ETag": "\"1\""], ago: 90)
        let lenient = request(.get, ["Cache-Control": "max-stale=40"])
        #expect(rules.decide(lenient, old, now: now) == .respond(old))
        #expect(rules.decide(lenient, old, now: now + 20) == .validate(old))
        let strict = try self.entry(
            ["Cache-Control": "max-age=60, must-revalidate", "ETag": "\"1\""], ago: 90)
        #expect(rules.decide(lenient, strict, now: now) == .validate(strict))
    }

    @Test(arguments: [
        (nil, false), ("max-age=60", true), ("max-age=1", false), ("no-cache", false),
        ("max-age=1, must-revalidate", false), ("max-age=1, stale-while-revalidate=60", false),
    ])
    func `only-if-cached never sends a request`(
        stored: String?, answers: Bool
    ) throws {
        let entry = try stored.map {
            try self.entry(["Cache-Control": $0, "ETag": "\"1\""], ago: 30)
        }
        let asked = request(.get, ["Cache-Control": "only-if-cached"])
        let decision = rules.decide(asked, entry, now: now)
        #expect(decision == (answers ? entry.map { .respond($0) } : .refuse))
    }

    @Test func `only-if-cached refuses a range that the cache cannot serve`() throws {
        let entry = try entry(["Cache-Control": "max-age=60", "Content-Encoding": "gzip"], ago: 30)
        let fields: HTTPHeaders = ["Cache-Control": "only-if-cached", "Range": "bytes=0-1"]
        #expect(rules.decide(request(.get, fields), entry, now: now) == .refuse)
    }

    @Test func `cache policies have priority over freshness`() throws {
        let stale = try entry(["Cache-Control": "max-age=0"], ago: 99)
        #expect(
            rules.decide(request(policy: .returnCacheDataElseLoad), stale, now: now)
                == .respond(stale))
        #expect(
            rules.decide(request(policy: .returnCacheDataDontLoad), stale, now: now)
                == .respond(stale))
        #expect(rules.decide(request(policy: .returnCacheDataDontLoad), nil, now: now) == .refuse)
        let fresh = try entry(["Cache-Control": "max-age=60", "ETag": "\"1\""])
        #expect(
            rules.decide(request(policy: .reloadRevalidatingCacheData), fresh, now: now)
                == .validate(fresh))
        #expect(!rules.maySearch(for: request(policy: .reloadIgnoringLocalCacheData)))
        #expect(rules.maySearch(for: request(.get, ["Range": "bytes=0-1"])))
        #expect(!rules.maySearch(for: request(.head, ["Range": "bytes=0-1"])))
        #expect(!rules.maySearch(for: request(.get, ["Range": "bytes=0-1,3-4"])))
        #expect(!rules.maySearch(for: request(.get, ["If-None-Match": "\"1\""])))
        #expect(rules.maySearch(for: request(.head)))
        #expect(!rules.maySearch(for: request(.post)))
    }

    @Test func `stale-while-revalidate uses a stale response within its time`() throws {
        let fields: HTTPHeaders = [
            "Cache-Control": "max-age=60, stale-while-revalidate=30", "ETag": "\"1\"",
        ]
        let entry = try entry(fields, ago: 80)
        #expect(rules.decide(request(), entry, now: now) == .respondAndValidate(entry))
        #expect(rules.decide(request(), entry, now: now + 20) == .validate(entry))
    }

    @Test func `stale-if-error replaces failures within its time`() throws {
        let lenient = try entry(["Cache-Control": "max-age=60, stale-if-error=30"], ago: 80)
        #expect(rules.mayReplaceError(lenient, for: request(), now: now))
        #expect(!rules.mayReplaceError(lenient, for: request(), now: now + 20))
        for directive in ["must-revalidate", "no-cache"] {
            let strict = try entry(
                ["Cache-Control": "max-age=60, stale-if-error=30, \(directive)"], ago: 80)
            #expect(!rules.mayReplaceError(strict, for: request(), now: now))
        }
        #expect(
            !rules.mayReplaceError(
                lenient, for: request(.get, ["Cache-Control": "no-cache"]), now: now))
        let silent = try entry(["Cache-Control": "max-age=60"], ago: 80)
        #expect(!rules.mayReplaceError(silent, for: request(), now: now))
        #expect(
            rules.mayReplaceError(
                silent, for: request(.get, ["Cache-Control": "stale-if-error=30"]), now: now))
    }

    // MARK: Variants and credentials

    @Test(arguments: [(64, true), (65, false)])
    func `a response that varies by too many fields is not stored`(count: Int, isStored: Bool) {
        let names = (0..<count).map { "X-\($0)" }
        #expect(stores(["Vary": names.joined(separator: ", ")], request()) == isStored)
    }

    @Test func `Vary compares the request's fields without blanks`() throws {
        let german = request(.get, ["Accept-Language": "de, en"])
        let entry = try entry(["Vary": "Accept-Language"], to: german)
        #expect(entry.matches(request(.get, ["accept-language": "de,en"])))
        #expect(!entry.matches(request(.get, ["Accept-Language": "en"])))
        #expect(!entry.matches(request()))
    }

    @Test func `a response to a credential is used only for that credential, unless it is public`()
        throws
    {
        let ada = request(.get, ["Authorization": "Bearer ada"])
        let bob = request(.get, ["Authorization": "Bearer bob"])
        let personal = try entry(["Cache-Control": "max-age=60"], to: ada)
        #expect(personal.matches(ada))
        #expect(!personal.matches(bob))
        #expect(!personal.matches(request()))
        #expect(personal.isPersonal)
        let common = try entry(["Cache-Control": "max-age=60, public"], to: ada)
        #expect(common.matches(bob))
        #expect(!common.isPersonal)
    }

    // MARK: Updating

    @Test func `a 304 updates the fields, but not those of the content`() throws {
        let old = try entry(
            ["Content-Type": "text/plain", "ETag": "\"1\"", "Age": "9", "X": "old"], ago: 99)
        let answer = response(
            ["Cache-Control": "max-age=60", "Content-Type": "text/html", "X": "new"], status: 304)
        let fresh = try #require(
            rules.freshened(old, by: answer, requestTime: now, responseTime: now))
        #expect(fresh.response.headers["X"] == "new")
        #expect(fresh.response.headers["Content-Type"] == "text/plain")
        #expect(fresh.response.headers["Age"] == nil)
        #expect(fresh.data == old.data)
        #expect(rules.isFresh(fresh, now: now + 59))
        let other = response(["ETag": "\"2\""], status: 304)
        #expect(rules.freshened(old, by: other, requestTime: now, responseTime: now) == nil)
    }

    @Test func `a 304 without a date counts as generated when it was received`() throws {
        let old = try entry(
            ["Cache-Control": "max-age=60", "Date": "Tue, 14 Nov 2023 20:00:00 GMT"], ago: 99)
        #expect(!rules.isFresh(old, now: now))
        let answer = response(["ETag": "\"1\""], status: 304)
        let fresh = try #require(
            rules.freshened(old, by: answer, requestTime: now, responseTime: now))
        #expect(rules.isFresh(fresh, now: now + 59) && !rules.isFresh(fresh, now: now + 60))
    }

    @Test(arguments: ["\"a\rb\"", "\"\u{FFFD}\""])
    func `an entity tag that cannot be sent back unchanged is not a validator`(tag: String) throws {
        let old = try entry(["ETag": tag, "Last-Modified": tag])
        #expect(rules.validators(of: old).isEmpty)
        let answer = response(["ETag": tag], status: 304)
        #expect(rules.freshened(old, by: answer, requestTime: now, responseTime: now) == nil)
        let head = response(["ETag": tag])
        #expect(
            rules.compare(old, withHead: head, requestTime: now, responseTime: now) == .other)
    }

    @Test func `a HEAD with another content coding is not compared by length`() throws {
        let old = try entry(
            ["ETag": "\"1\"", "Content-Encoding": "gzip", "Content-Length": "4"])
        let head = response(["ETag": "\"1\"", "Content-Length": "9"])
        let verdict = rules.compare(old, withHead: head, requestTime: now, responseTime: now)
        #expect(verdict != .other && verdict != .unknown)
    }

    @Test(arguments: [
        (200, true), (203, true), (308, true), (404, true), (410, true), (206, false), (304, false),
        (401, false), (503, false),
    ])
    func `a GET response that could replace a stored one outdates it even if it is not stored`(
        status: Int, outdates: Bool
    ) {
        let answer = response(["Cache-Control": "no-store"], status: status)
        #expect(rules.outdates(answer, to: request()) == outdates)
        #expect(!rules.outdates(answer, to: request(.head)))
    }

    @Test(
        arguments: [
            (["Last-Modified": "Fri, 02 Jan 2026 00:00:00 GMT"], false),
            (["Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"], true), ([:], true),
            (["ETag": "\"1\"", "Last-Modified": "Fri, 02 Jan 2026 00:00:00 GMT"], true),
            (["ETag": "W/\"1\"", "Last-Modified": "Fri, 02 Jan 2026 00:00:00 GMT"], true),
        ] as [(HTTPHeaders, Bool)])
    func `a 304 with another date confirms a response only if it has the same tag`(
        fields: HTTPHeaders, isConfirmed: Bool
    ) throws {
        let old = try entry([
            "ETag": "\"1\"", "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT",
        ])
        let fresh = rules.freshened(
            old, by: response(fields, status: 304), requestTime: now, responseTime: now)
        #expect((fresh != nil) == isConfirmed)
    }

    @Test func `an unsafe method invalidates the stored responses of its URLs`() {
        let post = HTTPRequest(url: URL(string: "http://a.test/list"), method: .post)
        let created = response(
            ["Location": "/list/7", "Content-Location": "http://b.test/x"], status: 201)
        #expect(
            rules.invalidated(by: created, to: post)
                == ["http://a.test/list", "http://a.test/list/7"])
        var elsewhere = post
        elsewhere.headers["Host"] = "b.test"
        #expect(
            rules.invalidated(by: created, to: elsewhere)
                == ["http://a.test/list b.test", "http://a.test/list/7 b.test"])
        #expect(rules.invalidated(by: response([:], status: 500), to: post).isEmpty)
        let get = HTTPRequest(url: URL(string: "http://a.test/list"))
        #expect(rules.invalidated(by: response([:]), to: get).isEmpty)
    }

    @Test(arguments: [
        HTTPHeaders(["Cache-Control": "max-age=100"]), ["Cache-Control": "min-fresh=1"],
    ])
    func `stale-while-revalidate is not used if the request limits the age`(
        fields: HTTPHeaders
    ) throws {
        let entry = try entry(
            ["Cache-Control": "max-age=60, stale-while-revalidate=30", "ETag": "\"1\""], ago: 70)
        #expect(rules.decide(request(.get, fields), entry, now: now) == .validate(entry))
    }

    private func asked(
        _ address: String = "https://a.test/x", credential: Credential? = nil,
        session: String? = nil, verifier: String? = nil
    ) -> CacheRequest {
        CacheRequest(
            HTTPRequest(url: URL(string: address)), credential: credential, session: session,
            verifier: verifier)
    }

    @Test func `a credential, user info, session or evaluator each make a response personal`()
        throws
    {
        let requests = [
            asked(credential: Credential(user: "ada", password: "1")),
            asked(credential: Credential(user: "ada", password: "2")),
            asked(credential: Credential(bearerToken: "1")),
            asked("https://ada:1@a.test/x"), asked("https://ada:2@a.test/x"),
            asked(session: "one"), asked(session: "other"),
            asked(verifier: "#1 "), asked(verifier: "#2 "),
        ]
        for (index, request) in requests.enumerated() {
            let entry = try entry(["Cache-Control": "max-age=60"], to: request)
            #expect(entry.isPersonal)
            for (other, asked) in requests.enumerated() {
                #expect(entry.matches(asked) == (index == other))
            }
            #expect(!entry.matches(asked()))
        }
        let file = try entry(["Cache-Control": "max-age=60"], to: asked(verifier: "file a.pem"))
        #expect(!file.isPersonal)
        #expect(!file.matches(asked(verifier: "file b.pem")) && !file.matches(asked()))
    }
}

extension CacheRules {
    fileprivate func isFresh(_ entry: CacheEntry, now: Date) -> Bool {
        staleness(of: entry, for: CacheControl(), now: now) <= 0
    }
}
