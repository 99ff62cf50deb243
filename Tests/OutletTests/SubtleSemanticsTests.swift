import FoundationEssentials
import Outlet
import OutletTestServer
import Synchronization
import Testing

/// Details of requests that are easy to miss, over libcurl.
@Suite struct SubtleSemanticsTests {
    let server: LoopbackServer
    let session = Session()

    init() throws { server = try LoopbackServer.start() }

    @Test(arguments: ["invalid", "no-scheme.test/path", "gopher://example.test/"])
    func `a URL without a supported scheme fails with request, task and metrics`(
        address: String
    ) async {
        let request = session.request(address)
        let response = await request.serializingData().response
        #expect(response.error?.transferError?.code == .unsupportedURL)
        #expect(response.error?.isSessionTaskError == true)
        #expect(response.request?.url?.absoluteString == address && response.response == nil)
        #expect(response.metrics != nil && response.data == nil && request.task != nil)
    }

    @Test func `a host that does not exist fails with request and metrics`() async {
        let response = await session.request("http://does-not-exist.invalid/a")
            .serializingData().response
        #expect(response.error?.transferError?.code == .cannotFindHost)
        #expect(response.request != nil && response.response == nil && response.metrics != nil)
    }

    @Test func `a wrong password is a 401 without an error, unless it is validated`() async {
        let address = "\(server.baseURL)/basic-auth/user/right"
        let response = await session.request(address)
            .authenticate(username: "user", password: "wrong").serializingUnserialized().response
        #expect(response.response?.statusCode == 401 && response.error == nil)
        let refused = await session.request(address)
            .authenticate(username: "user", password: "wrong").validate()
            .serializingUnserialized().response
        #expect(refused.error?.responseCode == 401)
        let right = await session.request(address)
            .authenticate(username: "user", password: "right").validate()
            .serializingUnserialized().response
        #expect(right.response?.statusCode == 200 && right.error == nil)
    }

    @Test func `a redirect that is not followed is the response`() async {
        let response = await session.request("\(server.baseURL)/redirect/1")
            .redirect(using: .doNotFollow).serializingUnserialized().response
        #expect(response.response?.statusCode == 302 && response.error == nil)
        #expect(response.response?.url?.path == "/redirect/1")
    }

    @Test func `a timeout ends each kind of request and can be retried`() async {
        let asked = Atomic(0)
        let policy = RetryPolicy(
            retryLimit: 1, exponentialBackoffScale: 0, retryableHTTPMethods: [.get, .post])
        let counting = Retrier { request, session, error, completion in
            asked.add(1, ordering: .relaxed)
            policy.retry(request, for: session, dueTo: error, completion: completion)
        }
        let modified = Atomic(0)
        let modifier: Session.RequestModifier = {
            $0.timeoutInterval = 0.01
            modified.add(1, ordering: .relaxed)
        }
        let address = "\(server.baseURL)/delay/3600"
        let data = await session.request(address, interceptor: counting, requestModifier: modifier)
            .serializingUnserialized().response
        let upload = await session.upload(
            Data("a".utf8), to: address, interceptor: counting, requestModifier: modifier
        ).serializingUnserialized().response
        let download = await session.download(
            address, interceptor: counting, requestModifier: modifier
        ).serializingDownloadedFileURL().response
        let stream = session.streamRequest(
            address, interceptor: counting, requestModifier: modifier
        ).streamTask()
        var completion: DataStreamRequest.Completion?
        for await event in stream.streamingData() { completion = event.completion ?? completion }
        let errors = [data.error, upload.error, download.error, completion?.error]
        #expect(errors.map { $0?.transferError?.code } == Array(repeating: .timedOut, count: 4))
        #expect(modified.load(ordering: .relaxed) == 8)
        // The serializer of the download fails, too, and calls the retrier once more.
        #expect(asked.load(ordering: .relaxed) == 9)
    }

    @Test func `User-Agent contains the program, the system and the library`() async throws {
        struct Echo: Decodable, Sendable { let headers: [String: String] }
        let echo = try await session.request("\(server.baseURL)/get")
            .serializingDecodable(Echo.self).value
        let agent = try #require(echo.headers["User-Agent"])
        let pattern =
            /[^\/ ]+\/[^ ]+ \([^;]+; build:[^;]+; Linux \d+\.\d+\.\d+\) Outlet\/\d+\.\d+\.\d+/
        #expect(agent.wholeMatch(of: pattern) != nil, "\(agent)")
        #expect(echo.headers["Accept-Encoding"] == "br;q=1.0, gzip;q=0.9, deflate;q=0.8")
        #expect(echo.headers["Accept-Language"]?.contains(";q=1.0") == true)
    }

    @Test func `a handler added after the end does not start a second transfer`() async {
        let request = session.request("\(server.baseURL)/get")
        let first = await request.serializingData().response
        let second = await request.serializingString().response
        #expect(first.data == second.data && first.data != nil && request.tasks.count == 1)
    }
}
