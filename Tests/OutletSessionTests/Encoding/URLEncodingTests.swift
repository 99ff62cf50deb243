import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

@Suite struct URLEncodingTests {
    private func query(
        _ parameters: Parameters?, _ encoding: URLEncoding = .default,
        to url: String = "http://example.test/"
    ) throws -> String {
        let request = HTTPRequest(url: URL(string: url))
        return try encoding.encode(request, with: parameters).url?.absoluteString ?? ""
    }

    @Test(arguments: [512, 513])
    func `parameters of too many levels are refused with the parameter's name`(levels: Int) throws {
        let list = (0..<levels).reduce("x" as any Sendable) { value, _ in [value] }
        guard levels > 512 else {
            #expect(try query(["deep": list]).hasSuffix("=x"))
            return
        }
        let error = #expect(throws: SessionError.self) { try query(["deep": list]) }
        #expect(
            error?.description.contains(
                "parameter deep: more than 512 levels of arrays and dictionaries") == true,
            "\(error?.description ?? "")")
    }

    private func body(
        _ parameters: Parameters?, _ encoding: URLEncoding = .default, method: HTTPMethod = .post
    ) throws -> String? {
        let request = HTTPRequest(url: URL(string: "http://example.test/"), method: method)
        return try encoding.encode(request, with: parameters).httpBody.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `a query needs a URL`() {
        let error = #expect(throws: SessionError.self) {
            try URLEncoding.default.encode(HTTPRequest(url: nil), with: ["a": 1])
        }
        guard case .parameterEncodingFailed(reason: .missingURL) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `without parameters the request is unchanged`() throws {
        let request = HTTPRequest(url: URL(string: "http://example.test/?a=1"), method: .post)
        #expect(try URLEncoding.default.encode(request, with: nil) == request)
        #expect(try query([:], to: "http://example.test/?a=1") == "http://example.test/?a=1")
    }

    @Test func `empty parameters set an empty body and the Content-Type`() throws {
        let request = HTTPRequest(url: URL(string: "http://example.test/"), method: .post)
        let encoded = try URLEncoding.default.encode(request, with: [:])
        #expect(encoded.httpBody == Data())
        #expect(
            encoded.headers["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete])
    func `GET, HEAD and DELETE have parameters in the query`(method: HTTPMethod) throws {
        let request = HTTPRequest(url: URL(string: "http://example.test/"), method: method)
        let encoded = try URLEncoding.default.encode(request, with: ["a": "b"])
        #expect(encoded.url?.absoluteString == "http://example.test/?a=b")
        #expect(encoded.body.isNone)
        #expect(encoded.headers.isEmpty)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .options, HTTPMethod(rawValue: "get")])
    func `other methods have parameters in the body`(method: HTTPMethod) throws {
        #expect(try body(["a": "b"], method: method) == "a=b")
    }

    @Test func `the destination of parameters can be set`() throws {
        #expect(try body(["a": "b"], .httpBody, method: .get) == "a=b")
        let post = HTTPRequest(url: URL(string: "http://example.test/"), method: .post)
        let encoded = try URLEncoding.queryString.encode(post, with: ["a": "b"])
        #expect(encoded.url?.absoluteString == "http://example.test/?a=b")
        #expect(encoded.body.isNone)
    }

    @Test func `an existing Content-Type is kept`() throws {
        let request = HTTPRequest(
            url: URL(string: "http://example.test/"), method: .post,
            headers: ["content-type": "text/x-mine"])
        let encoded = try URLEncoding.default.encode(request, with: ["a": "b"])
        #expect(encoded.headers.values(for: "Content-Type") == ["text/x-mine"])
    }

    @Test(arguments: [
        ("http://example.test", "http://example.test?a=b"),
        ("http://example.test/?x=1", "http://example.test/?x=1&a=b"),
        ("http://example.test/?x=%C3%A9%20", "http://example.test/?x=%C3%A9%20&a=b"),
        ("http://example.test/?", "http://example.test/?a=b"),
        ("http://example.test/?x&", "http://example.test/?x&a=b"),
        ("http://example.test/p#frag?ment", "http://example.test/p?a=b#frag?ment"),
    ])
    func `pairs are appended to an existing query`(before: String, after: String) throws {
        #expect(try query(["a": "b"], to: before) == after)
    }

    @Test func `pairs are sorted by key, at every level, arrays keep their order`() throws {
        let parameters: Parameters = [
            "b": [3, 1, 2], "a": ["z": 1, "c": ["y": "x"]] as [String: any Any & Sendable],
        ]
        #expect(
            try body(parameters)
                == "a%5Bc%5D%5By%5D=x&a%5Bz%5D=1&b%5B%5D=3&b%5B%5D=1&b%5B%5D=2")
    }

    @Test func `the array encoding decides the keys of elements`() throws {
        let parameters: Parameters = ["k": ["a", 1] as [any Any & Sendable]]
        func spelt(_ encoding: URLEncoding.ArrayEncoding) throws -> String? {
            try body(parameters, URLEncoding(arrayEncoding: encoding))
        }
        #expect(try spelt(.brackets) == "k%5B%5D=a&k%5B%5D=1")
        #expect(try spelt(.noBrackets) == "k=a&k=1")
        #expect(try spelt(.indexInBrackets) == "k%5B0%5D=a&k%5B1%5D=1")
        #expect(try spelt(.custom { key, index in "\(key).\(index + 1)" }) == "k.1=a&k.2=1")
    }

    @Test func `the bool encoding applies to booleans, but not to numbers`() throws {
        let parameters: Parameters = ["t": true, "f": false, "one": 1, "half": 0.5]
        #expect(try body(parameters) == "f=0&half=0.5&one=1&t=1")
        #expect(
            try body(parameters, URLEncoding(boolEncoding: .literal))
                == "f=false&half=0.5&one=1&t=true")
    }

    @Test func `an optional is encoded as its value, and nil is omitted`() throws {
        let parameters: Parameters = ["some": Int?.some(3), "none": Int?.none, "z": "z"]
        #expect(try body(parameters) == "some=3&z=z")
        #expect(
            try body(["n": ["a": Bool?.some(true), "b": nil] as [String: Bool?]]) == "n%5Ba%5D=1")
    }

    @Test func `only unreserved characters, slash and question mark are not escaped`() {
        let encoding = URLEncoding.default
        #expect(encoding.escape("AZaz09-._~/?") == "AZaz09-._~/?")
        #expect(
            encoding.escape(":#[]@!$&'()*+,;=")
                == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D")
        #expect(
            encoding.escape(" \"%<>\\^`{|}\u{7f}\n")
                == "%20%22%25%3C%3E%5C%5E%60%7B%7C%7D%7F%0A")
        #expect(encoding.escape("français日🙂") == "fran%C3%A7ais%E6%97%A5%F0%9F%99%82")
        #expect(encoding.escape("") == "")
    }

    @Test func `queryComponents returns the escaped pairs of a value`() {
        let parts = URLEncoding.default.queryComponents(fromKey: "a b", value: [1, 2])
        #expect(parts.map { "\($0.0) \($0.1)" } == ["a%20b%5B%5D 1", "a%20b%5B%5D 2"])
    }

    @Test func `the error of a convertible is thrown`() {
        #expect(throws: SessionError.self) {
            try URLEncoding.default.encode(BrokenRequest(), with: ["a": 1])
        }
    }
}

struct BrokenRequest: URLRequestConvertible {
    func asURLRequest() throws -> HTTPRequest { throw SessionError.invalidURL(url: "") }
}
