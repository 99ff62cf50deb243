import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletLayers
@testable import OutletSession

/// Tests the cookie file: each cookie is written as one line, and each line read is validated.
@Suite struct CookieFileTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var file: URL { directory.url.appending(path: "jar") }

    /// Loads a file with the given lines, and returns the cookies of the storage.
    private func loaded(_ lines: String...) throws -> [String] {
        try directory.write(lines.joined(separator: "\n") + "\n", to: "jar")
        let storage = CookieStorage()
        try storage.load(contentsOf: file)
        return storage.cookies.map {
            "\($0.isHostOnly ? "" : ".")\($0.domain)\($0.path) \($0.pair)"
        }
    }

    @Test func `a pipe as cookie file is an error, and as HSTS file it is empty`() throws {
        try #require(mkfifo(file.path, 0o600) == 0)
        #expect(throws: NotPlainFile.self) { try CookieStorage().load(contentsOf: file) }
        #expect(HSTSStorage.file(file).policies.isEmpty)
    }

    /// Characters that some parsers take for the end of a line or of a field.
    static let breaks = [
        "\n", "\r", "\r\n", "\t", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}", "\u{0}",
        "\n\u{301}", "\t\u{FE0F}",
    ]

    @Test(arguments: breaks)
    func `a cookie with a line break cannot add another cookie to the file`(character: String)
        throws
    {
        let evil = "x\(character).bank.test\tTRUE\t/\tFALSE\t4000000000\tsession\tstolen"
        let storage = CookieStorage()
        let url = try #require(URL(string: "http://evil.test/"))
        for field in ["a=\(evil)", "\(evil)=a", "\(evil)", "a=b; Path=/\(evil)"] {
            storage.setCookies(
                Cookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url), for: url)
        }
        storage.setCookie(Cookie(name: "own", value: evil, domain: "own.test"))
        storage.setCookie(Cookie(name: evil, value: "v", domain: "own.test"))
        storage.setCookie(Cookie(name: "path", value: "v", domain: "own.test", path: "/\(evil)"))
        storage.setCookie(Cookie(name: "domain", value: "v", domain: "own.test\(evil)"))
        storage.setCookie(Cookie(name: "good", value: "v", domain: "own.test"))
        try storage.save(to: file)
        let text = try #require(directory.text("jar"))
        for line in text.lines where !line.startsWithBytes(of: "#") {
            #expect(line.parts(separatedBy: "\t").count == 7)
        }
        let copy = CookieStorage()
        try copy.load(contentsOf: file)
        #expect(copy.cookies.allSatisfy { ["evil.test", "own.test"].contains($0.domain) })
        #expect(copy.cookies.contains { $0.name == "good" })
        let known = storage.cookies.map(\.pair)
        #expect(copy.cookies.allSatisfy { known.contains($0.pair) })
    }

    @Test func `Unicode line separators in a cookie are kept`() throws {
        let storage = CookieStorage()
        let value = "a\u{2028}b\u{85}c\u{301}"
        storage.setCookie(Cookie(name: "n\u{2029}", value: value, domain: "x.test"))
        try storage.save(to: file)
        let copy = CookieStorage()
        try copy.load(contentsOf: file)
        #expect(copy.cookies.first?.value.hasSameBytes(as: value) == true)
    }

    @Test(arguments: [
        ("x.test\tFALSE\t/\tFALSE\t0\ta\t1", "x.test/ a=1"),
        (".x.test\tTRUE\t/\tFALSE\t4000000000\ta\t1", ".x.test/ a=1"),
        ("x.test\ttrue\t/\ttrue\t0\ta\t1\r", ".x.test/ a=1"),
        ("X.TEST\tFALSE\t/p\tFALSE\t0\ta\t", "x.test/p a="),
        // Public suffixes and IP addresses (only host-only cookies may have them), invalid domains.
        (".co.uk\tTRUE\t/\tFALSE\t0\ta\t1", nil), ("co.uk\tFALSE\t/\tFALSE\t0\ta\t1", "co.uk/ a=1"),
        (".com\tTRUE\t/\tFALSE\t0\ta\t1", nil), (".github.io\tTRUE\t/\tFALSE\t0\ta\t1", nil),
        (".0.0.1\tTRUE\t/\tFALSE\t0\ta\t1", nil),
        ("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1", "127.0.0.1/ a=1"),
        ("\tFALSE\t/\tFALSE\t0\ta\t1", nil), (".\tTRUE\t/\tFALSE\t0\ta\t1", nil),
        ("..x.test\tTRUE\t/\tFALSE\t0\ta\t1", nil), ("x test\tFALSE\t/\tFALSE\t0\ta\t1", nil),
        ("x.test/\tFALSE\t/\tFALSE\t0\ta\t1", nil), ("x\u{37E}test\tFALSE\t/\tFALSE\t0\ta\t1", nil),
        // Name prefixes.
        ("x.test\tFALSE\t/\tFALSE\t0\t__Secure-a\t1", nil),
        ("x.test\tFALSE\t/\tTRUE\t0\t__Secure-a\t1", "x.test/ __Secure-a=1"),
        (".x.test\tTRUE\t/\tTRUE\t0\t__host-a\t1", nil),
        ("x.test\tFALSE\t/p\tTRUE\t0\t__Host-a\t1", nil),
        ("x.test\tFALSE\t/\tFALSE\t0\t__Host-a\t1", nil),
        ("x.test\tFALSE\t/\tTRUE\t0\t__Host-a\t1", "x.test/ __Host-a=1"),
        ("x.test\tFALSE\t/\tTRUE\t0\t\t__Host-a=1", nil),
        // Paths, expiry times, name-value pairs, numbers of fields.
        ("x.test\tFALSE\tp\tFALSE\t0\ta\t1", nil), ("x.test\tFALSE\t\tFALSE\t0\ta\t1", nil),
        ("x.test\tFALSE\t/\u{301}p\tFALSE\t0\ta\t1", "x.test/\u{301}p a=1"),
        ("x.test\tFALSE\t/\tFALSE\t1\ta\t1", nil), ("x.test\tFALSE\t/\tFALSE\t-1\ta\t1", nil),
        ("x.test\tFALSE\t/\tFALSE\t+4000000000\ta\t1", nil),
        ("x.test\tFALSE\t/\tFALSE\t\ta\t1", nil),
        ("x.test\tFALSE\t/\tFALSE\t99999999999999999999\ta\t1", nil),
        ("x.test\tFALSE\t/\tFALSE\t0\t\t", nil), ("x.test\tFALSE\t/\tFALSE\t0", nil),
        ("x.test\tFALSE\t/\tFALSE\t0\ta\t1\t2", nil), ("x.test\tFALSE\t/\tFALSE\t0\ta\t\u{1}", nil),
        ("x.test\tFALSE\t/\tFALSE\t0\ta\t\(String(repeating: "x", count: 4096))", nil),
    ])
    func `a line is accepted if a server could have set the cookie`(line: String, expected: String?)
        throws
    {
        #expect(try loaded(line) == (expected.map { [$0] } ?? []))
    }

    @Test func `a SameSite line applies only to the next line`() throws {
        try directory.write(
            """
            #SameSite=Lax
            # a comment
            #HttpOnly_x.test\tFALSE\t/\tFALSE\t0\ta\t1
            x.test\tFALSE\t/\tFALSE\t0\tb\t1
            #SameSite=Strict
            nonsense
            x.test\tFALSE\t/\tFALSE\t0\tc\t1
            """, to: "jar")
        let storage = CookieStorage()
        try storage.load(contentsOf: file)
        #expect(storage.cookies.map(\.sameSite) == [.lax, nil, nil])
        #expect(storage.cookies.map(\.isHTTPOnly) == [true, false, false])
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300])
    func `an expiry time out of range is written as digits`(seconds: Double) throws {
        let storage = CookieStorage()
        storage.setCookie(
            Cookie(
                name: "a", value: "1", domain: "x.test",
                expiresDate: Date(timeIntervalSince1970: seconds)))
        try storage.save(to: file)
        let lines = try #require(directory.text("jar")).lines.filter { $0.startsWithBytes(of: "x") }
        #expect(lines.allSatisfy { $0.parts(separatedBy: "\t")[4].isDigits })
    }

    @Test func `a temporary file of another process does not prevent saving`() throws {
        let storage = CookieStorage()
        storage.setCookie(Cookie(name: "a", value: "1", domain: "x.test"))
        let hsts = HSTSStorage.file(directory.url.appending(path: "hsts"))
        for name in ["jar", "hsts"] {
            try directory.write("", to: "\(name).\(ProcessInfo.processInfo.processIdentifier).tmp")
        }
        for _ in 0..<3 { try storage.save(to: file) }
        hsts.setPolicy(.init(host: "x.test", expiresDate: .distantFuture))
        hsts.flush()
        #expect(hsts.lastStorageError == nil)
        #expect(directory.text("jar")?.containsBytes(of: "x.test") == true)
        #expect(directory.text("hsts")?.containsBytes(of: "x.test") == true)
        #expect(directory.names.count == 4)
    }

    @Test(arguments: breaks + [" ", "", ".", "\u{2028}x"])
    func `a host with a line break cannot add another host to the HSTS file`(character: String)
        throws
    {
        let file = directory.url.appending(path: "hsts")
        let hsts = HSTSStorage.file(file)
        hsts.setPolicy(
            .init(
                host: "\(character)evil.test \"x\"\(character)bank.test",
                expiresDate: .distantFuture))
        hsts.setPolicy(.init(host: "good.test", expiresDate: .distantFuture))
        hsts.flush()
        #expect(HSTSStorage.file(file).policies.map(\.host) == ["good.test"])
    }

    @Test func `invalid lines of an HSTS file are ignored`() {
        let lines = [
            "a.test \"20991231 23:59:59\"", ".b.test \"unlimited\"", "# c.test \"unlimited\"",
            "127.0.0.1 \"unlimited\"", "d\u{37E}.test \"unlimited\"", "e.test \"2099123\"",
            "f.test \"2099123١ 23:59:59\"", "..g.test \"unlimited\"", "h.test",
            "i.test\u{2028}unlimited",
        ]
        let policies = HSTSFile.decode(lines.joined(separator: "\r\n"))
        #expect(policies.map(\.host) == ["a.test", "b.test"])
        #expect(policies.map(\.includesSubdomains) == [false, true])
    }
}
