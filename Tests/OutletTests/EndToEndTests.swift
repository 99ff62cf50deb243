import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// Requests through all modules: provider, session, libcurl, a server.
@Suite(.timeLimit(.minutes(patience))) struct EndToEndTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer.start()
    }

    private struct Echo: Decodable, Sendable {
        let url: String
        let headers: [String: String]
    }

    private struct Posted: Decodable, Sendable {
        let json: [String: Int]
    }

    private enum API: TargetType {
        case post(URL, count: Int)
        case status(URL, Int)

        var baseURL: URL {
            switch self {
            case .post(let base, _), .status(let base, _): base
            }
        }
        var path: String {
            switch self {
            case .post: "post"
            case .status(_, let code): "status/\(code)"
            }
        }
        var method: HTTPMethod { if case .post = self { .post } else { .get } }
        var task: HTTPTask {
            if case .post(_, let count) = self {
                .requestJSONEncodable(["count": count])
            } else {
                .requestPlain
            }
        }
        var headers: [String: String]? { nil }
        var validationType: ValidationType { .successCodes }
    }

    @Test func `a response is decoded to a value`() async throws {
        let session = Session()
        let echo = try await session.request("\(server.baseURL)/get?a=1")
            .validate().serializingDecodable(Echo.self).value
        #expect(echo.url == "\(server.baseURL)/get?a=1")
        #expect(echo.headers["User-Agent"]?.contains("Outlet/") == true)
        server.stop()
    }

    @Test func `a target is posted and its response mapped`() async throws {
        let base = try #require(URL(string: server.baseURL))
        let provider = Provider<API>(session: Session())
        let response = try await provider.request(.post(base, count: 3))
        #expect(try response.map(Posted.self).json == ["count": 3])
        #expect(response.metrics?.total ?? 0 > 0)
        server.stop()
    }

    @Test func `a provider without a session starts its requests itself`() async throws {
        let base = try #require(URL(string: server.baseURL))
        let provider = Provider<API>(trackInflights: true)
        #expect(!provider.session.startRequestsImmediately)
        #expect(try await provider.request(.status(base, 204)).statusCode == 204)
        server.stop()
    }

    @Test func `redirects are followed hop by hop and counted`() async throws {
        let session = Session()
        let request = session.request("\(server.baseURL)/redirect/3")
        let response = await request.serializingData().response
        #expect(response.response?.statusCode == 200)
        #expect(response.metrics?.redirectCount == 3)
        #expect(request.performedRequests.count == 4)
        server.stop()
    }

    @Test func `credentials answer a challenge`() async throws {
        let session = Session()
        let url = "\(server.baseURL)/basic-auth/user/passwd"
        let right = await session.request(url).authenticate(username: "user", password: "passwd")
            .validate().serializingData().response
        #expect(right.response?.statusCode == 200)
        let wrong = await session.request(url).authenticate(username: "user", password: "no")
            .serializingUnserialized().response
        #expect(wrong.response?.statusCode == 401)
        #expect(wrong.error == nil)
        server.stop()
    }

    @Test func `a compressed body is decoded`() async throws {
        let session = Session()
        let text = try await session.request("\(server.baseURL)/gzip").serializingString().value
        #expect(text.contains("gzip"))
        server.stop()
    }

    @Test func `a timeout shorter than the server's delay is a timedOut error`() async throws {
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForRequest = 0.05
        let session = Session(configuration: configuration)
        let response = await session.request("\(server.baseURL)/delay/30")
            .serializingData().response
        #expect(response.error?.transferError?.code == .timedOut)
        server.stop()
    }

    @Test func `a running request can be cancelled`() async throws {
        let session = Session()
        let request = session.request("\(server.baseURL)/delay/30")
        async let response = request.serializingData().response
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        server.stop()
    }

    @Test func `a released session ends its running requests`() async throws {
        var session: Session? = Session()
        let task = session?.request("\(server.baseURL)/delay/30").serializingData()
        session = nil
        #expect(await task?.response.error?.isSessionDeinitializedError == true)
        server.stop()
    }

    @Test func `300 simultaneous requests all succeed`() async throws {
        let session = Session()
        let base = server.baseURL
        let codes = await withTaskGroup(of: Int?.self) { group in
            for index in 0..<300 {
                group.addTask {
                    await session.request("\(base)/bytes/\(index + 1)").serializingData()
                        .response.data?.count
                }
            }
            return await group.reduce(into: [Int]()) { $0.append($1 ?? -1) }
        }
        #expect(codes.sorted() == Array(1...300))
        server.stop()
    }
}
