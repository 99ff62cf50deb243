import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import OutletTransport
import Testing

private struct Files: TargetType {
    let task: HTTPTask
    var method = HTTPMethod.get
    let baseURL = URL(filePath: "/")
    let path = ""
    let headers: [String: String]? = nil
    var validationType = ValidationType.successCodes
}

/// Targets that upload or download files.
@Suite struct FileTaskTests {
    private let directory = FileManager.default.temporaryDirectory
        .appending(path: "outlet-\(UUID().uuidString)")

    private func provider(
        _ transport: StubTransport, plugins: [any PluginType] = []
    ) -> Provider<Files> {
        Provider(
            endpointClosure: { target in
                Endpoint(
                    url: "http://files.test/a",
                    sampleResponseClosure: { .networkResponse(200, Data()) },
                    method: target.method, task: target.task, httpHeaderFields: nil)
            }, session: Session(transport: transport), plugins: plugins)
    }

    private func destination(_ name: String) -> DownloadDestination {
        let file = directory.appending(path: name)
        return { _, _ in (file, [.createIntermediateDirectories, .removePreviousFile]) }
    }

    @Test func `a download is written to its destination and calls all hooks`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let hookRecorder = HookRecorder("a")
        let provider = provider(StubTransport { _ in .text("content") }, plugins: [hookRecorder])
        let target = Files(
            task: .downloadParameters(
                parameters: ["a": 1], encoding: URLEncoding.default, destination: destination("x")))
        let progress = Lock<[ProgressResponse]>([])
        let result = await withUnsafeContinuation { continuation in
            provider.request(
                target, callbackQueue: DispatchQueue(label: "own"),
                progress: { one in progress.withLock { $0.append(one) } },
                completion: { continuation.resume(returning: $0) })
        }
        let response = try result.get()
        #expect(response.data.isEmpty && response.statusCode == 200)
        #expect(response.request?.url?.query() == "a=1")
        let file = try #require(response.fileURL)
        #expect(file.lastPathComponent == "x")
        #expect(try Data(contentsOf: file) == Data("content".utf8))
        #expect(progress.withLock { $0.last?.completed } == true)
        #expect(
            hookRecorder.entries == ["a.prepare", "a.willSend[a]", "a.didReceive", "a.process"])
    }

    @Test func `a download that fails validation has an error with the response`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let provider = provider(StubTransport { _ in .status(404) })
        do {
            _ = try await provider.request(Files(task: .downloadDestination(destination("x"))))
            Issue.record("404 was accepted")
        } catch {
            let error = error as? ProviderError
            #expect(error?.response?.statusCode == 404)
            #expect((error?.underlyingError as? SessionError)?.responseCode == 404)
        }
    }

    @Test func `an upload sends a file as the body`() async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "y")
        try Data("sent".utf8).write(to: file)
        let transport = StubTransport { _ in .text("got it") }
        let target = Files(task: .uploadFile(file), method: .post)
        let response = try await provider(transport).request(target)
        #expect(try response.mapString() == "got it")
        #expect(transport.requests.first?.method == .post)
        #expect(transport.requests.first?.body == .file(path: file.path))
    }

    @Test func `the file of an upload distinguishes endpoints, a download destination does not`() {
        func endpoint(_ task: HTTPTask) -> Endpoint {
            Endpoint(
                url: "http://files.test/a",
                sampleResponseClosure: { .networkResponse(200, Data()) },
                method: .post, task: task, httpHeaderFields: nil)
        }
        let upload = endpoint(.uploadFile(URL(filePath: "/a")))
        #expect(upload == endpoint(.uploadFile(URL(filePath: "/a"))))
        #expect(upload != endpoint(.uploadFile(URL(filePath: "/b"))))
        #expect(upload != endpoint(.requestPlain))
        #expect(
            endpoint(.downloadDestination(destination("x")))
                == endpoint(.downloadDestination(destination("y"))))
    }
}
