import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletLayers
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests the cache with downloads.
@Suite struct CacheDownloadTests {
    private let url = URL(string: "http://a.test/x")
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    private func session(
        _ cache: ResponseCache = ResponseCache(), handler: (any CachedResponseHandler)? = nil,
        _ answer: @escaping StubTransport.Responder
    ) -> (Session, StubTransport) {
        let transport = StubTransport(answer)
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        let session = Session(
            transport: transport, configuration: configuration, cachedResponseHandler: handler)
        return (session, transport)
    }

    /// Downloads, then removes the file.
    private func download(
        _ session: Session, _ headers: HTTPHeaders = [:],
        policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy,
        interceptor: (any RequestInterceptor)? = nil
    ) async -> DownloadResponse<Data, SessionError> {
        let request = HTTPRequest(url: url, headers: headers, cachePolicy: policy)
        let response = await session.download(request, interceptor: interceptor)
            .serializingData(emptyResponseCodes: [200]).response
        response.removeFiles()
        return response
    }

    @Test(arguments: ["body", ""])
    func `a stored response is used for a download`(text: String) async throws {
        let (session, transport) = session { _ in
            StubAnswer(headers: Self.fresh, body: Data(text.utf8))
        }
        _ = await session.request(HTTPRequest(url: url)).serializingUnserialized().response
        let response = await download(session)
        #expect(response.value == Data(text.utf8))
        #expect(response.metrics?.resourceFetchType == .localCache)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: ["body", ""])
    func `a download is stored and used for downloads and other requests`(text: String) async {
        let (session, transport) = session { _ in
            StubAnswer(headers: Self.fresh, body: Data(text.utf8))
        }
        #expect(await download(session).metrics?.resourceFetchType == .networkLoad)
        let response = await download(session)
        #expect(response.value == Data(text.utf8))
        #expect(response.metrics?.resourceFetchType == .localCache)
        let other = await session.request(HTTPRequest(url: url)).serializingString(
            emptyResponseCodes: [200]
        ).response
        #expect(other.value == text)
        #expect(transport.requests.count == 1)
    }

    @Test func `a stored download is validated`() async {
        let (session, transport) = session { job in
            guard job.request.headers["If-None-Match"] == "\"1\"" else {
                return StubAnswer(headers: ["ETag": "\"1\""], body: Data("body".utf8))
            }
            return .status(304)
        }
        #expect(await download(session).value == Data("body".utf8))
        let validated = await download(session)
        #expect(validated.value == Data("body".utf8))
        #expect(validated.response?.statusCode == 200)
        #expect(validated.metrics?.resourceFetchType == .validatedCache)
        #expect(transport.requests.count == 2)
    }

    @Test(
        arguments: [
            (["Cache-Control": "no-store, max-age=60"], 10),
            (["Cache-Control": "max-age=60"], 100_000),
            (["Cache-Control": "max-age=60", "Content-Length": "100000"], 100_000),
            ([:], 10),
        ] as [(HTTPHeaders, Int)])
    func `a download with no-store, without cache fields or above the limit is not stored`(
        fields: HTTPHeaders, count: Int
    ) async {
        let cache = ResponseCache(memoryCapacity: 80_000)
        let (session, transport) = session(cache) { _ in
            StubAnswer(headers: fields, body: Data(count: count))
        }
        for _ in 0..<2 { #expect(await download(session).value?.count == count) }
        #expect(cache.currentMemoryUsage == 0)
        #expect(transport.requests.count == 2)
    }

    @Test func `a download without cache fields is stored for requests that accept any age`()
        async
    {
        let (session, transport) = session { _ in StubAnswer(body: Data("body".utf8)) }
        for _ in 0..<2 {
            let response = await download(session, policy: .returnCacheDataElseLoad)
            #expect(response.value == Data("body".utf8))
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `an incomplete, resumed or partial download is not stored`() async {
        let cache = ResponseCache()
        let (session, transport) = session(cache) { job in
            var fields = Self.fresh
            fields.append(name: "ETag", value: "\"1\"")
            guard job.request.headers["Range"] == "bytes=4-" else {
                var answer = StubAnswer(headers: fields, body: Data("a whole".utf8))
                answer.error = TransferError(code: .networkConnectionLost, reason: "cut")
                answer.failureOffset = 4
                return answer
            }
            fields.append(name: "Content-Range", value: "bytes 4-6/7")
            return StubAnswer(statusCode: 206, headers: fields, body: Data("ole".utf8))
        }
        #expect(await download(session).error != nil)
        #expect(cache.currentMemoryUsage == 0)
        let once = Retrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let resumed = await download(session, interceptor: Interceptor(retriers: [once]))
        #expect(resumed.value == Data("a whole".utf8))
        #expect(await download(session, ["Range": "bytes=4-"]).value == Data("ole".utf8))
        #expect(cache.currentMemoryUsage == 0)
        #expect(transport.requests.count == 4)
    }

    @Test func `a cached response handler decides what is stored of a download`() async {
        let tagged = ResponseCacher(
            behavior: .modify { _, response in
                var response = response
                response.data += Data("!".utf8)
                return response
            })
        for (handler, text) in [(tagged, "body!"), (.doNotCache, "body")] {
            let (session, _) = session(handler: handler) { _ in
                StubAnswer(headers: Self.fresh, body: Data("body".utf8))
            }
            #expect(await download(session).value == Data("body".utf8))
            #expect(await download(session).value == Data(text.utf8))
        }
    }

    @Test func `a download too large for the memory is stored on disk`() async throws {
        let directory = try TemporaryDirectory()
        let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        func cache() -> ResponseCache {
            ResponseCache(
                memoryCapacity: 80_000, diskCapacity: 8 << 20, directory: directory.url)
        }
        let first = cache()
        let (session, _) = session(first) { _ in StubAnswer(headers: Self.fresh, body: body) }
        #expect(await download(session).value == body)
        first.flush()
        #expect(first.currentMemoryUsage == 0)
        let (other, transport) = self.session(cache()) { _ in .status(500) }
        #expect(await download(other).value == body)
        #expect(transport.requests.isEmpty)
    }

    @Test func `only a regular file within the limit is read`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "file").path
        try directory.write("1234", to: "file")
        #expect(Data(contentOf: file, limit: 4) == Data("1234".utf8))
        #expect(Data(contentOf: file, limit: 3) == nil)
        #expect(Data(contentOf: directory.url.path, limit: 1 << 20) == nil)
        #expect(Data(contentOf: "/dev/zero", limit: 1 << 20) == nil)
        #expect(Data(contentOf: "\(file).absent", limit: 4) == nil)
    }
}
