import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct DeflateRequestCompressorTests {
    private func sent(
        _ compressor: DeflateRequestCompressor, _ body: HTTPBody = .data(Data([0])),
        headers: HTTPHeaders = HTTPHeaders()
    ) async -> (HTTPRequest?, SessionError?) {
        let transport = StubTransport { _ in .status(204) }
        let session = Session(transport: transport, interceptor: compressor)
        var request = HTTPRequest(
            url: URL(string: "http://example.test/"), method: .post, headers: headers)
        request.body = body
        let error = await session.request(request).serializingData().response.error
        return (transport.requests.first, error)
    }

    @Test func `a request with an encoding fails by default`() async {
        let (request, error) = await sent(
            .deflateCompressor, headers: ["content-encoding": "gzip"])
        #expect(request == nil)
        guard case .requestAdaptationFailed(let cause)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause is DeflateRequestCompressor.DuplicateHeaderError)
    }

    @Test func `a Content-Encoding is replaced or kept on request`() async {
        let headers: HTTPHeaders = ["Content-Encoding": "gzip"]
        let (skipped, _) = await sent(
            .deflateCompressor(duplicateHeaderBehavior: .skip), headers: headers)
        #expect(skipped?.httpBody == Data([0]))
        #expect(skipped?.headers.values(for: "Content-Encoding") == ["gzip"])
        let (replaced, _) = await sent(
            .deflateCompressor(duplicateHeaderBehavior: .replace), headers: headers)
        #expect(replaced?.httpBody?.first == 0x78)
        #expect(replaced?.headers.values(for: "Content-Encoding") == ["deflate"])
    }

    @Test func `requests without a body in memory are not compressed`() async {
        for body in [HTTPBody.none, .stream(TestStream("x"))] {
            let (request, _) = await sent(.deflateCompressor, body)
            #expect(request?.body == body)
            #expect(request?.headers["Content-Encoding"] == nil)
        }
    }

    @Test func `bodies that the closure excludes are not compressed`() async {
        let compressor = DeflateRequestCompressor { $0.count > 1 }
        let (small, _) = await sent(compressor)
        #expect(small?.httpBody == Data([0]))
        let (large, _) = await sent(compressor, .data(Data(count: 1000)))
        #expect(large?.headers["Content-Encoding"] == "deflate")
    }

    @Test func `a zero byte is compressed to the expected nine bytes`() async {
        let (request, _) = await sent(.deflateCompressor, headers: ["Content-Length": "1"])
        #expect(
            request?.httpBody
                == Data([0x78, 0x5E, 0x63, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01]))
        #expect(request?.headers["Content-Encoding"] == "deflate")
        #expect(request?.headers["Content-Length"] == nil)
    }

    @Test func `the checksum is Adler-32 in big-endian order`() async {
        let (request, _) = await sent(.deflateCompressor, .data(Data("Wikipedia".utf8)))
        #expect(request?.httpBody?.suffix(4) == Data([0x11, 0xE6, 0x03, 0x98]))
    }

    @Test func `an empty body is compressed too, and large bodies shrink`() async {
        let (empty, _) = await sent(.deflateCompressor, .data(Data()))
        #expect(empty?.httpBody == Data([0x78, 0x5E, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]))
        let (large, _) = await sent(.deflateCompressor, .data(Data(count: 1_000_000)))
        #expect((large?.httpBody?.count ?? .max) < 2_000)
    }
}
