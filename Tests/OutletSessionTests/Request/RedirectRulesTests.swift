import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests the rules for the next request after a redirect, as pure functions.
@Suite struct RedirectRulesTests {
    private func next(
        _ from: String, _ location: String, code: Int = 307, method: HTTPMethod = .get,
        headers: HTTPHeaders = [:], body: String? = nil, allowsBodiesInClear: Bool = false,
        upgrade: (HTTPRequest) -> HTTPRequest? = { _ in nil }
    ) -> Result<HTTPRequest, TransferError> {
        let url = URL(string: from)
        var request = HTTPRequest(url: url, method: method, headers: headers)
        if let body { request.body = .data(Data(body.utf8)) }
        return RedirectRules.next(
            after: request,
            response: HTTPResponse(url: url, statusCode: code, headers: ["Location": location]),
            allowsBodiesInClear: allowsBodiesInClear, upgrade: upgrade)
    }

    @Test func `the bytes of a Location field are requested unchanged`() throws {
        let head = Array("HTTP/1.1 302 Found\r\nLocation: /caf".utf8) + [0xE9, 0x0D, 0x0A]
        let url = URL(string: "http://a.test/x?y")
        let next = try RedirectRules.next(
            after: HTTPRequest(url: url),
            response: HTTPResponse(
                url: url, statusCode: 302, headers: HTTPHeaders(HeaderBlock(bytes: head)))
        ).get()
        #expect(next.url?.absoluteString == "http://a.test/caf%E9")
    }

    @Test(arguments: [false, true])
    func `a WebSocket is redirected from wss to ws only if the session allows it`(
        isAllowed: Bool
    ) throws {
        let url = URL(string: "https://a.test/")
        let next = RedirectRules.next(
            after: HTTPRequest(url: url),
            response: HTTPResponse(
                url: url, statusCode: 302, headers: ["Location": "ws://a.test/"]),
            opensWebSocket: true, allowsBodiesInClear: isAllowed)
        guard isAllowed else {
            let error = #expect(throws: TransferError.self) { try next.get() }
            #expect(error?.reason.contains("it would send messages in clear") == true)
            return
        }
        #expect(try next.get().url?.absoluteString == "http://a.test/")
    }

    @Test func `an encrypted request's Referer is not sent in clear`() throws {
        let fields: HTTPHeaders = ["Referer": "https://a.test/page", "Accept": "a/b"]
        let clear = try next("https://a.test/", "http://a.test/", headers: fields).get()
        #expect(clear.headers == ["Accept": "a/b"])
        #expect(try next("https://a.test/", "/b", headers: fields).get().headers == fields)
    }

    @Test func `fields that describe a dropped body are dropped with it`() throws {
        let fields: HTTPHeaders = [
            "Content-Type": "a/b", "Content-Disposition": "x", "content-digest": "x",
            "Content-MD5": "x", "Content-Range": "x", "Digest": "x", "Expect": "100-continue",
            "Trailer": "x", "Accept": "c/d",
        ]
        let next = try next(
            "http://a.test/", "/b", code: 303, method: .post, headers: fields, body: "x"
        ).get()
        #expect(next.headers == ["Accept": "c/d"])
        let kept = try self.next(
            "http://a.test/", "/b", code: 307, method: .post, headers: fields, body: "x"
        ).get()
        #expect(kept.headers == fields)
    }

    @Test func `an empty Location is the same URL`() throws {
        let next = try next("http://a.test/x?y=1#z", "").get()
        #expect(next.url?.absoluteString == "http://a.test/x?y=1#z")
    }

