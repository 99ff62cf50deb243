import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

@Suite struct RequestParametersTests {
    let address = "http://example.test/"

    private func sent(
        _ answers: [StubAnswer] = [.status(204)], interceptor: (any RequestInterceptor)? = nil,
        _ make: (Session) -> DataRequest
    ) async -> ([HTTPRequest], SessionError?) {
        let transport = StubTransport(answers: answers)
        var configuration = SessionConfiguration()
        configuration.headers = HTTPHeaders()
        let session = Session(
            transport: transport, configuration: configuration, interceptor: interceptor)
        let response = await make(session).validate().serializingData().response
        return (transport.requests, response.error)
    }

    @Test func `parameters that cannot be encoded fail the request, and nothing is sent`() async {
        let (requests, error) = await sent {
            $0.request(
                address, method: .post, parameters: ["a": Date()], encoding: JSONEncoding.default)
        }
        #expect(requests.isEmpty)
        guard case .parameterEncodingFailed(reason: .jsonEncodingFailed)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a modifier that throws fails the request before parameters are encoded`() async {
        let (requests, error) = await sent {
            $0.request(
                address, parameters: ["a": Date()], encoding: JSONEncoding.default,
                requestModifier: { _ in throw Refused() })
        }
        #expect(requests.isEmpty)
        guard case .createURLRequestFailed(let cause)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause is Refused)
    }

    @Test func `parameters are added to the query of a GET by default`() async {
        let (requests, _) = await sent { $0.request(address, parameters: ["a": 1, "b": true]) }
        #expect(requests.first?.url?.absoluteString == "http://example.test/?a=1&b=1")
    }

    @Test func `an encodable value is added to the query of a GET by default`() async {
        struct Value: Encodable { var a = 1 }
        let (requests, _) = await sent { $0.request(address, parameters: Value()) }
        #expect(requests.first?.url?.absoluteString == "http://example.test/?a=1")
    }

    @Test func `a dictionary can be encoded with an encoding or an encoder`() async {
        let (encoded, _) = await sent {
            $0.request(
                address, method: .post, parameters: ["a": "b"], encoding: JSONEncoding.default)
        }
        let (coded, _) = await sent {
            $0.request(address, method: .post, parameters: ["a": "b"], encoder: .json)
        }
        #expect(encoded.first?.httpBody == Data(#"{"a":"b"}"#.utf8))
        #expect(coded.first?.httpBody == Data(#"{"a":"b"}"#.utf8))
        let (short, _) = await sent { $0.request(address, parameters: ["a": "b"]) }
        #expect(short.first?.url?.absoluteString == "http://example.test/?a=b")
    }

    @Test
    func `the modifier gets URL, method and headers, and the encoding gets the modified request`()
        async
    {
        let (requests, _) = await sent {
            $0.request(
                address, method: .get, parameters: ["a": "b"], headers: ["X-Mine": "1"],
                requestModifier: { request in
                    #expect(request.headers["X-Mine"] == "1")
                    #expect(request.url?.query() == nil)
                    request.method = .post
                    request.headers["Content-Type"] = "text/x-mine"
                })
        }
        #expect(requests.first?.url?.absoluteString == address)
        #expect(requests.first?.httpBody == Data("a=b".utf8))
        #expect(requests.first?.headers["Content-Type"] == "text/x-mine")
    }

    @Test func `modifier and encoding run again at every attempt`() async {
        let attempts = Recorder<String>()
        struct Counting: ParameterEncoding {
            let attempts: Recorder<String>
            func encode(
                _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
            ) throws -> HTTPRequest {
                let request = try urlRequest.asURLRequest()
                attempts.record("encode")
                return try URLEncoding.default.encode(request, with: ["n": attempts.values.count])
            }
        }
        let retrier = Interceptor(
            adaptHandler: { request, _, completion in completion(.success(request)) },
            retryHandler: { request, _, _, completion in
                completion(request.retryCount < 1 ? .retry : .doNotRetry)
            })
        let (requests, _) = await sent([.status(503), .status(204)], interceptor: retrier) {
            $0.request(
                address, encoding: Counting(attempts: attempts),
                requestModifier: { _ in attempts.record("modify") })
        }
        #expect(attempts.values == ["modify", "encode", "modify", "encode"])
        #expect(requests.map { $0.url?.query() } == ["n=2", "n=4"])
    }

    @Test func `a custom encoding is called even without parameters`() async {
        struct Fixed: ParameterEncoding {
            func encode(
                _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
            ) throws -> HTTPRequest {
                var request = try urlRequest.asURLRequest()
                request.httpBody = Data("fixed".utf8)
                return request
            }
        }
        let (requests, _) = await sent { $0.request(address, method: .put, encoding: Fixed()) }
        #expect(requests.first?.httpBody == Data("fixed".utf8))
    }

    @Test func `a request without custom code is marked as made of values`() {
        let session = Session(transport: StubTransport { _ in .status(204) })
        #expect(session.request(address).isMadeOfValues)
        #expect(session.request(address, encoding: JSONEncoding.default).isMadeOfValues)
        #expect(
            session.request(address, parameters: nil as [String: String]?, encoder: .json)
                .isMadeOfValues)
        #expect(session.request("http://[").isMadeOfValues, "a text that is no address")
        #expect(!session.request(address, parameters: ["a": 1]).isMadeOfValues)
        #expect(!session.request(address, requestModifier: { _ in }).isMadeOfValues)
    }

    @Test func `the default encoding needs no allocation as an existential`() {
        #expect(MemoryLayout<URLEncoding>.size <= 3 * MemoryLayout<Int>.size)
    }
}
