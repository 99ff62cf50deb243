import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletReachability
public import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

// Conformances that code written for upstream adds; the library must not declare them itself.
extension RetryResult: Equatable {
    /// Whether both request the same retry and delay.
    public static func == (lhs: RetryResult, rhs: RetryResult) -> Bool {
        lhs.retryRequired == rhs.retryRequired && lhs.delay == rhs.delay
    }
}

extension Bool: EmptyResponse {
    /// The value for an empty body.
    public static func emptyValue() -> Bool { true }
}

/// Uses static members, and the retrier that waits for a network, with upstream's names.
@Suite struct UpstreamStaticTests {
    private let url = "http://example.test/get"
    private let stops = Recorder<Bool>()

    private struct Item: Codable, Sendable {}

    private func download<Serializer: DownloadResponseSerializerProtocol>(_: Serializer) {}
    private func stream<Serializer: DataStreamSerializer>(_: Serializer) {}
    private func serializer<Serializer: ResponseSerializer>(_: Serializer) {}
    private func redirector(_: any RedirectHandler) {}
    private func encoder(_: any ParameterEncoder) {}

    @Test func `serializers, redirectors and encoders are members of their protocols`() throws {
        download(.url)
        serializer(.data)
        serializer(.data())
        serializer(
            .data(
                dataPreprocessor: .passthrough, emptyResponseCodes: [204],
                emptyRequestMethods: [.head]))
        serializer(.string)
        serializer(.string())
        serializer(.string(dataPreprocessor: .googleXSSI, encoding: .utf8))
        serializer(.decodable(of: Item.self))
        serializer(.decodable(of: Item.self, decoder: JSONDecoder(), emptyResponseCodes: [204]))
        stream(.passthrough)
        stream(.string)
        stream(.decodable(of: Item.self))
        stream(.decodable(of: Item.self, decoder: JSONDecoder(), dataPreprocessor: .passthrough))
        redirector(.follow)
        redirector(.doNotFollow)
        redirector(.modify { _, request, _ in request })
        encoder(.json)
        encoder(.json())
        encoder(.json(encoder: JSONEncoder()))
        encoder(.urlEncodedForm)
        encoder(.urlEncodedForm())
        encoder(.urlEncodedForm(encoder: URLEncodedFormEncoder(), destination: .httpBody))
        let bare = DecodableResponseSerializer<Bool>()
        let response = HTTPURLResponse(
            url: try url.asURL(), statusCode: 204, httpVersion: nil, headerFields: nil)
        #expect(
            try bare.serialize(request: nil, response: response, data: nil, error: nil) == true)
        #expect(RetryResult.retryWithDelay(1) != .retryWithDelay(2))
    }

    /// Responds with 404, then with 200 to the retry.
    private let session = Session(
        transport: StubTransport(answers: [.status(404), .text("x")]))

    private func monitor(after delay: DispatchTimeInterval) -> PathMonitor {
        let stops = stops
        return PathMonitor { queue, onResult in
            queue.asyncAfter(deadline: .now() + delay) { onResult(.pathAvailable) }
        } stop: {
            stops.record(true)
        }
    }

    @Test func `when the network is back the request is retried and the monitor stops`() async {
        let retrier = OfflineRetrier(
            monitor: monitor(after: .milliseconds(1)), maximumWait: .seconds(10)
        ) { _ in true }
        let request = session.request(url, interceptor: retrier).validate()
        let result = await request.serializingData().result
        #expect(result.isSuccess && request.tasks.count == 2)
        #expect(stops.values == [true])
    }

    @Test func `at the maximum wait the request fails and the monitor stops`() async {
        let retrier = OfflineRetrier(
            monitor: monitor(after: .seconds(1)), maximumWait: .milliseconds(1)
        ) { _ in true }
        let request = session.request(url, interceptor: retrier).validate()
        let result = await request.serializingData().result
        #expect(!result.isSuccess && request.tasks.count == 1)
        // The retrier is called again for the serializer, which fails for the same reason.
        #expect(stops.values == [true, true])
    }

    @Test func `another failure does not wait and starts no monitor`() async {
        let retrier = OfflineRetrier(
            monitor: monitor(after: .milliseconds(1)), maximumWait: .milliseconds(100))
        let request = session.request(url, interceptor: retrier).validate()
        let result = await request.serializingData().result
        #expect(!result.isSuccess && request.tasks.count == 1)
        #expect(stops.values.isEmpty)
        _ = consume retrier
        #expect(stops.values.isEmpty)
    }
}