    private static let methods: [HTTPMethod] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, HTTPMethod(rawValue: "QUERY"),
    ]

    /// Returns the method of the next request; a changed method drops the body.
    private static func method(after method: HTTPMethod, code: Int) -> HTTPMethod {
        switch (code, method) {
        case (301, .post), (302, .post): .get
        case (303, .head): .head
        case (303, _): .get
        default: method
        }
    }

    @Test(arguments: methods, [301, 302, 303, 307, 308])
    func `the status code decides whether the method becomes GET`(
        method: HTTPMethod, code: Int
    ) throws {
        let expected = Self.method(after: method, code: code)
        let hasBody = method != .get && method != .head
        let next = try next(
            "http://a.test/1", "/2", code: code, method: method,
            headers: ["Content-Type": "text/plain", "Expect": "100-continue", "X-Kept": "1"],
            body: hasBody ? "body" : nil
        ).get()
        #expect(next.url?.absoluteString == "http://a.test/2")
        #expect(next.method == expected)
        let isChanged = expected != method
        #expect(next.hasBody == (hasBody && !isChanged))
        #expect((next.headers["Content-Type"] == nil) == isChanged)
        #expect((next.headers["Expect"] == nil) == isChanged)
        #expect(next.headers["X-Kept"] == "1")
    }

    // MARK: Secrets

    @Test(arguments: [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-api-key",
        "X-Auth-Token", "X-Goog-Api-Key", "X-Vault-Token", "X-Amz-Security-Token", "Api-Key",
        "X-CSRF-Token", "Private-Token", "X-Client-Secret", "Host", "Session",
        "X-Session", "X-Authz",
    ])
    func `secret fields are sent only to the same origin`(name: String) throws {
        let headers: HTTPHeaders = [name: "geheim", "Accept": "text/plain"]
        for away in ["https://b.test/", "http://a.test/", "https://a.test:444/"] {
            let next = try next("https://a.test/", away, headers: headers).get()
            #expect(next.headers.map(\.name) == ["Accept"])
        }
        let own = try next("https://a.test/", "https://A%2Etest:443/2", headers: headers).get()
        #expect(own.headers[name] == "geheim")
    }

    @Test(arguments: [
        ("http://a.test/", "http://u:p@a.test/2", "http://a.test/2"),
        ("http://a.test/", "http://u:p@b.test/2", "http://b.test/2"),
        ("http://a.test/", "//u:p@b.test/2", "http://b.test/2"),
        ("http://me:pw@a.test/", "http://u:p@a.test/2", "http://me:pw@a.test/2"),
        ("http://me:pw@a.test/", "/2", "http://me:pw@a.test/2"),
        ("http://me:pw@a.test/", "http://a.test:80/2", "http://me:pw@a.test:80/2"),
        ("http://me:pw@a.test/", "http://b.test/2", "http://b.test/2"),
        ("http://me:pw@a.test/", "https://a.test/2", "https://a.test/2"),
    ])
    func `credentials in a Location are dropped, and those of the URL stay with its origin`(
        from: String, location: String, to: String
    ) throws {
        #expect(try next(from, location).get().url?.absoluteString == to)
    }

    @Test(arguments: [
        ("Referer", "https://a.test/?token=geheim"), ("Referer", "https://a.test/2"),
        ("User-Agent", "app/1 (https://a.test/?code=1; mailto:a@b.test)"),
    ])
    func `a Referer with a secret is sent only to the same origin`(
        name: String, value: String
    ) throws {
        let away = try next("https://a.test/", "https://b.test/", headers: [name: value]).get()
        #expect(away.headers[name] == (value.contains("geheim") ? nil : value))
        let own = try next("https://a.test/", "https://a.test/2", headers: [name: value]).get()
        #expect(own.headers[name] == value)
    }

    // MARK: Bodies

    @Test(arguments: [
        (301, HTTPMethod.put), (302, .patch), (307, .post), (308, .post), (308, .delete),
    ])
    func `a body sent over https is not redirected to http`(
        code: Int, method: HTTPMethod
    ) throws {
        let result = next(
            "https://a.test/", "http://a.test/", code: code, method: method, body: "geheim")
        let error = #expect(throws: TransferError.self) { try result.get() }
        #expect(error?.code == .redirectToNonExistentLocation)
        #expect(error?.reason.contains("http://a.test") == true)
        #expect(error?.advice.contains("allowsInsecureRedirectsWithBodies") == true)
        let allowed = try next(
            "https://a.test/", "http://a.test/", code: code, method: method, body: "geheim",
            allowsBodiesInClear: true
        ).get()
        #expect(allowed.hasBody)
    }

    @Test func `a body may be redirected to http if HSTS upgrades it or no body is sent`() throws {
        let upgraded = try next(
            "https://a.test/", "http://b.test/", method: .post, body: "geheim",
            upgrade: { request in
                var request = request
                request.url = URL(string: "https://b.test/")
                return request
            }
        ).get()
        #expect(upgraded.hasBody)
        #expect(upgraded.url?.absoluteString == "https://b.test/")
        let bodiless = try next("https://a.test/", "http://a.test/", method: .post).get()
        #expect(bodiless.url?.absoluteString == "http://a.test/")
        let dropped = try next(
            "https://a.test/", "http://a.test/", code: 303, method: .post, body: "geheim"
        ).get()
        #expect(!dropped.hasBody)
        let encrypted = try next("http://a.test/", "https://a.test/", method: .post, body: "x")
            .get()
        #expect(encrypted.hasBody)
    }

    // MARK: Addresses

    @Test(arguments: [
        ("http://a%2Fb.test/", "a%2Fb.test"), ("http://b.test:0/", "b.test"),
        ("http://256.1/", "256.1"), ("http://[::1%25]/", "[::1%25]"), ("ws://b.test/", "ws"),
    ])
    func `a Location without a valid server is refused, and the error names it`(
        location: String, name: String
    ) throws {
        let result = next("http://a.test/", location)
        let error = #expect(throws: TransferError.self) { try result.get() }
        #expect(error?.code == .redirectToNonExistentLocation)
        #expect(error?.reason.contains(name) == true)
    }

    // MARK: Redirected requests changed by plugins

    @Test(arguments: [
        ("http://a.test/other", "Bearer t", "a.test"), ("http://b.test/", nil, nil),
        ("https://a.test/", nil, nil), ("http://a.test:81/", nil, nil),
    ])
    func `a URL changed by a plugin follows the origin rules of redirects`(
        address: String, authorization: String?, host: String?
    ) {
        let request = HTTPRequest(
            url: URL(string: "http://a.test/"),
            headers: ["Authorization": "Bearer t", "Host": "a.test", "X-Kept": "1"]
        ).redirected(1)
        var adapted = request
        adapted.url = URL(string: address)
        adapted.headers["X-More"] = "2"
        adapted.method = .delete
        adapted.context[Mine.self] = "3"
        let next = request.accepting(adapted)
        #expect(next.url?.absoluteString == address && next.method == .get)
        #expect(next.context[Mine.self] == "3" && next.context.hop == 1)
        #expect(next.headers["Authorization"] == authorization && next.headers["Host"] == host)
        #expect(next.headers["X-Kept"] == "1" && next.headers["X-More"] == nil)
    }
}

/// A custom value in a request's context.
private enum Mine: RequestContextKey { typealias Value = String }
