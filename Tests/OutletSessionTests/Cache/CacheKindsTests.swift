import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletLayers
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests the cache with `HEAD` requests and streams.
@Suite struct CacheKindsTests {
    private let url = URL(string: "http://a.test/x")

    private func session(
        _ cache: ResponseCache = ResponseCache(), _ answer: @escaping StubTransport.Responder
    ) -> (Session, StubTransport) {
        let transport = StubTransport(answer)
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        return (Session(transport: transport, configuration: configuration), transport)
    }

    private func get(
        _ session: Session, _ method: HTTPMethod = .get,
        policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy
    ) async -> DataResponse<Data?, SessionError> {
        await session.request(HTTPRequest(url: url, method: method, cachePolicy: policy))
            .serializingUnserialized().response
    }

    // MARK: Bodies

    @Test func `a GET request with a body is neither answered from the cache nor stored`() async {
        let (session, transport) = session { job in
            StubAnswer(
                headers: ["Cache-Control": "max-age=60"], body: job.request.httpBody ?? Data())
        }
        for text in ["one", "two", ""] {
            var request = HTTPRequest(url: url)
            request.httpBody = text.isEmpty ? nil : Data(text.utf8)
            request.allowsBodyInGET = true
            let response = await session.request(request).serializingUnserialized().response
            #expect((response.data ?? Data()) == Data(text.utf8))
        }
        #expect(transport.requests.count == 3)
        // That without a body is stored.
        _ = await get(session)
        #expect(transport.requests.count == 3)
    }

    // MARK: HEAD

    private static let stored: HTTPHeaders = [
        "Cache-Control": "max-age=0", "ETag": "\"1\"", "Last-Modified": "yesterday",
        "Content-Length": "4", "X": "old",
    ]

    /// Stores a response, sends a `HEAD` request that bypasses the cache, then a `GET` request.
    ///
    /// - Parameter head: The fields of the response to `HEAD`.
    /// - Returns: The response to the last request, and the number of requests sent.
    private func afterHead(_ head: HTTPHeaders) async -> (DataResponse<Data?, SessionError>, Int) {
        let (session, transport) = session { job in
            StubAnswer(
                headers: job.request.method == .head ? head : Self.stored, body: Data("body".utf8))
        }
        _ = await get(session)
        _ = await get(session, .head, policy: .reloadIgnoringLocalCacheData)
        return (await get(session), transport.requests.count)
    }

    @Test(
        arguments: [
            ["ETag": "\"1\""], ["ETag": "W/\"1\"", "Content-Length": "4"],
            ["Last-Modified": "yesterday"], ["Content-Length": "4"],
        ] as [HTTPHeaders])
    func `a matching HEAD response updates the stored response`(fields: HTTPHeaders) async {
        var fields = fields
        fields.append(name: "Cache-Control", value: "max-age=60")
        fields.append(name: "X", value: "new")
        let (response, requests) = await afterHead(fields)
        #expect(requests == 2)
        #expect(response.metrics?.resourceFetchType == .localCache)
        #expect(response.data == Data("body".utf8))
        #expect(response.response?.headers["X"] == "new")
        #expect(response.response?.headers["ETag"]?.hasSuffix("\"1\"") == true)
    }

    @Test(
        arguments: [
            ["ETag": "\"2\"", "Content-Length": "4"], ["Last-Modified": "today"],
            ["ETag": "\"1\"", "Content-Length": "5"],
        ] as [HTTPHeaders])
    func `a HEAD response of another version removes the stored response`(fields: HTTPHeaders) async
    {
        var fields = fields
        fields.append(name: "Cache-Control", value: "max-age=60")
        let (response, requests) = await afterHead(fields)
        #expect(requests == 3)
        #expect(response.metrics?.resourceFetchType == .networkLoad)
        #expect(response.response?.headers["X"] == "old")
    }

    @Test func `a HEAD response without a validator or with an error changes nothing`() async {
        let cache = ResponseCache()
        let (session, transport) = session(cache) { job in
            StubAnswer(
                statusCode: job.request.method == .head ? 404 : 200,
                headers: job.request.method == .head ? ["ETag": "\"2\""] : Self.stored,
                body: Data("body".utf8))
        }
        _ = await get(session)
        _ = await get(session, .head, policy: .reloadIgnoringLocalCacheData)
        #expect(transport.requests.count == 2)
        let kept = cache.cachedResponse(for: HTTPRequest(url: url))
        #expect(kept?.response.headers["X"] == "old")
        let (response, requests) = await afterHead(["X": "new"])
        #expect(requests == 3)
        #expect(response.response?.headers["X"] == "old")
    }

    // MARK: Streams

    private func stream(_ session: Session) async throws -> Data {
        let pieces = Recorder<Data>()
        let end = Recorder<Bool>()
        session.streamRequest(HTTPRequest(url: url)).responseStream { stream in
            switch stream.event {
            case .stream(.success(let data)): pieces.record(data)
            case .complete(let completion): end.record(completion.error == nil)
            }
        }
        _ = try await end.values(1)
        return pieces.values.reduce(Data(), +)
    }

    @Test func `a stream is stored and used for streams and other requests`() async throws {
        let text = String(repeating: "0123456789", count: 10_000)
        let (session, transport) = session { _ in
            StubAnswer(headers: ["Cache-Control": "max-age=60"], body: Data(text.utf8))
        }
        for _ in 0..<2 { #expect(try await stream(session) == Data(text.utf8)) }
        #expect(await get(session).data == Data(text.utf8))
        #expect(transport.requests.count == 1)
    }

    @Test(
        arguments: [
            (["Cache-Control": "no-store, max-age=60"], 10),
            (["Cache-Control": "max-age=60"], 100_000),
            (["Cache-Control": "max-age=60", "Content-Length": "100000"], 100_000),
        ] as [(HTTPHeaders, Int)])
    func `a stream with no-store or above the limit is not stored`(
        fields: HTTPHeaders, count: Int
    ) async throws {
        let cache = ResponseCache(memoryCapacity: 80_000)
        let (session, transport) = session(cache) { _ in
            StubAnswer(headers: fields, body: Data(count: count))
        }
        for _ in 0..<2 { #expect(try await stream(session).count == count) }
        #expect(cache.currentMemoryUsage == 0)
        #expect(transport.requests.count == 2)
    }

    @Test func `an incomplete stream is not stored`() async throws {
        let cache = ResponseCache()
        let (session, _) = session(cache) { _ in
            var answer = StubAnswer(
                headers: ["Cache-Control": "max-age=60"], body: Data(count: 100))
            answer.error = TransferError(code: .networkConnectionLost, reason: "cut")
            answer.failureOffset = 50
            return answer
        }
        _ = try await stream(session)
        #expect(cache.currentMemoryUsage == 0)
    }
}
