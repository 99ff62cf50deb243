import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests the progress that requests report for stored responses.
@Suite struct CacheProgressTests {
    private let url = "http://a.test/x"
    private let session: Session
    private let transport: StubTransport

    init() {
        transport = StubTransport { _ in
            StubAnswer(headers: ["Cache-Control": "max-age=60"], body: Data(count: 100_000))
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        session = Session(transport: transport, configuration: configuration)
    }

    private func warm() async {
        _ = await session.request(url).serializingData().response
    }

    /// Waits until a finished progress is recorded, and returns it.
    private func last(_ told: Recorder<TransferProgress>) async throws -> TransferProgress? {
        var values = try await told.values(1)
        while values.last?.isFinished == false {
            values = try await told.values(values.count + 1)
        }
        return values.last
    }

    @Test func `progress from the cache reaches its total for data, downloads and streams`()
        async throws
    {
        await warm()
        let whole = TransferProgress(completedUnitCount: 100_000, totalUnitCount: 100_000)
        let told = (0..<3).map { _ in Recorder<TransferProgress>() }
        let data = session.request(url).downloadProgress { told[0].record($0) }
        #expect(await data.serializingData().response.value?.count == 100_000)
        #expect(try await last(told[0]) == whole && told[0].values.count == 1)
        #expect(data.downloadProgress == whole)
        let download = session.download(url).downloadProgress { told[1].record($0) }
        let file = try await download.serializingDownloadedFileURL().value
        try FileManager.default.removeItem(at: file)
        #expect(try await last(told[1]) == whole)
        #expect(download.downloadProgress == whole)
        let stream = session.streamRequest(url).downloadProgress { told[2].record($0) }
        for await _ in stream.streamTask().streamingData() {}
        #expect(try await last(told[2]) == whole)
        #expect(told[2].values.map(\.completedUnitCount) == [65_536, 100_000])
        #expect(transport.requests.count == 1)
    }

    @Test func `progress from the cache is known without a progress closure`() async {
        await warm()
        let request = session.request(url)
        _ = await request.serializingData().response
        #expect(request.downloadProgress.fractionCompleted == 1)
        #expect(request.metrics?.resourceFetchType == .localCache)
        #expect(request.metrics?.responseBodyBytes == 0)
    }

    @Test func `a HEAD request served from the cache reports no progress`() async throws {
        await warm()
        let told = Recorder<TransferProgress>()
        let stream = session.streamRequest(url, method: .head)
            .downloadProgress { told.record($0) }
        var pieces = 0
        for await piece in stream.streamTask().streamingData() where piece.value != nil {
            pieces += 1
        }
        #expect(pieces == 0 && told.values.isEmpty && transport.requests.count == 1)
    }
}
