import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import OutletTransport
import Testing

/// Tests that the limit of redirects applies to each attempt separately.
@Suite struct RetriedRedirectTests {
    private let retrier = Retrier { request, _, _, completion in
        completion(request.retryCount < 1 ? .retry : .doNotRetry)
    }

    /// Redirects twice, then answers with the next of the given responses, or with a text.
    private func session(
        maximumRedirects: Int, atEnd answers: [StubAnswer]
    ) -> (Session, StubTransport) {
        let left = Lock(answers)
        let transport = StubTransport { job in
            switch job.request.url?.path {
            case "/1": .redirect(to: "/2")
            case "/2": .redirect(to: "/3")
            default: left.withLock { $0.isEmpty ? .text("there") : $0.removeFirst() }
            }
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = nil
        configuration.maximumRedirects = maximumRedirects
        return (
            Session(transport: transport, configuration: configuration, interceptor: retrier),
            transport
        )
    }

    @Test func `a retry may follow all redirects again`() async {
        let (session, transport) = session(
            maximumRedirects: 2, atEnd: [.failure(TransferErrors.lost)])
        let request = session.request("http://a.test/1")
        let response = await request.serializingString().response
        #expect(response.value == "there")
        #expect(request.retryCount == 1 && transport.requests.count == 6)
        #expect(response.metrics?.redirectCount == 2)
    }

    @Test func `redirects are followed up to the limit`() async {
        let (allowed, _) = session(maximumRedirects: 2, atEnd: [])
        #expect(await allowed.request("http://a.test/1").serializingString().response.error == nil)
        let (refused, transport) = session(maximumRedirects: 1, atEnd: [])
        let response = await refused.request("http://a.test/1").serializingString().response
        // The retrier requests one more attempt, which ends in the same way.
        #expect(response.error?.transferError?.code == .httpTooManyRedirects)
        #expect(transport.requests.map(\.url?.path) == ["/1", "/2", "/1", "/2"])
    }

    @Test func `credentials that a redirect removed are sent again by a retry`() async {
        let left = Lock(1)
        let transport = StubTransport { job in
            guard job.request.url?.host() == "a.test" else {
                return left.withLock { count in
                    defer { count = 0 }
                    return count > 0 ? .failure(TransferErrors.lost) : .text("there")
                }
            }
            return .redirect(to: "http://b.test/")
        }
        let session = Session(transport: transport, interceptor: retrier)
        let response = await session.request(
            "http://a.test/1", headers: ["Authorization": "Bearer t"]
        )
        .serializingString().response
        #expect(response.value == "there")
        #expect(
            transport.requests.map { $0.headers["Authorization"] }
                == ["Bearer t", nil, "Bearer t", nil])
    }
}
