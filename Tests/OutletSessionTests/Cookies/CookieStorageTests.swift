import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletLayers
@testable import OutletSession

/// Tests how `Set-Cookie` fields are stored, and which cookies are sent.
@Suite struct CookieStorageTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    /// Returns the cookies sent to a URL after a response from another URL has set some.
    private func sent(_ fields: [String], from: String, to: String) throws -> [String] {
        let storage = CookieStorage()
        var headers = HTTPHeaders()
        for field in fields { headers.append(name: "Set-Cookie", value: field) }
        storage.setCookies(
            Cookie.cookies(withResponseHeaderFields: headers, for: try url(from)),
            for: try url(from))
        return storage.cookies(for: try url(to)).map(\.pair)
    }

    @Test(arguments: [
        ("a=1", "http://x.test/", "http://x.test/", ["a=1"]),
        ("a=1", "http://x.test/", "http://www.x.test/", []),
        ("a=1", "http://x.test/", "http://X.TEST:8080/", ["a=1"]),
        ("a=1; Domain=x.test", "http://www.x.test/", "http://other.x.test/", ["a=1"]),
        ("a=1; Domain=.X.TEST", "http://www.x.test/", "http://x.test/", ["a=1"]),
        ("a=1; Domain=other.test", "http://x.test/", "http://other.test/", []),
        ("a=1; Domain=www.x.test", "http://x.test/", "http://www.x.test/", []),
        ("a=1; Domain=est", "http://x.test/", "http://x.test/", []),
        // Public suffixes: anyone can register a name below them.
        ("a=1; Domain=co.uk", "http://shop.co.uk/", "http://shop.co.uk/", []),
        ("a=1; Domain=com", "http://shop.com/", "http://shop.com/", []),
        ("a=1; Domain=github.io", "http://me.github.io/", "http://you.github.io/", []),
        ("a=1; Domain=github.io", "http://github.io/", "http://you.github.io/", []),
        ("a=1; Domain=github.io", "http://github.io/", "http://github.io/", ["a=1"]),
        ("a=1; Domain=shop.co.uk", "http://www.shop.co.uk/", "http://shop.co.uk/", ["a=1"]),
        ("a=1; Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", ["a=1"]),
        ("a=1; Domain=0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", []),
        ("a=1; Domain=", "http://x.test/", "http://x.test/", ["a=1"]),
    ])
    func `cookies are sent to their domain, but never to a public suffix`(
        field: String, from: String, to: String, expected: [String]
    ) throws {
        #expect(try sent([field], from: from, to: to) == expected)
    }

    @Test(arguments: [
        ("a=1", "/docs/page", "/docs/other", true), ("a=1", "/docs/page", "/", false),
        ("a=1", "/docs", "/", true), ("a=1; Path=/d", "/", "/d", true),
        ("a=1; Path=/d", "/", "/d/x", true), ("a=1; Path=/d", "/", "/dx", false),
        ("a=1; Path=/d/", "/", "/d", false), ("a=1; Path=nonsense", "/x/y", "/x", true),
        // Matched by the normalized path, which is the one sent.
        ("a=1; Path=/priv", "/", "/priv/../pub", false), ("a=1; Path=/pub", "/", "/x/../pub", true),
        ("a=1; Path=/priv", "/", "/priv/%2E%2e/pub", false), ("a=1", "/x/../pub/y", "/pub", true),
        ("a=1", "/x/../pub/y", "/x", false),
    ])
    func `cookies are sent to their path`(field: String, from: String, to: String, isSent: Bool)
        throws
    {
        let pairs = try sent([field], from: "http://x.test\(from)", to: "http://x.test\(to)")
        #expect(pairs == (isSent ? ["a=1"] : []))
    }

    @Test(arguments: [
        ("a=1; Secure", "https://x.test/", "https://x.test/", true),
        ("a=1; Secure", "https://x.test/", "http://x.test/", false),
        ("a=1; Secure", "http://x.test/", "https://x.test/", false),
        ("a=1; Secure", "http://localhost/", "http://localhost/", true),
        ("a=1; Secure", "https://localhost/", "http://localhost/", true),
        ("a=1; Secure", "http://LOCALHOST.:8080/", "http://localhost/", true),
        ("a=1; Secure", "http://a.localhost/", "http://a.localhost/", true),
        ("a=1; Secure", "http://127.0.0.1/", "http://127.0.0.1/", true),
        ("a=1; Secure", "http://[::1]/", "http://[::1]/", true),
        ("a=1; Secure", "http://localhost.test/", "http://localhost.test/", false),
        ("a=1; Secure", "http://xlocalhost/", "http://xlocalhost/", false),
        ("a=1; Secure", "http://127.0.0.1.test/", "http://127.0.0.1.test/", false),
        ("__Secure-a=1", "https://x.test/", "https://x.test/", false),
        ("__Secure-a=1; Secure", "https://x.test/", "https://x.test/", true),
        ("__Host-a=1; Secure; Path=/", "https://x.test/", "https://x.test/", true),
        ("__Host-a=1; Secure", "https://x.test/", "https://x.test/", false),
        ("__Host-a=1; Secure; Path=/; Domain=x.test", "https://x.test/", "https://x.test/", false),
        ("=__Host-a=1; Secure; Path=/", "https://x.test/", "https://x.test/", false),
        ("=__secure-a=1; Secure", "https://x.test/", "https://x.test/", false),
        ("__Secure-a; Secure", "https://x.test/", "https://x.test/", false),
        ("__HOST-a=1; Secure; Domain=x.test", "https://x.test/", "https://x.test/", false),
        // Servers that remove such blanks would take the prefix for that of the name.
        ("\u{2000}__Host-a=1; Domain=x.test", "https://x.test/", "https://x.test/", false),
        ("\u{A0}\u{3000}__secure-a=1", "https://x.test/", "https://x.test/", false),
        ("\u{85}__Host-a; Domain=x.test", "https://x.test/", "https://x.test/", false),
        ("=\u{2028}__Host-a=1; Secure; Path=/", "https://x.test/", "https://x.test/", false),
        ("\u{2000}__Host-a=1; Secure; Path=/", "https://x.test/", "https://x.test/", true),
        ("\u{2000}a=1; Domain=x.test", "https://x.test/", "https://x.test/", true),
        ("a=1; Max-Age=10", "http://x.test/", "http://x.test/", true),
        ("a=1; Max-Age=99999999999999999999", "http://x.test/", "http://x.test/", true),
        ("a=1; Max-Age=+0", "http://x.test/", "http://x.test/", true),
        ("a=1; Max-Age=0", "http://x.test/", "http://x.test/", false),
        ("a=1; Max-Age=-5", "http://x.test/", "http://x.test/", false),
        ("a=1; Max-Age=soon", "http://x.test/", "http://x.test/", true),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://x.test/", "http://x.test/", false),
        ("a=1; Expires=Sun, 06 Nov 2095 08:49:37 GMT", "http://x.test/", "http://x.test/", true),
        ("a=1; Expires=Sunday, 06-Nov-94 08:49:37 GMT", "http://x.test/", "http://x.test/", false),
        ("a=1; Expires=never", "http://x.test/", "http://x.test/", true),
        (
            "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9", "http://x.test/",
            "http://x.test/", true
        ),
        ("a=\u{1}", "http://x.test/", "http://x.test/", false),
    ])
    func `cookies follow Secure, name prefixes, Max-Age and Expires`(
        field: String, from: String, to: String, isSent: Bool
    ) throws {
        #expect(try sent([field], from: from, to: to).isEmpty == !isSent)
    }

    @Test func `a later cookie replaces an earlier one with the same name and path`() throws {
        let fields = ["a=1; Path=/", "b=2; Path=/", "a=3; Path=/", "a=4; Path=/deep"]
        #expect(
            try sent(fields, from: "http://x.test/", to: "http://x.test/deep/er")
                == ["a=4", "a=3", "b=2"])
    }

    @Test func `a cookie set over plain HTTP does not replace a secure cookie`() throws {
        let storage = CookieStorage()
        func set(_ field: String, from text: String) throws {
            storage.setCookies(
                Cookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: try url(text)),
                for: try url(text))
        }
        try set("id=good; Secure; Domain=x.test", from: "https://x.test/")
        try set("id=evil; Domain=x.test", from: "http://www.x.test/")
        #expect(storage.cookies.map(\.value) == ["good"])
        try set("id=better; Domain=x.test", from: "https://www.x.test/")
        #expect(storage.cookies.map(\.value) == ["better"])
    }

    @Test func `a Secure cookie is not stored for a URL without TLS`() throws {
        let storage = CookieStorage()
        func set(_ value: String, for text: String) throws {
            let cookie = Cookie(name: "id", value: value, domain: "x.test", isSecure: true)
            storage.setCookies([cookie], for: try url(text))
        }
        try set("good", for: "https://x.test/")
        try set("evil", for: "http://x.test/")
        #expect(storage.cookies.map(\.value) == ["good"])
        try set("better", for: "https://x.test/")
        #expect(storage.cookies.map(\.value) == ["better"])
    }

    @Test func `a secure cookie that has ended does not keep others from being set`() {
        var jar = CookieJar()
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        func cookie(_ value: String, isSecure: Bool, _ end: Date?) -> Cookie {
            Cookie(
                name: "sid", value: value, domain: "x.test", expiresDate: end, isSecure: isSecure)
        }
        jar.set(cookie("old", isSecure: true, start + 5), isSecure: true, now: start)
        jar.set(cookie("early", isSecure: false, nil), isSecure: false, now: start + 4)
        #expect(jar.cookies(now: start + 4).map(\.value) == ["old"])
        var late = cookie("late", isSecure: false, nil)
        late.creationDate = start + 10
        jar.set(late, isSecure: false, now: start + 10)
        #expect(jar.cookies(now: start + 10).map(\.value) == ["late"])
        #expect(jar.cookies(now: start + 10).map(\.creationDate) == [start + 10])
    }

    @Test(arguments: [
        ("a=1;\u{301}Path=/x", "a=1", "/deep"), ("a=1; Path=/\u{FE0F}x", "a=1", "/\u{FE0F}x"),
        ("a\u{37E}b=1; Path=/x", "a\u{37E}b=1", "/x"), ("a=\u{301}1; Path=/x", "a=\u{301}1", "/x"),
        ("a=1; Path\u{3000}=/x", "a=1", "/deep"), ("a=1\u{A0}; Path=/x", "a=1\u{A0}", "/x"),
        ("a=1; Secure\u{301}; path=/x", "a=1", "/x"),
    ])
    func `a Set-Cookie field is split by bytes`(field: String, pair: String, path: String) throws {
        let address = try url("http://x.test/deep/er")
        let found = try #require(
            SetCookie(field: field)?.cookie(from: address, of: Origin(address), now: .now))
        #expect(found.pair.hasSameBytes(as: pair) && found.path.hasSameBytes(as: path))
    }

    @Test func `unusual name-value pairs are kept, and too large ones are refused`() throws {
        let address = "http://x.test/"
        #expect(try sent(["  a = b = c  "], from: address, to: address) == ["a=b = c"])
        #expect(try sent(["lonely"], from: address, to: address) == ["lonely"])
        #expect(try sent(["=x"], from: address, to: address) == ["x"])
        #expect(try sent(["", ";", "="], from: address, to: address) == [])
        let large = String(repeating: "x", count: 4096)
        #expect(try sent(["a=\(large)"], from: address, to: address) == [])
    }

    @Test func `one server cannot fill the storage`() throws {
        let storage = CookieStorage()
        for index in 0..<1000 {
            storage.setCookie(
                Cookie(
                    name: "n\(index)", value: "v", domain: "x.test",
                    creationDate: Date(timeIntervalSince1970: Double(index))))
        }
        #expect((162...180).contains(storage.cookies.count))
        #expect(storage.cookies(for: try url("http://x.test/")).last?.name == "n999")
        for index in 0..<3500 {
            storage.setCookie(Cookie(name: "n", value: "v", domain: "x\(index).test"))
        }
        #expect((2970...3300).contains(storage.cookies.count))
    }

    @Test func `a saved file keeps all attributes of a cookie, and only its owner can read it`()
        throws
    {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "cookies.txt")
        let storage = CookieStorage()
        let end = Date(timeIntervalSince1970: 4_000_000_000)
        let created = Date(timeIntervalSince1970: 0)
        let cookies = [
            Cookie(
                name: "a", value: "1", domain: ".x.test", path: "/p", expiresDate: end,
                isSecure: true, isHTTPOnly: true, sameSite: .strict, creationDate: created),
            Cookie(name: "b", value: "", domain: "y.test", sameSite: Cookie.SameSite.none),
            Cookie(name: "c", value: "#3", domain: "z.test"),
        ]
        for cookie in cookies { storage.setCookie(cookie) }
        try storage.save(to: file)
        let copy = CookieStorage()
        try copy.load(contentsOf: file)
        func plain(_ storage: CookieStorage) -> [Cookie] {
            storage.cookies.map { cookie in
                var cookie = cookie
                cookie.creationDate = created
                return cookie
            }
        }
        #expect(plain(copy) == plain(storage))
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        try storage.save(to: file, includesSessionCookies: false)
        #expect(directory.text("cookies.txt")?.contains("y.test") == false)
        #expect(directory.names == ["cookies.txt"])
        #expect(throws: CacheStorageError.self) {
            try storage.save(to: directory.url.appending(path: "no/where"))
        }
    }

    @Test func `a cookie file of curl can be loaded`() throws {
        let directory = try TemporaryDirectory()
        try directory.write(
            """
            # Netscape HTTP Cookie File
            #HttpOnly_.x.test\tTRUE\t/\tTRUE\t4000000000\tid\tsecret
            y.test\tFALSE\t/\tFALSE\t0\tempty
            nonsense
            """, to: "jar")
        let storage = CookieStorage()
        try storage.load(contentsOf: directory.url.appending(path: "jar"))
        #expect(storage.cookies.map(\.pair) == ["id=secret", "empty="])
        #expect(storage.cookies.first?.isHTTPOnly == true)
        #expect(storage.cookies.first?.description.contains("secret") == false)
    }

    @Test func `cookies can be deleted`() throws {
        let storage = CookieStorage()
        let cookie = Cookie(name: "a", value: "1", domain: "x.test")
        storage.setCookie(cookie)
        storage.deleteCookie(cookie)
        #expect(storage.cookies.isEmpty)
        storage.setCookie(cookie)
        storage.removeCookies(since: .distantPast)
        #expect(storage.cookies.isEmpty)
    }

    @Test(arguments: [
        "Max-Age=99999999999", "Expires=Sun, 06 Nov 2095 08:49:37 GMT", "Max-Age=34560001",
    ])
    func `no cookie is kept for more than 400 days`(attribute: String) throws {
        let now = Date.now
        let address = try url("http://x.test/")
        let cookie = try #require(
            SetCookie(field: "a=1; \(attribute)")?.cookie(
                from: address, of: Origin(address), now: now))
        #expect(cookie.expiresDate == now + 400 * 86_400)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1600 08:49:37 GMT", false), ("Mon, 01 Jan 1601 00:00:00 GMT", true),
    ])
    func `a date before 1601 is invalid`(text: String, isOne: Bool) {
        #expect((CookieDate.parse(text) != nil) == isOne)
        // Without a valid date it is a session cookie.
        #expect((SetCookie(field: "a=1; Expires=\(text)")?.expires != nil) == isOne)
    }

    @Test(arguments: [1024, 1025])
    func `an attribute of more than 1024 bytes is ignored`(size: Int) throws {
        let path = "/" + String(repeating: "x", count: size - 1)
        let address = try url("http://x.test/")
        let cookie = try SetCookie(field: "a=1; Path=\(path)")?
            .cookie(from: address, of: Origin(address), now: .now)
        #expect(cookie?.path == (size > 1024 ? "/" : path))
    }

    @Test(arguments: [
        ("http://a.x.test/", "http://b.x.test/", true), ("http://x.test/", "http://y.test/", false),
        // The site of an IP address is the whole address.
        ("http://10.0.0.1/", "http://127.0.0.1/", false),
        ("http://10.0.0.1/", "http://10.0.0.1:8080/", true),
        ("http://[::1]/", "http://[::2]/", false),
    ])
    func `a site is the registrable domain or the IP address`(
        first: String, setter: String, isTaken: Bool
    ) throws {
        let storage = CookieStorage(cookieAcceptPolicy: .onlyFromMainDocumentDomain)
        let address = try url(setter)
        storage.setCookies(
            Cookie.cookies(withResponseHeaderFields: ["Set-Cookie": "a=1"], for: address),
            for: address, mainDocumentURL: try url(first))
        #expect(!storage.cookies.isEmpty == isTaken)
    }

    @Test func `a cookie is stored only if both the storage's and the session's policy allow it`()
        throws
    {
        let address = try url("http://x.test/")
        for (own, policy) in [
            (CookieAcceptPolicy.never, CookieAcceptPolicy.always), (.always, .never),
        ] {
            let storage = CookieStorage(cookieAcceptPolicy: own)
            storage.setCookies(
                of: ["Set-Cookie": "a=1"], from: address, policy: policy, mainDocumentURL: nil)
            #expect(storage.cookies.isEmpty)
        }
    }

    /// Sets the same fields again, from the same URL and from other paths, hosts and schemes.
    @Test func `a repeated Set-Cookie field is applied to the current URL`() throws {
        let storage = CookieStorage()
        func set(_ field: String, from text: String) throws {
            storage.setCookies(
                of: ["Set-Cookie": field], from: try url(text), policy: .always,
                mainDocumentURL: nil)
        }
        func all() -> Set<String> { Set(storage.cookies.map { "\($0)" }) }
        // Without `Path`, the default is the URL's directory.
        for path in ["/a/x", "/b/x", "/b/y"] { try set("a=1", from: "http://x.test\(path)") }
        #expect(all() == ["a=••• for x.test/a", "a=••• for x.test/b"])
        for host in ["x.test", "y.test", "sub.x.test"] {
            try set("b=1; Path=/; Domain=x.test", from: "http://\(host)/")
        }
        #expect(all().contains("b=••• for .x.test/") && storage.cookies.count == 3)
        // A secure cookie is not accepted over plain HTTP, although it was accepted over HTTPS.
        for scheme in ["https", "http"] {
            try set("c=1; Path=/; Secure", from: "\(scheme)://x.test/")
        }
        #expect(storage.cookies.filter { $0.name == "c" }.count == 1)
        storage.removeCookies(since: .distantPast)
        try set("c=1; Path=/; Secure", from: "http://x.test/")
        #expect(storage.isEmpty)
        try set("a=1; Path=/", from: "http://x.test/")
        #expect(storage.cookies.count == 1)
    }

    @Test func `a repeated Max-Age begins its time again`() throws {
        var recent = RecentCookies()
        var jar = CookieJar()
        let address = try url("http://x.test/")
        let ends = [0.0, 50].map { seconds in
            let now = Date(timeIntervalSince1970: seconds)
            Array("a=1; Max-Age=100".utf8).withUnsafeBufferPointer {
                recent.set($0, from: address, in: &jar, now: now)
            }
            return jar.cookies(now: now).first?.expiresDate?.timeIntervalSince1970
        }
        #expect(ends == [100, 150])
    }

    /// A storage caches the field of a request; a change of the cookies must clear the cache.
    @Test func `the Cookie field is updated after each change of the cookies`() throws {
        let storage = CookieStorage()
        func sent(_ text: String = "http://x.test/a/b") throws -> String? {
            let request = HTTPRequest(url: try url(text))
            return storage.addingCookies(to: request)?.headers["Cookie"]
        }
        func set(_ field: String, from text: String = "http://x.test/") throws {
            storage.setCookies(
                of: ["Set-Cookie": field], from: try url(text), policy: .always,
                mainDocumentURL: nil)
        }
        try set("a=1; Path=/")
        for _ in 0..<2 { #expect(try sent() == "a=1") }
        // The second and the third change nothing.
        for _ in 0..<3 { try set("a=2; Path=/") }
        #expect(try sent() == "a=2")
        // It is set again after another value, and after its removal.
        for value in ["1", "2"] {
            try set("a=\(value); Path=/")
            #expect(try sent() == "a=\(value)")
        }
        storage.deleteCookie(Cookie(name: "a", value: "", domain: "x.test"))
        #expect(try sent() == nil)
        for _ in 0..<2 { try set("a=2; Path=/") }
        #expect(try sent() == "a=2")
        // Once a cookie has a path, other URLs of the server send other cookies.
        try set("b=1; Path=/a")
        #expect(try sent() == "b=1; a=2")
        #expect(try sent("http://x.test/c") == "a=2")
        #expect(try sent("http://x.test.other.test/a/b") == nil)
        // A later end is taken, an earlier one ends it.
        try set("c=1; Path=/; Max-Age=100")
        for age in ["200", "100"] {
            try set("c=1; Path=/; Max-Age=\(age)")
            #expect(try sent("http://x.test/c") == "a=2; c=1")
        }
        try set("c=1; Path=/; Max-Age=0")
        #expect(try sent("http://x.test/c") == "a=2")
        // The request's own cookies count each time.
        let own = HTTPRequest(url: try url("http://x.test/c"), headers: ["Cookie": "a=own"])
        #expect(storage.addingCookies(to: own) == nil)
        #expect(try sent("http://x.test/c") == "a=2")
    }

    @Test func `an expired cookie is not sent, even without a change of the storage`() throws {
        var sent = SentCookies()
        var jar = CookieJar()
        let address = try url("http://x.test/")
        jar.set(
            Cookie(name: "a", value: "1", domain: "x.test", expiresDate: Date() + 3600),
            isSecure: true, now: Date())
        #expect(sent.headers([:], for: address, from: &jar, now: Date())?["Cookie"] == "a=1")
        #expect(sent.headers([:], for: address, from: &jar, now: Date() + 3601) == nil)
        sent = SentCookies()
        let request = HTTPRequest(url: address)
        for _ in 0..<2 {
            #expect(sent.request(request, from: &jar, now: Date())?.headers["Cookie"] == "a=1")
        }
        #expect(sent.request(request, from: &jar, now: Date() + 3601) == nil)
    }

    @Test func `a repeated request gets the cookies of its own path`() throws {
        let storage = CookieStorage()
        for (cookie, path) in [("a=1", "/"), ("b=2", "/b")] {
            storage.setCookies(
                of: ["Set-Cookie": "\(cookie); Path=\(path)"], from: try url("http://x.test/"),
                policy: .always, mainDocumentURL: nil)
        }
        let requests = try ["/", "/b"].map { HTTPRequest(url: try url("http://x.test\($0)")) }
        for request in requests + requests.reversed() {
            for _ in 0..<2 {
                let sent = storage.addingCookies(to: request)
                #expect(
                    sent?.headers["Cookie"] == (request.url?.path() == "/" ? "a=1" : "b=2; a=1"))
                #expect(sent?.url == request.url)
            }
            var posted = request
            posted.method = .post
            posted.body = .data(Data("x".utf8))
            #expect(storage.addingCookies(to: posted)?.body == posted.body)
        }
    }

    @Test func `a field that was received from a URL is set again from another server`() throws {
        let storage = CookieStorage()
        let servers = ["http://x.test/", "http://y.test/"]
        for server in servers + servers {
            storage.setCookies(
                of: ["Set-Cookie": "a=1; Path=/"], from: try url(server), policy: .always,
                mainDocumentURL: nil)
        }
        #expect(storage.cookies.map(\.domain) == ["x.test", "y.test"])
    }

    @Test(arguments: ["\r\n ", "\n\t", "\r\n\r\n "])
    func `a folded Set-Cookie field is read as one line`(fold: String) throws {
        let storage = CookieStorage()
        let head = "HTTP/1.1 200 OK\r\nset-cookie:  a=1;\(fold)Path=/\r\nX: y\r\n\r\n"
        let headers = HTTPHeaders(HeaderBlock(bytes: Array(head.utf8)))
        for _ in 0..<2 {
            storage.setCookies(
                of: headers, from: try url("http://x.test/b/c"), policy: .always,
                mainDocumentURL: nil)
        }
        let isFolded = fold.utf8.filter { $0 == 0x0A }.count == 1
        #expect(storage.cookies.map(\.path) == [isFolded ? "/" : "/b"])
    }

    @Test func `more fields than the cache holds set all their cookies`() throws {
        let storage = CookieStorage()
        let address = try url("http://x.test/")
        let fields = (0..<20).map { "c\($0)=v\($0)" }
        for _ in 0..<2 {
            var headers = HTTPHeaders()
            for field in fields { headers.append(name: "Set-Cookie", value: field) }
            storage.setCookies(of: headers, from: address, policy: .always, mainDocumentURL: nil)
        }
        #expect(Set(storage.cookies.map(\.pair)) == Set(fields))
    }

    @Test func `bytes of cookies that are not UTF-8 are sent, stored and loaded unchanged`() throws
    {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "jar")
        let address = try url("http://x.test/")
        let head: [[UInt8]] = [
            Array("HTTP/1.1 200 OK\r\nSet-Cookie: a=".utf8), [0xE9],
            Array("; Max-Age=100\r\nSet-Cookie: b".utf8), [0xFF], Array("=1; Max-Age=100".utf8),
            Array("\r\nSet-Cookie: c=\u{E9}; Max-Age=100\r\n\r\n".utf8),
        ]
        let headers = HTTPHeaders(HeaderBlock(bytes: Array(head.joined())))
        let sent: [UInt8] =
            Array("a=".utf8) + [0xE9] + Array("; b".utf8) + [0xFF] + Array("=1; c=\u{E9}".utf8)
        func bytes(_ storage: CookieStorage, own: HTTPHeaders = [:]) -> [UInt8]? {
            let request = HTTPRequest(url: address, headers: own)
            return storage.addingCookies(to: request)?.headers.first?.valueBytes
        }
        let storage = CookieStorage()
        storage.setCookies(of: headers, from: address, policy: .always, mainDocumentURL: nil)
        #expect(bytes(storage) == sent)
        let own = HTTPHeaders([HTTPHeader(name: "Cookie", valueBytes: [0x6F, 0x3D, 0xFC])])
        #expect(bytes(storage, own: own) == [0x6F, 0x3D, 0xFC, 0x3B, 0x20] + sent)

        // The same fields, parsed already.
        var parsed = HTTPHeaders()
        for header in headers { parsed.append(header) }
        let other = CookieStorage()
        other.setCookies(
            Cookie.cookies(withResponseHeaderFields: parsed, for: address), for: address)
        let cookies = other.cookies(for: address)
        #expect(Cookie.requestHeaderFields(with: cookies).first?.valueBytes == sent)
        try other.save(to: file)
        let loaded = CookieStorage()
        try loaded.load(contentsOf: file)
        #expect(bytes(loaded) == sent)
    }

    @Test func `a replaced text that is no Latin-1 is sent as UTF-8`() throws {
        let field = HTTPHeader(name: "Set-Cookie", valueBytes: [0x61, 0x3D, 0xE9])
        var cookie = try #require(
            Cookie.cookies(
                withResponseHeaderFields: HTTPHeaders([field]), for: try url("http://x.test/")
            ).first)
        cookie.value = "\u{20AC}"
        #expect(
            Cookie.requestHeaderFields(with: [cookie]).first?.valueBytes == Array("a=\u{20AC}".utf8)
        )
    }

    @Test func `a cookie that a secure one hid is stored once that has expired`() throws {
        var jar = CookieJar()
        var recent = RecentCookies()
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        func set(_ field: String, _ address: String, after seconds: Double) throws {
            let url = try self.url(address)
            Array(field.utf8).withUnsafeBufferPointer {
                recent.set($0, from: url, in: &jar, now: now + seconds)
            }
        }
        try set("a=1; Secure; Max-Age=10", "https://x.test/", after: 0)
        for seconds in 1...3 { try set("a=2", "http://x.test/", after: Double(seconds)) }
        #expect(jar.cookies(now: now + 5).map(\.pair) == ["a=1"])
        try set("a=2", "http://x.test/", after: 20)
        #expect(jar.cookies(now: now + 20).map(\.pair) == ["a=2"])
    }

    @Test func `the request's own Cookie fields are joined as cookies are`() throws {
        let storage = CookieStorage()
        storage.setCookie(Cookie(name: "s", value: "1", domain: "x.test"))
        var request = HTTPRequest(url: try url("http://x.test/"))
        for own in ["x=1", "", "y=2"] { request.headers.append(name: "Cookie", value: own) }
        #expect(
            storage.addingCookies(to: request)?.headers.values(for: "Cookie") == ["x=1; y=2; s=1"])
        request.headers = ["Cookie": ""]
        #expect(storage.addingCookies(to: request)?.headers.values(for: "Cookie") == ["s=1"])
    }

    @Test(arguments: [
        ("Sun, 28 Feb 2027 10:00:00 GMT", true), ("Mon, 31 Feb 2027 10:00:00 GMT", false),
        ("Tue, 29 Feb 2028 10:00:59 GMT", true), ("Tue, 29 Feb 2028 10:00:60 GMT", false),
    ])
    func `an Expires date that does not exist is ignored`(text: String, exists: Bool) {
        #expect((CookieDate.parse(text) != nil) == exists)
    }
}

extension SetCookie {
    fileprivate init?(field: String) { self.init(HTTPHeader(name: "Set-Cookie", value: field)) }
}
