import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletReachability
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Uses URLs, reachability and compression with upstream's names.
@Suite struct UpstreamFeatureTests {
    private let url = "http://example.test/get"
    private let transport = StubTransport { _ in .status(200) }

    @Test func `URL conversions and requests work with upstream names`() throws {
        let address = try #require(URL(string: url))
        let convertibles: [any URLConvertible] = [
            url, address, try #require(URLComponents(string: url)),
        ]
        for convertible in convertibles { #expect(try convertible.asURL() == address) }
        #expect(throws: AFError.self) { try "".asURL() }
        let error = #expect(throws: AFError.self) { try URLRequest(url: "", method: .get) }
        #expect(error?.isInvalidURLError == true && error?.urlConvertible as? String == "")
        let request = try URLRequest(url: url, method: .post, headers: ["A": "1"])
        #expect(try request.asURLRequest() == request && request.urlRequest == request)
        #expect(request.httpMethod == "POST" && request.headers["a"] == "1")
    }

    @Test func `reachability works with upstream names`() async throws {
        let manager = NetworkReachabilityManager()
        let byHost: NetworkReachabilityManager? = NetworkReachabilityManager(host: "localhost")
        #expect(byHost?.isReachable == true && byHost?.isReachableOnCellular == false)
        #expect(byHost?.status == .reachable(.ethernetOrWiFi))
        let statuses = Recorder<NetworkReachabilityManager.NetworkReachabilityStatus>()
        manager?.startListening(onQueue: .global()) { status in statuses.record(status) }
        #expect(try await statuses.values(1).count >= 1)
        manager?.stopListening()
        manager?.startListening(onQueue: .global(), onUpdatePerforming: { statuses.record($0) })
        #expect(try await statuses.values(2).count >= 2)
        manager?.stopListening()
        _ = NetworkReachabilityManager.default?.isReachable
        _ = NetworkReachabilityManager.default?.reachabilityQueue
    }

    @Test func `bodies are compressed, and a second encoding is an error`() async {
        let session = Session(transport: transport)
        func send(
            _ compressor: DeflateRequestCompressor, headers: HTTPHeaders? = nil
        ) async -> AFDataResponse<Data> {
            await session.request(
                url, method: .post, parameters: ["a": "b"], encoder: .json, headers: headers,
                interceptor: compressor
            ).serializingData(emptyResponseCodes: [200]).response
        }
        let plain = await send(.deflateCompressor)
        #expect(plain.request?.headers["Content-Encoding"] == "deflate")
        #expect(plain.request?.httpBody?.prefix(2) == Data([0x78, 0x5E]))
        let twice = await send(DeflateRequestCompressor(), headers: [.contentEncoding("value")])
        #expect(
            twice.error?.underlyingError is DeflateRequestCompressor.DuplicateHeaderError)
        #expect(twice.error?.isRequestAdaptationError == true)
        let replaced = await send(
            .deflateCompressor(duplicateHeaderBehavior: .replace),
            headers: [.contentEncoding("value")])
        #expect(replaced.request?.headers["Content-Encoding"] == "deflate")
        let skipped = await send(
            .deflateCompressor(duplicateHeaderBehavior: .skip),
            headers: [.contentEncoding("value")])
        #expect(skipped.request?.headers["Content-Encoding"] == "value")
        let small = await send(.deflateCompressor { $0.count > 100_000 })
        #expect(small.request?.headers["Content-Encoding"] == nil)
        let exact = Recorder<URLRequest>()
        DeflateRequestCompressor().adapt(
            URLRequest(url: URL(string: url), method: .post, body: .data(Data([0]))), for: session
        ) { if let request = $0.success { exact.record(request) } }
        #expect(
            exact.values.first?.httpBody == Data([0x78, 0x5E, 0x63, 0, 0, 0, 1, 0, 1]))
    }
}
