import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests the cache with streamed bodies.
@Suite struct CacheStreamTests {
    private let address = "http://example.test/stream"

    private func session(
        _ cache: ResponseCache, monitors: [any EventMonitor] = [], _ answers: StubAnswer...
    ) -> (Session, StubTransport) {
        let transport = StubTransport(answers: answers)
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        return (
            Session(transport: transport, configuration: configuration, eventMonitors: monitors),
            transport
        )
    }

    private func answer(
        _ body: Data, _ headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
    ) -> StubAnswer {
        StubAnswer(headers: headers, body: body, chunkSize: 4)
    }

    private func bytes(_ request: DataStreamRequest) async -> Data {
        var bytes = Data()
        for await data in request.streamTask().streamingData().compactMap(\.value) { bytes += data }
        return bytes
    }

    @Test func `a stream is stored while it is received and used for data requests`() async {
        let body = Data("0123456789".utf8)
        let (session, transport) = session(ResponseCache(), answer(body))
        #expect(await bytes(session.streamRequest(address)) == body)
        #expect(await bytes(session.streamRequest(address)) == body)
        #expect(await session.request(address).serializingData().response.value == body)
        #expect(transport.requests.count == 1)
    }

    @Test func `a handler decides what is stored of a stream, and monitors get the event`()
        async throws
    {
        let recorder = EventRecorder()
        let cache = ResponseCache()
        let (session, _) = session(cache, monitors: [recorder], answer(Data("0123".utf8)))
        let asked = Recorder<Data>()
        let request = session.streamRequest(address).cacheResponse(
            using: .modify { _, response in
                asked.record(response.data)
                return nil
            })
        #expect(await bytes(request) == Data("0123".utf8))
        #expect(asked.values == [Data("0123".utf8)] && cache.currentMemoryUsage == 0)
        #expect(
            try await recorder.ofTransfers.values(5) == [
                "taskDidReceiveResponse", "taskDidReceiveData", "taskWillCacheResponse",
                "taskDidGatherMetrics", "taskDidComplete",
            ])
    }

    @Test func `a stream that is too large, incomplete, no-store or an event stream is not stored`()
        async
    {
        let cache = ResponseCache(memoryCapacity: 8 * 100)
        var cut = answer(Data(count: 40))
        cut.error = TransferErrors.lost
        cut.failureOffset = 20
        let answers = [
            answer(Data(count: 104)),
            answer(Data(count: 104), ["Cache-Control": "max-age=60", "Content-Length": "104"]),
            cut, answer(Data(count: 4), ["Cache-Control": "no-store"]),
            answer(
                Data("data: a\n\n".utf8),
                ["Cache-Control": "max-age=60", "Content-Type": "text/event-stream"]),
        ]
        for answer in answers {
            let (session, _) = session(cache, answer)
            _ = await bytes(session.streamRequest(address))
            #expect(cache.currentMemoryUsage == 0)
        }
    }
}
