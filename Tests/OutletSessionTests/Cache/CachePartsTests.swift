import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Tests range requests for stored responses.
@Suite struct CachePartsTests {
    private let address = "http://a.test/x"
    private let text = "0123456789"

    @Test(arguments: [
        ("bytes=0-3", 0..<4), ("bytes=2-", 2..<10), ("bytes=-3", 7..<10), ("bytes=-30", 0..<10),
        ("Bytes=9-9", 9..<10), ("bytes=4-99999999999999999999", 4..<10), ("bytes= 1-2", 1..<3),
        ("bytes=10-", nil), ("bytes=10-11", nil), ("bytes=-0", nil),
    ])
    func `a single byte range is resolved against the length`(field: String, bounds: Range<Int>?)
        throws
    {
        let range = try #require(ByteRange([field]))
        #expect(range.bounds(in: 10) == bounds)
        #expect(range.bounds(in: 0) == nil)
    }

    @Test(arguments: [
        "bytes=", "bytes=-", "bytes=3-1", "bytes=0-1,3-4", "bytes=a-", "bytes=1", "items=0-1",
        "bytes=1-2-3", "bytes=+1-2", "",
    ])
    func `an invalid, empty or multiple range is not supported`(field: String) {
        #expect(ByteRange([field]) == nil)
        #expect(ByteRange([]) == nil)
        #expect(ByteRange(["bytes=0-1", "bytes=0-1"]) == nil)
    }

    private func session(
        _ fields: HTTPHeaders, _ cache: ResponseCache = ResponseCache()
    ) -> (Session, StubTransport) {
        let transport = StubTransport { [text] job in
            job.request.headers["Range"] == nil
                ? StubAnswer(headers: fields, body: Data(text.utf8))
                : StubAnswer(
                    statusCode: 206, headers: ["Content-Range": "bytes 0-2/10", "X": "server"],
                    body: Data("abc".utf8))
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        return (Session(transport: transport, configuration: configuration), transport)
    }

    private func get(
        _ session: Session, _ headers: HTTPHeaders = [:],
        policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy
    ) async -> DataResponse<Data, SessionError> {
        await session.request(
            HTTPRequest(url: URL(string: address), headers: headers, cachePolicy: policy)
        ).serializingData(emptyResponseCodes: [416]).response
    }

    @Test func `a range of a fresh response comes from the cache`() async {
        let (session, transport) = session(["Cache-Control": "max-age=60", "ETag": "\"1\""])
        _ = await get(session)
        let part = await get(session, ["Range": "bytes=2-4"])
        #expect(part.response?.statusCode == 206)
        #expect(part.value == Data("234".utf8))
        #expect(part.response?.headers["Content-Range"] == "bytes 2-4/10")
        #expect(part.response?.headers["Content-Length"] == "3")
        #expect(part.response?.headers["ETag"] == "\"1\"")
        #expect(part.response?.headers["Age"] != nil)
        #expect(part.metrics?.resourceFetchType == .localCache)
        let none = await get(session, ["Range": "bytes=10-"])
        #expect(none.response?.statusCode == 416)
        #expect(none.response?.headers["Content-Range"] == "bytes */10")
        #expect(none.value?.isEmpty == true)
        // The stored response is unchanged.
        #expect(await get(session).value == Data(text.utf8))
        #expect(transport.requests.count == 1)
    }

    @Test(
        arguments: [
            ["Range": "bytes=0-1,3-4"], ["Range": "items=1-2"],
            ["Range": "bytes=0-2", "If-Range": "\"1\""],
            ["Range": "bytes=0-2", "If-None-Match": "\"1\""],
            ["Range": "bytes=0-2", "Cache-Control": "no-cache"],
        ] as [HTTPHeaders])
    func `a range request that the cache cannot serve is sent unchanged`(
        fields: HTTPHeaders
    ) async {
        let cache = ResponseCache()
        let (session, transport) = session(["Cache-Control": "max-age=60", "ETag": "\"1\""], cache)
        _ = await get(session)
        let part = await get(session, fields)
        #expect(part.response?.headers["X"] == "server")
        #expect(part.value == Data("abc".utf8))
        // The request is sent unchanged, and its response does not change the stored one.
        #expect(transport.requests.last?.headers["If-None-Match"] == fields["If-None-Match"])
        #expect(await get(session).value == Data(text.utf8))
        #expect(transport.requests.count == 2)
    }

    @Test(
        arguments: [
            ["Cache-Control": "max-age=0", "ETag": "\"1\""],
            ["Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\""],
            ["Cache-Control": "max-age=60", "Content-Encoding": "gzip"],
            ["Cache-Control": "no-store"],
        ] as [HTTPHeaders])
    func `a range is served only from a fresh response without content coding`(fields: HTTPHeaders)
        async
    {
        let (session, transport) = session(fields)
        _ = await get(session)
        let part = await get(session, ["Range": "bytes=0-2"])
        #expect(part.response?.headers["X"] == "server")
        #expect(transport.requests.count == 2)
        #expect(transport.requests.last?.headers["If-None-Match"] == nil)
    }

    @Test func `returnCacheDataDontLoad never sends a range request`() async {
        let (session, transport) = session(["Cache-Control": "max-age=0"])
        let missing = await get(session, ["Range": "bytes=0-1"], policy: .returnCacheDataDontLoad)
        #expect(missing.error?.transferError?.code == .resourceUnavailable)
        _ = await get(session)
        let part = await get(session, ["Range": "bytes=0-1"], policy: .returnCacheDataDontLoad)
        #expect(part.value == Data("01".utf8))
        let both = await get(
            session, ["Range": "bytes=0-1,3-4"], policy: .returnCacheDataDontLoad)
        #expect(both.error?.transferError?.code == .resourceUnavailable)
        #expect(transport.requests.count == 1)
    }
}
