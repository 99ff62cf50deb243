import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTransport
import Testing

@Suite struct TaskTests {
    private func request(_ task: HTTPTask, method: HTTPMethod = .post) throws -> HTTPRequest {
        try Endpoint(
            url: "http://a.test/p?x=1", sampleResponseClosure: { .networkResponse(200, Data()) },
            method: method, task: task, httpHeaderFields: nil
        ).urlRequest()
    }

    private func body(_ request: HTTPRequest) -> String? {
        request.httpBody.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `plain data is sent unchanged`() throws {
        let request = try request(.requestData(Data("raw".utf8)))
        #expect(body(request) == "raw")
        #expect(request.headers["Content-Type"] == nil)
    }

    @Test func `the encoding decides where parameters are sent`() throws {
        let query = try request(
            .requestParameters(parameters: ["b": 2, "a": "x y"], encoding: URLEncoding.queryString))
        #expect(query.url?.query() == "x=1&a=x%20y&b=2")
        #expect(query.body.isNone)
        let json = try request(
            .requestParameters(parameters: ["a": true], encoding: JSONEncoding.default))
        #expect(body(json) == #"{"a":true}"#)
        #expect(json.headers["Content-Type"] == "application/json")
    }

    @Test func `a composite task sets the body and the query`() throws {
        let data = try request(
            .requestCompositeData(bodyData: Data("raw".utf8), urlParameters: ["k": [1, 2]]))
        #expect(body(data) == "raw")
        #expect(data.url?.query() == "x=1&k%5B%5D=1&k%5B%5D=2")
        let parameters = try request(
            .requestCompositeParameters(
                bodyParameters: ["a": 1], bodyEncoding: URLEncoding.httpBody,
                urlParameters: ["q": "z"]))
        #expect(body(parameters) == "a=1")
        #expect(parameters.url?.query() == "x=1&q=z")
    }

    @Test func `an encoding that cannot encode bodies is an error, not a crash`() {
        #expect(throws: ProviderError.self) {
            try request(
                .requestCompositeParameters(
                    bodyParameters: ["a": 1], bodyEncoding: URLEncoding.default, urlParameters: [:])
            )
        }
    }

    @Test func `a value that JSON cannot represent is an encodableMapping error`() {
        do {
            _ = try request(.requestJSONEncodable(["x": Double.infinity]))
            Issue.record("infinity was encoded")
        } catch {
            guard case .encodableMapping? = error as? ProviderError else {
                Issue.record("\(error)")
                return
            }
        }
    }
}
