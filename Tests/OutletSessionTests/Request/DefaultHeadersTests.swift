import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletSession

@Suite struct DefaultHeadersTests {
    @Test func `the default fields are Accept-Encoding, Accept-Language and User-Agent`() throws {
        let headers = HTTPHeaders.default
        #expect(headers.map(\.name) == ["Accept-Encoding", "Accept-Language", "User-Agent"])
        #expect(headers["Accept-Encoding"] == "br;q=1.0, gzip;q=0.9, deflate;q=0.8")
        #expect(headers["Accept-Language"]?.hasSuffix(";q=1.0") == true)
        let agent = try #require(headers["User-Agent"])
        let shape = /[^ ]+\/[^ ]+ \([^;]+; build:[^;]+; Linux \d+\.\d+\.\d+\) Outlet\/\d+\.\d+\.\d+/
        #expect(agent.wholeMatch(of: shape) != nil, "\(agent)")
        #expect(SessionConfiguration.default.headers == headers)
    }

    @Test(arguments: [
        ("/usr/bin/tool", "tool"), ("tool", "tool"), ("/opt/my tool\r\nX: 1", "mytoolX1"),
        ("/opt/größe", "gre"), ("/opt/(\u{7F})", "Unknown"), ("/", "Unknown"), ("", "Unknown"),
    ]) func `the product in User-Agent is a token of the program's name`(
        path: String, product: String
    ) {
        #expect(HTTPHeader.productName(path) == product)
    }

    @Test func `a request can be created from a URL, a method and fields`() {
        var request = HTTPRequest(
            url: URL(string: "http://h.test/"), method: .query, headers: ["A": "1"])
        request.headers["B"] = "2"
        #expect(request.method.rawValue == "QUERY")
        #expect(request.headers.map(\.description) == ["A: 1", "B: 2"])
    }

    @Test func `a range is asked for without a content coding, unless the request names one`()
        async
    {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let own: [HTTPHeaders] = [
            ["Range": "bytes=0-9"], ["Range": "bytes=0-9", "Accept-Encoding": "gzip"], [:],
        ]
        for headers in own {
            _ = await session.request("http://a.test/", headers: headers).serializingData().response
        }
        let sent = transport.requests.map { $0.headers.values(for: "Accept-Encoding") }
        #expect(
            sent == [["identity;q=1, *;q=0"], ["gzip"], [HTTPHeader.defaultAcceptEncoding.value]])
    }
}
