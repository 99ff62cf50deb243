import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct MultipartUploadTests {
    let address = "http://example.test/"
    let scratch: TemporaryDirectory

    init() throws { scratch = try TemporaryDirectory() }

    private func text(_ transport: StubTransport) -> [String] {
        transport.bodies.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a missing file of a part fails the request, and nothing is sent`() async {
        let transport = StubTransport { _ in .status(204) }
        let session = Session(transport: transport)
        let request = session.upload(
            multipartFormData: { $0.append(URL(filePath: "/nowhere/x.txt"), withName: "a") },
            to: address)
        let error = await request.serializingData().response.error
        #expect(transport.requests.isEmpty)
        #expect(error?.isMultipartEncodingError == true)
        #expect(error?.url?.path == "/nowhere/x.txt")
    }

    @Test
    func `the form's Content-Type replaces the request's, and a small form is sent from memory`()
        async
    {
        let transport = StubTransport { _ in .status(204) }
        let session = Session(transport: transport)
        let form = MultipartFormData()
        form.append(Data("v".utf8), withName: "k")
        let request = session.upload(
            multipartFormData: form, to: address, headers: ["Content-Type": "text/plain"],
            requestModifier: { $0.headers["X-Modified"] = "1" })
        _ = await request.serializingData().response
        let sent = transport.requests.first
        #expect(sent?.method == .post)
        #expect(sent?.headers.values(for: "Content-Type") == [form.contentType])
        #expect(sent?.headers["X-Modified"] == "1")
        #expect(sent?.httpBody == (try? form.encode()))
    }

    @Test(arguments: [UInt64.max, 0])
    func `retries and redirects send the same form again`(threshold: UInt64) async throws {
        let transport = StubTransport(answers: [
            .redirect(307, to: "/next"), .status(503), .status(204),
        ])
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let session = Session(transport: transport, interceptor: retrier)
        let file = URL(filePath: try scratch.write("file", to: "f.txt"))
        let stream = TestStream("stream", length: 6)
        let request = session.upload(
            multipartFormData: { form in
                form.append(file, withName: "f")
                form.append(stream, withName: "s")
            }, with: try HTTPRequest(url: address, method: .put), usingThreshold: threshold)
        let response = await request.validate().serializingUnserialized().response
        #expect(response.error == nil)
        let bodies = text(transport)
        #expect(bodies.count == 3)
        #expect(bodies.allSatisfy { $0 == bodies.first && $0.contains("stream") })
        #expect(stream.rewinds == (threshold == 0 ? 2 : 0))
        #expect(transport.requests.allSatisfy { $0.method == .put })
        #expect(try scratch.openFiles() == 0)
    }
}
