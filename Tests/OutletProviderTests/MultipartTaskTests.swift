import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import OutletTransport
import Testing

private struct Form: TargetType {
    let task: HTTPTask
    var method = HTTPMethod.post
    let baseURL = URL(string: "http://forms.test/a") ?? URL(filePath: "/")
    let path = ""
    let headers: [String: String]? = ["Content-Type": "text/plain"]
    let sampleData = Data("sample".utf8)
}

/// A body stream over a text.
private final class TextStream: BodyStream, @unchecked Sendable {
    // because the calls of a `BodyStream` never overlap.
    private let text: String
    private var rest: ArraySlice<UInt8>
    let length: Int64?

    init(_ text: String) {
        self.text = text
        rest = Array(text.utf8)[...]
        length = Int64(rest.count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let piece = rest.prefix(buffer.count)
        buffer.copyBytes(from: piece)
        rest = rest.dropFirst(piece.count)
        return piece.count
    }

    func rewind() { rest = Array(text.utf8)[...] }
}

/// Targets that send multipart forms.
@Suite struct MultipartTaskTests {
    private let transport = StubTransport { _ in .text("got it") }

    private func provider(_ stub: StubBehavior = .never) -> Provider<Form> {
        Provider(stubClosure: { _ in stub }, session: Session(transport: transport))
    }

    private func sent(_ form: HTTPTask.MultipartFormData) async throws -> String {
        let response = try await provider().request(Form(task: .uploadMultipartFormData(form)))
        #expect(try response.mapString() == "got it")
        guard case .data(let data) = transport.requests.last?.body else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    private func part(_ disposition: String, _ body: String, type: String? = nil) -> String {
        let type = type.map { "Content-Type: \($0)\r\n" } ?? ""
        return "--B\r\nContent-Disposition: form-data; \(disposition)\r\n\(type)\r\n\(body)\r\n"
    }

    @Test func `a form is sent with its parts, and its Content-Type replaces the target's`()
        async throws
    {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "outlet-\(UUID().uuidString).txt")
        try Data("in a file".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body = try await sent(
            HTTPTask.MultipartFormData(
                boundary: "B",
                parts: [
                    MultipartFormBodyPart(provider: .data(Data("1".utf8)), name: "plain"),
                    MultipartFormBodyPart(
                        provider: .data(Data("2".utf8)), name: "named", fileName: "x.bin",
                        mimeType: "a/b"),
                    MultipartFormBodyPart(provider: .file(file), name: "own"),
                    MultipartFormBodyPart(provider: .file(file), name: "lone", fileName: "y"),
                    MultipartFormBodyPart(
                        provider: .stream(TextStream("flow"), 4), name: "stream"),
                ]))
        let name = file.lastPathComponent
        let parts = [
            part("name=\"plain\"", "1"),
            part("name=\"named\"; filename=\"x.bin\"", "2", type: "a/b"),
            part("name=\"own\"; filename=\"\(name)\"", "in a file", type: "text/plain"),
            part("name=\"lone\"; filename=\"y\"", "in a file", type: "text/plain"),
            part("name=\"stream\"", "flow"),
        ]
        #expect(body == parts.joined() + "--B--\r\n")
        #expect(
            transport.requests.last?.headers["Content-Type"] == "multipart/form-data; boundary=B")
    }

    @Test func `a list of parts is sent as a form with a random boundary`() async throws {
        let body = try await sent([
            MultipartFormBodyPart(provider: .data(Data("1".utf8)), name: "a")
        ])
        let type = try #require(transport.requests.last?.headers["Content-Type"])
        let boundary = try #require(type.split(separator: "=").last)
        #expect(body.hasPrefix("--\(boundary)\r\n") && boundary.count > 20)
    }

    @Test func `a multipart upload adds URL parameters and reports progress`() async throws {
        let parts = [MultipartFormBodyPart(provider: .data(Data("1".utf8)), name: "a")]
        let told = Lock<[ProgressResponse]>([])
        let result = await withUnsafeContinuation { continuation in
            provider().request(
                Form(task: .uploadCompositeMultipart(parts, urlParameters: ["k": "v"])),
                progress: { one in told.withLock { $0.append(one) } },
                completion: { continuation.resume(returning: $0) })
        }
        #expect(try result.get().request?.url?.query() == "k=v")
        let last = try #require(told.withLock { $0.last })
        #expect(last.completed && last.progressObject?.totalUnitCount ?? 0 > 0)
    }

    @Test(
        arguments: [
            (HTTPTask.uploadMultipart([]), HTTPMethod.post, "the form has no parts"),
            (
                .uploadMultipart([MultipartFormBodyPart(provider: .data(Data()), name: "a")]), .get,
                "GET takes no form"
            ),
        ])
    func `an invalid form is an error with a reason, and nothing is sent`(
        task: HTTPTask, method: HTTPMethod, text: String
    ) async {
        let target = Form(task: task, method: method)
        do {
            _ = try await provider().request(target)
            Issue.record("it was sent")
        } catch ProviderError.parameterEncoding(let error) {
            #expect("\(error)".hasPrefix(text))
        } catch {
            Issue.record("\(error)")
        }
        #expect(transport.requests.isEmpty)
        // A stub does not send the form, so it has no error.
        let stubbed = try? await provider(.immediate).request(target)
        #expect(stubbed?.data == target.sampleData)
    }

    @Test func `a missing file in a form is a multipart encoding error`() async {
        let absent = MultipartFormBodyPart(
            provider: .file(URL(filePath: "/nowhere/x.txt")), name: "a")
        do {
            _ = try await provider().request(Form(task: .uploadMultipart([absent])))
            Issue.record("it was sent")
        } catch {
            let error = (error as? ProviderError)?.underlyingError as? SessionError
            #expect(error?.isMultipartEncodingError == true, "\(String(describing: error))")
        }
    }

    @Test func `endpoints with forms are compared by their parts`() {
        func endpoint(_ task: HTTPTask) -> Endpoint {
            Endpoint(
                url: "http://forms.test/a",
                sampleResponseClosure: { .networkResponse(200, Data()) }, method: .post,
                task: task, httpHeaderFields: nil)
        }
        func part(_ text: String) -> MultipartFormBodyPart {
            MultipartFormBodyPart(provider: .data(Data(text.utf8)), name: "a")
        }
        let stream = TextStream("x")
        let streamed = MultipartFormBodyPart(provider: .stream(stream, 1), name: "a")
        let first = endpoint(.uploadMultipart([part("1")]))
        #expect(first == endpoint(.uploadMultipartFormData([part("1")])))
        #expect(first.hashValue == endpoint(.uploadMultipartFormData([part("1")])).hashValue)
        #expect(first != endpoint(.uploadMultipart([part("2")])))
        #expect(first != endpoint(.requestPlain))
        #expect(first != endpoint(.uploadMultipart([streamed])))
        #expect(
            endpoint(.uploadMultipart([streamed])) == endpoint(.uploadMultipart([streamed])))
        #expect(
            first
                != endpoint(
                    .uploadMultipartFormData(.init(boundary: "B", parts: [part("1")]))))
        #expect(
            first
                != endpoint(.uploadCompositeMultipart([part("1")], urlParameters: ["k": "v"])))
    }
}
