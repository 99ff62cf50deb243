import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct OriginTests {
    private func origin(_ text: String) throws -> Origin {
        try Origin(#require(URL(string: text)))
    }

    @Test(arguments: [
        ("http://localhost/", "HTTP://LOC%61LHOST:80/x?y#z"),
        ("https://a.test/", "https://user:pw@A.TEST.:443"),
        ("https://a.test:8443/", "https://a.test:08443/"),
        ("http://127.0.0.1/", "http://127.1/"),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]/"),
        ("http://xn--bcher-kva.example/", "http://bücher.example/"),
        ("https://a.test/", "wss://a.test/"),
        ("http://a.test/", "ws://a.test:80/"),
    ])
    func `URLs of one server have equal origins`(a: String, b: String) throws {
        #expect(try origin(a) == origin(b))
        #expect(try origin(a).hashValue == origin(b).hashValue)
    }

    /// More hosts than are cached, each twice, and with different paths.
    @Test func `the origin of a URL does not depend on earlier lookups`() throws {
        let hosts = ["a.test", "a.test:81", "aa.test", "a.tes", "b.test", "127.1", "[::1]"]
        for rest in ["", "/", "/x", "?q=@", "#f"] {
            for scheme in ["http", "https"] {
                for host in hosts + hosts.reversed() {
                    let origin = try origin("\(scheme)://\(host)\(rest)")
                    #expect(origin.scheme == scheme)
                    #expect(
                        "\(origin)" == "\(scheme)://\(host == "127.1" ? "127.0.0.1" : host)",
                        "\(rest)")
                }
            }
        }
        #expect(try origin("http://a.test@b.test/") == origin("http://b.test/"))
        #expect(throws: OriginError.self) { try origin("ftp://a.test/") }
    }

    @Test(arguments: [
        ("http://a.test/", "https://a.test/"), ("http://a.test/", "http://a.test:443/"),
        ("http://a.test/", "http://b.test/"), ("http://[fe80::1]/", "http://[fe80::1%25lo]/"),
        ("http://[fe80::1%25a]/", "http://[fe80::1%25b]/"),
        ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"),
    ])
    func `URLs of two servers have different origins`(a: String, b: String) throws {
        #expect(try origin(a) != origin(b))
    }

    @Test(arguments: [
        ("https://u:p@a.test./x", "https://a.test"), ("http://a.test:8080", "http://a.test:8080"),
        ("http://[FE80::1%25lo]:80/", "http://[fe80::1%25lo]"),
    ])
    func `an origin is described as a URL without a path`(address: String, text: String) throws {
        #expect("\(try origin(address))" == text)
    }

    @Test(arguments: ["mailto:a@b", "file:///etc/passwd", "ftp://h/"])
    func `a URL with another scheme has no origin`(address: String) throws {
        #expect(throws: OriginError.self) { try origin(address) }
    }

    @Test func `the error of a refused URL does not contain its password`() throws {
        let error = #expect(throws: OriginError.self) {
            try CanonicalAddress("http://me:geh@eim@a.test/")
        }
        #expect(error == .ambiguousUserInfo(host: "a.test"))
        #expect(!"\(try #require(error))".contains("geh"))
    }

    @Test(arguments: [
        ("http://u:p@h/x@y", "http://h/x@y"), ("http://h/x@y", "http://h/x@y"),
        ("http://@h", "http://h"), ("https://u@h:1?a@b", "https://h:1?a@b"),
    ])
    func `withoutUserInfo removes user name and password`(address: String, rest: String) throws {
        #expect(try #require(URL(string: address)).withoutUserInfo.absoluteString == rest)
    }

    @Test(arguments: [
        ("www.a.test", "a.test", true), ("a.test", "a.test", false), ("bada.test", "a.test", false),
        ("www.bada.test", "a.test", false), ("1.2.3.4", "3.4", false), ("1.2.3.4", "4", false),
        ("::ffff:1.2.3.4", "3.4", false),
    ])
    func `a name is a subdomain only after a dot, and an IP address never`(
        host: String, domain: String, isUnder: Bool
    ) {
        #expect(Origin.isName(host, under: domain) == isUnder)
    }
}
