import FoundationEssentials
import OutletHTTP
import Testing

/// Fields that say where a request ends, and for whom it is.
@Suite struct FramingTests {
    private func error(
        _ headers: [(String, String)], body: HTTPBody = .none
    ) -> HTTPRequestError? {
        var request = HTTPRequest(url: URL(string: "http://a.test/"), body: body)
        for (name, value) in headers { request.headers.append(name: name, value: value) }
        do throws(HTTPRequestError) {
            try request.checkSyntax()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "Transfer-Encoding", "transfer-encoding", "TE", "Trailer", "Connection", "KEEP-ALIVE",
        "Proxy-Connection", "Upgrade",
    ])
    func `fields that are the transport's are refused, with a reason`(name: String) {
        let error = error([(name, "chunked")])
        #expect(error == .reservedHeader(name: name))
        let text = error?.description ?? ""
        #expect(text.hasPrefix("header \(name): ") && text.hasSuffix(": leave it out"))
        // Whatever was set before and after it.
        #expect(self.error([("A", "b"), (name, ""), ("C", "d")]) == .reservedHeader(name: name))
    }

    @Test(arguments: ["", " ", "+5", "-5", "5 ", "5, 5", "0x5", "5.0", "٥", "99999999999999999999"])
    func `a Content-Length is digits only`(value: String) {
        let body = HTTPBody.data(Data("hello".utf8))
        #expect(error([("Content-Length", value)], body: body) == .invalidContentLength(value))
    }

    @Test func `a Content-Length is that of the body in memory`() {
        let body = HTTPBody.data(Data("hello".utf8))
        #expect(error([("content-length", "5")], body: body) == nil)
        #expect(error([("Content-Length", "0")]) == nil)
        #expect(
            error([("Content-Length", "7")], body: body)
                == .contentLengthMismatch(declared: 7, body: 5))
        #expect(
            error([("Content-Length", "1")])?.description
                == "header Content-Length: says 1, but the body has 0 bytes")
        // What a file has is known when it is opened.
        #expect(error([("Content-Length", "7")], body: .file(path: "/")) == nil)
    }

    @Test func `Content-Length and Host are there once`() {
        let body = HTTPBody.data(Data("hello".utf8))
        #expect(
            error([("Content-Length", "5"), ("content-length", "5")], body: body)
                == .repeatedHeader(name: "content-length"))
        #expect(error([("Host", "a"), ("HOST", "a")]) == .repeatedHeader(name: "HOST"))
    }

    @Test(arguments: [
        "a.test", "a.test:8080", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]:80", "a_b", "a%20b",
        "xn--bcher-kva.example",
    ])
    func `a Host of the user's is a name or an address, and a port`(value: String) {
        #expect(error([("Host", value)]) == nil)
    }

    @Test(arguments: [
        "", "a b", "a/b", "u@a", "a?b", "a#b", "a\\b", ":80", "a:", "a:b", "a:65536", "a:+80", "[]",
        "[a", "[::1]80", "[::1%25lo]", "::1", "a%2", "bücher.example", "a\tb",
    ])
    func `any other Host is refused`(value: String) {
        #expect(error([("Host", value)]) == .invalidHost(value))
    }

    @Test func `default fields are looked at as well`() {
        for (name, value) in [("X-A", "a\r\nB: c"), ("X-A", "a\nB: c"), ("Upgrade", "h2c")] {
            var request = HTTPRequest(url: URL(string: "http://a.test/"), headers: ["C": "d"])
            var defaults = HTTPHeaders()
            defaults.append(name: name, value: value)
            request.headers.addMissing(from: defaults)
            #expect(throws: HTTPRequestError.self) { try request.checkSyntax() }
        }
    }

    @Test func `a request is plainly valid only without such fields`() {
        var request = HTTPRequest(url: URL(string: "http://a.test/"), headers: ["A": "b"])
        #expect(request.isPlainlyValid)
        request.headers["Host"] = "b.test"
        #expect(!request.isPlainlyValid)
    }
}
