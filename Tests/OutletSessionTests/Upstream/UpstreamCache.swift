import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletLayers
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

typealias URLCache = ResponseCache
typealias CachedURLResponse = CachedResponse

extension HTTPRequest {
    init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        self.init(url: url)
        self.cachePolicy = cachePolicy
        self.timeoutInterval = timeoutInterval
    }
}

extension Session {
    fileprivate func cachedResponse(for request: Request) -> CachedURLResponse? {
        guard let urlRequest = request.request else { return nil }
        return sessionConfiguration.urlCache?.cachedResponse(for: urlRequest)
    }

    fileprivate func cachedResponseExists(for request: Request) -> Bool {
        cachedResponse(for: request) != nil
    }
}

/// Uses caches and their handlers with upstream's names.
@Suite struct UpstreamCacheTests {
    let url = "http://example.test/response-headers"
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private let cacher = ResponseCacher(
        behavior: .modify { _, response in
            CachedURLResponse(
                response: response.response, data: response.data, userInfo: ["key": "value"],
                storagePolicy: .allowed)
        })

    private func take(_ handler: any CachedResponseHandler) {}

    private func session(
        using handler: (any CachedResponseHandler)? = nil, monitors: [any EventMonitor] = []
    ) -> Session {
        var configuration = URLSessionConfiguration.af.default
        configuration.urlCache = URLCache(
            memoryCapacity: 100_000_000, diskCapacity: 100_000_000, directory: directory.url)
        return Session(
            transport: StubTransport { _ in .text("x") }, configuration: configuration,
            cachedResponseHandler: handler, eventMonitors: monitors)
    }

    @Test func `static members and behaviours of cachers have upstream names`() {
        take(.cache)
        take(.doNotCache)
        take(.modify { _, _ in nil })
        take(.modify { task, response in response })
        take(ResponseCacher.cache)
        take(ResponseCacher.doNotCache)
        guard case .modify = cacher.behavior else {
            Issue.record("not kept")
            return
        }
    }

    @Test func `a request's cached response handler overrides the session's`() async {
        for (sessions, requests, isStored, info) in [
            (nil, nil, true, nil), (nil, ResponseCacher.cache, true, nil),
            (nil, .doNotCache, false, nil), (nil, cacher, true, "value"),
            (.cache, nil, true, nil), (.doNotCache, nil, false, nil), (cacher, nil, true, "value"),
            (.cache, .doNotCache, false, nil), (.doNotCache, .cache, true, nil),
        ] as [(ResponseCacher?, ResponseCacher?, Bool, String?)] {
            let session = session(using: sessions)
            let request = session.request(url)
            if let requests { request.cacheResponse(using: requests) }
            #expect(await request.serializingData().response.error == nil)
            #expect(session.cachedResponseExists(for: request) == isStored)
            #expect(session.cachedResponse(for: request)?.userInfo?["key"] == info)
            session.sessionConfiguration.urlCache?.removeAllCachedResponses()
        }
    }

    @Test func `a request keeps its own cache policy`() throws {
        var request = URLRequest(
            url: try url.asURL(), cachePolicy: .returnCacheDataDontLoad, timeoutInterval: 30)
        request.httpMethod = HTTPMethod.get.rawValue
        let encoded = try URLEncoding.default.encode(request, with: ["Cache-Control": "no-store"])
        #expect(encoded.cachePolicy == .returnCacheDataDontLoad)
        #expect(encoded.url?.query(percentEncoded: true) == "Cache-Control=no-store")
    }

    @Test(arguments: [true, false])
    func `the event before caching is reported after the data and before the metrics`(
        asksHandler: Bool
    ) async throws {
        let names = Recorder<String>()
        let monitor = ClosureEventMonitor()
        monitor.dataTaskDidReceiveData = { _, _, _ in names.record("data") }
        monitor.dataTaskWillCacheResponse = { _, _, proposed in
            names.record("will cache \(proposed.data.count)")
        }
        monitor.taskDidFinishCollectingMetrics = { _, _, _ in names.record("metrics") }
        monitor.taskDidComplete = { _, _, _ in names.record("complete") }
        let session = session(using: asksHandler ? cacher : nil, monitors: [monitor])
        #expect(await session.request(url).serializingData().response.error == nil)
        #expect(try await names.values(4) == ["data", "will cache 1", "metrics", "complete"])
        session.sessionConfiguration.urlCache?.removeAllCachedResponses()
    }
}
