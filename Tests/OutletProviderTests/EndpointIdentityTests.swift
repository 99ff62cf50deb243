import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import Testing

/// The equality of endpoints.
@Suite struct EndpointIdentityTests {
    private func endpoint(
        _ task: HTTPTask = .requestPlain, url: String = "http://a.test/p",
        method: HTTPMethod = .post,
        headers: [String: String]? = nil, sample: Int = 200
    ) -> Endpoint {
        Endpoint(
            url: url, sampleResponseClosure: { .networkResponse(sample, Data()) }, method: method,
            task: task, httpHeaderFields: headers)
    }

    @Test func `endpoints are equal if they request the same, whatever their sample response`() {
        #expect(endpoint() == endpoint(sample: 404))
        #expect(endpoint().hashValue == endpoint(sample: 404).hashValue)
        let different = [
            endpoint(), endpoint(url: "http://a.test/q"), endpoint(method: .put),
            endpoint(headers: ["A": "1"]), endpoint(.requestData(Data("a".utf8))),
            endpoint(.requestData(Data("b".utf8))),
            endpoint(.requestParameters(parameters: ["a": 1], encoding: URLEncoding.default)),
            endpoint(.requestParameters(parameters: ["a": 1], encoding: JSONEncoding.default)),
        ]
        #expect(Set(different).count == different.count)
    }

    @Test func `endpoints are equal if their JSON bodies differ only in the order of members`() {
        let members = (0..<20).map { ("k\($0)", $0) }
        func task(_ members: [(String, Int)]) -> HTTPTask {
            let text = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
            return .requestData(Data("{\(text)}".utf8))
        }
        let forth = endpoint(task(members))
        let back = endpoint(task(members.reversed()))
        #expect(forth == back && forth.hashValue == back.hashValue)
    }

    @Test func `endpoints without a valid request are compared by URL`() {
        #expect(endpoint(url: "") == endpoint(url: ""))
        #expect(endpoint(url: "") != endpoint(url: "no"))
        #expect(endpoint(url: "") != endpoint())
    }

    @Test func `POST, PUT, PATCH and CONNECT support multipart forms`() {
        for method in [HTTPMethod.post, .put, .patch, .connect] {
            #expect(method.supportsMultipart)
        }
        for method in [HTTPMethod.get, .head, .delete, .options, .trace] {
            #expect(!method.supportsMultipart)
        }
    }
}
