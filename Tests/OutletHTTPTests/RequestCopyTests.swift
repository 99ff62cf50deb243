import FoundationEssentials
import Testing

@testable import OutletHTTP

/// Tests `HTTPRequest.isCopy(of:)`, which caches use in place of a comparison.
@Suite struct RequestCopyTests {
    private let url = URL(string: "http://a.test/a/long/path")
    private let fields: HTTPHeaders = ["X-Long-Name": "a value that is not stored inline"]

    private func request() -> HTTPRequest { HTTPRequest(url: url, headers: fields) }

    @Test func `requests with copies of the same URL and the same fields are copies`() {
        let one = request()
        var other = one
        #expect(one.isCopy(of: other))
        #expect(one.isCopy(of: request()))
        other.method = .head
        other.method = .get
        #expect(one.isCopy(of: other))
    }

    @Test(
        arguments: [
            { $0.url = URL(string: "http://a.test/b") }, { $0.url = nil },
            { $0.method = .head }, { $0.headers.update(name: "X", value: "y") },
            { $0.headers = ["X-Long-Name": "another value that is not stored inline"] },
            { $0.body = .data(Data("x".utf8)) }, { $0.timeoutInterval = 1 },
            { $0.allowsBodyInGET = true }, { $0.priority = .high },
            { $0.cachePolicy = .returnCacheDataDontLoad }, { $0.httpShouldHandleCookies = false },
            { $0.context = RequestContext() },
        ] as [@Sendable (inout HTTPRequest) -> Void])
    func `a request with another value is no copy`(change: @Sendable (inout HTTPRequest) -> Void) {
        let one = request()
        var other = one
        change(&other)
        #expect(!one.isCopy(of: other))
        #expect(!other.isCopy(of: one))
        let same = other
        #expect(other.isCopy(of: same))
    }

    @Test func `received fields are never taken for copies`() {
        let headers = HTTPHeaders(HeaderBlock(bytes: Array("A: b\r\n\r\n".utf8)))
        let one = HTTPRequest(url: url, headers: headers)
        #expect(!one.isCopy(of: HTTPRequest(url: url, headers: headers)))
    }
}
