import FoundationEssentials
import OutletHTTP
import Testing

/// Fields that determine where a request ends, and its target.
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
    func `fields that the transport controls are refused with a reason`(name: String) {
        let error = error([(name, "chunked")])
        #expect(error == .reservedHeader(name: name))
        let text = error?.description ?? ""
        #expect(text.hasPrefix("header \(name): ") && text.hasSuffix(": leave it out"))
        // Also between other fields.
        #expect(self.error([("A", "b"), (name, ""), ("C", "d")]) == .reservedHeader(name: name))
    }

    @Test(arguments: ["Proxy-Authorization", "proxy-authorization"])
    func `a credential for a proxy is refused with the setting to use`(name: String) {
        #expect(error([(name, "Basic cDpw")]) == .reservedHeader(name: name))
        let text = error([(name, "Basic cDpw")])?.description ?? ""
        #expect(text.hasPrefix("header \(name): the server would get the credential"))
        #expect(text.hasSuffix("proxyCredential") && !text.contains("cDpw"))
    }

    @Test(arguments: ["", " ", "+5", "-5", "5 ", "5, 5", "0x5", "5.0", "٥", "99999999999999999999"])
    func `a Content-Length that is not digits only is refused`(value: String) {
        let body = HTTPBody.data(Data("hello".utf8))
        #expect(error([("Content-Length", value)], body: body) == .invalidContentLength(value))
    }

    @Test func `a Content-Length must equal the length of a body in memory`() {
        let body = HTTPBody.data(Data("hello".utf8))
        #expect(error([("content-length", "5")], body: body) == nil)
        #expect(error([("Content-Length", "0")]) == nil)
        #expect(
            error([("Content-Length", "7")], body: body)
                == .contentLengthMismatch(declared: 7, body: 5))
        #expect(
            error([("Content-Length", "1")])?.description
                == "header Content-Length: says 1, but the body has 0 bytes")
        // The length of a file is known when it is opened.
        #expect(error([("Content-Length", "7")], body: .file(path: "/")) == nil)
    }

    @Test func `a repeated Content-Length or Host is refused`() {
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
    func `a custom Host may be a name or an address with a port`(value: String) {
        #expect(error([("Host", value)]) == nil)
    }

    @Test(arguments: [
        "", "a b", "a/b", "u@a", "a?b", "a#b", "a\\b", ":80", "a:", "a:b", "a:65536", "a:+80", "[]",
        "[a", "[::1]80", "[::1%25lo]", "::1", "a%2", "bücher.example", "a\tb",
    ])
    func `an invalid Host is refused`(value: String) {
        #expect(error([("Host", value)]) == .invalidHost(value))
    }

    @Test func `default fields are checked as well`() {
        for (name, value) in [("X-A", "a\r\nB: c"), ("X-A", "a\nB: c"), ("Upgrade", "h2c")] {
            var request = HTTPRequest(url: URL(string: "http://a.test/"), headers: ["C": "d"])
            var defaults = HTTPHeaders()
            defaults.append(name: name, value: value)
            request.headers.addMissing(from: defaults)
            #expect(throws: HTTPRequestError.self) { try request.checkSyntax() }
        }
    }

    @Test func `a request with a Host field is not plainly valid`() {
        var request = HTTPRequest(url: URL(string: "http://a.test/"), headers: ["A": "b"])
        #expect(request.isPlainlyValid)
        request.headers["Host"] = "b.test"
        #expect(!request.isPlainlyValid)
    }
}
