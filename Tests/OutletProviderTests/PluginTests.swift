import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

private struct SentRequest: RequestType {
    var request: HTTPRequest?
    var sessionHeaders = ["Content-Type": "text/other", "Accept-Language": "en-US"]

    func authenticate(
        username: String, password: String, persistence: Credential.Persistence
    ) -> Self { self }

    func authenticate(with credential: Credential) -> Self { self }
}

/// The plugins of the library: logger, activity and credentials.
@Suite final class PluginTests: Sendable {
    private let lines = Lock<[String]>([])
    private let head = HTTPResponse(
        url: URL(string: "http://zoo.test/zen?token=abc"), statusCode: 200,
        headers: ["X-A": "1", "Set-Cookie": "session=1"])

    private func logger(
        _ options: NetworkLoggerPlugin.Configuration.LogOptions
    ) -> NetworkLoggerPlugin {
        let plugin = NetworkLoggerPlugin()
        plugin.configuration.output = { [self] _, items in lines.withLock { $0 += items } }
        plugin.configuration.logOptions = options
        plugin.configuration.formatter.entry = { identifier, message, _ in
            "\(identifier): \(message)"
        }
        return plugin
    }

    private var log: [String] { lines.withLock { $0 } }

    private var request: HTTPRequest {
        HTTPRequest(
            url: URL(string: "http://zoo.test/zen"), method: .post,
            headers: ["Content-Type": "application/json", "Authorization": "Bearer secret"],
            body: .data(Data("cool body".utf8)))
    }

    // MARK: Logger

    @Test func `the logger writes a request in order, without secrets`() {
        logger(.verbose).willSend(SentRequest(request: request), target: Zoo.closed)
        #expect(
            log == [
                "Request: http://zoo.test/zen",
                #"Request Headers: ["Accept-Language": "en-US", "Authorization": "Bearer •••", "#
                    + #""Content-Type": "application/json"]"#,
                "Request Body: cool body", "HTTP Request Method: POST",
            ])
    }

    @Test func `the logger does not read a body that is a file`() {
        var streamed = request
        streamed.body = .file(path: "/tmp/x")
        logger(.requestBody).willSend(SentRequest(request: streamed), target: Zoo.closed)
        logger([]).willSend(SentRequest(request: nil), target: Zoo.closed)
        #expect(
            log == [
                "Request: http://zoo.test/zen", "Request Body Stream: the file /tmp/x",
                "Request: (invalid request)",
            ])
    }

    @Test func `the logger writes a response, and the body of a failed one on request`() {
        let accepted = Response(statusCode: 200, data: Data("yes".utf8), response: head)
        let refused = ProviderError.underlying(
            SessionError.explicitlyCancelled,
            Response(statusCode: 500, data: Data("no".utf8), response: head))
        let shown =
            "Response: { URL: http://zoo.test/zen?token=••• } { Status Code: 200, Headers: "
            + #"["Set-Cookie": "session=•••", "X-A": "1"] }"#
        logger(.successResponseBody).didReceive(.success(accepted), target: Zoo.closed)
        #expect(log == [shown, "Response Body: yes"])
        logger(.errorResponseBody).didReceive(.failure(refused), target: Zoo.closed)
        #expect(log.suffix(2) == [shown, "Response Body: no"])
        logger(.successResponseBody).didReceive(.failure(refused), target: Zoo.closed)
        #expect(log.last == shown)
        let empty = Response(statusCode: 204, data: Data())
        logger(.default).didReceive(.success(empty), target: Zoo.closed)
        #expect(log.last == "Response: Received empty network response for closed.")
        logger(.default).didReceive(
            .failure(.underlying(SessionError.explicitlyCancelled, nil)), target: Zoo.closed)
        #expect(log.last == "Error: Error calling closed : Request explicitly cancelled.")
        logger(.default).didReceive(
            .success(empty), target: MultiTarget(Zoo.animal(name: "secret")))
        #expect(log.last == "Response: Received empty network response for animal.")
    }

    @Test func `the logger can write a curl command instead of the other items`() throws {
        logger([.formatRequestAscURL, .requestMethod])
            .willSend(SentRequest(request: request), target: Zoo.closed)
        #expect(log.count == 1)
        #expect(try log.at(0).hasPrefix("Request: $ curl -v"))
        #expect(try log.at(0).contains("-H 'Content-Type: application/json'"))
        #expect(try log.at(0).contains("cool body"))
        #expect(try !log.at(0).contains("secret"))
    }

    @Test func `loggers write the curl command of each attempt and hop before the response`()
        async throws
    {
        let transport = StubTransport(answers: [
            .status(503), .redirect(to: "/moved"), .redirect(to: "http://other.test/"), .text("x"),
        ])
        let session = Session(
            transport: transport,
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let options: NetworkLoggerPlugin.Configuration.LogOptions = [.formatRequestAscURL]
        let provider = Provider<Zoo>(
            session: session,
            plugins: [
                CredentialsPlugin { _ in Credential(user: "me", password: "p") }, HookRecorder("a"),
                logger(options), logger(options),
            ])
        _ = try await provider.request(.closed)
        let urls = [
            "zoo.test/api?key=•••", "zoo.test/api?key=•••", "zoo.test/moved", "other.test/",
        ]
        #expect(log.count == 2 * urls.count + 2)
        for (index, url) in urls.enumerated() {
            for command in log.dropFirst(2 * index).prefix(2) {
                #expect(command.hasPrefix("Request: $ curl"))
                #expect(command.hasSuffix("'http://\(url)'"))
                // Fields and credential are those that are sent to the host.
                #expect(command.contains("-u 'me:•••'") == (url != "other.test/"))
                #expect(command.contains("X-Zoo: yes"))
            }
        }
        #expect(log.suffix(2).allSatisfy { $0.hasPrefix("Response: ") })
    }

    @Test func `the curl command has the body of an upload, and the session's headers and cookies`()
        async throws
    {
        let directory = try TemporaryDirectory()
        try directory.write("abc", to: "file")
        let file = directory.url.appending(path: "file")
        let cookies = CookieStorage()
        cookies.setCookie(Cookie(name: "k", value: "v", domain: "zoo.test"))
        var configuration = SessionConfiguration.default
        configuration.headers = ["X-Own": "1"]
        configuration.httpCookieStorage = cookies
        let provider = Provider<MultiTarget>(
            session: Session(
                transport: StubTransport(answers: [.text("x")]), configuration: configuration),
            plugins: [logger([.formatRequestAscURL])])
        struct Upload: TargetType {
            let file: URL
            var baseURL: URL { Zoo.closed.baseURL }
            var path: String { "" }
            var method: HTTPMethod { .post }
            var task: HTTPTask { .uploadFile(file) }
            var headers: [String: String]? { nil }
        }
        _ = try await provider.request(MultiTarget(Upload(file: file)))
        let command = try log.at(0)
        #expect(command.contains("--data-binary @\(file.path)"))
        #expect(command.contains("-H 'X-Own: 1'"))
        #expect(command.contains("-b 'k=•••'"))
    }

    @Test func `the logger prints control characters in a visible form`() {
        let printed = NetworkLoggerPlugin.Configuration.printed([
            "a\u{1B}[2J\u{9B}b", "c\td\ne",
        ])
        #expect(printed == "a^[[2J<U+009B>b\nc\td\ne\n")
    }

    @Test func `the logger uses custom formatters`() {
        let plugin = logger(.verbose)
        plugin.configuration.formatter.requestData = { _ in "in" }
        plugin.configuration.formatter.responseData = { _ in "out" }
        plugin.willSend(SentRequest(request: request), target: Zoo.closed)
        plugin.didReceive(
            .success(Response(statusCode: 200, data: Data([1]))), target: Zoo.closed)
        #expect(log.contains("Request Body: in") && log.last == "Response Body: out")
        let line = NetworkLoggerPlugin.Configuration.Formatter.defaultEntry(
            identifier: "Request", message: "x", target: Zoo.closed)
        #expect(line.hasPrefix("Outlet: [") && line.hasSuffix("] Request: x"))
        #expect(NetworkLoggerPlugin.verbose.configuration.logOptions == .verbose)
        #expect(NetworkLoggerPlugin.default.configuration.logOptions == .default)
    }

    // MARK: Activity

    @Test func `the activity of a retried request begins and ends once`() async throws {
        let changes = Lock<[NetworkActivityChangeType]>([])
        let plugin = NetworkActivityPlugin { change, target in
            #expect(target is Zoo)
            changes.withLock { $0.append(change) }
        }
        let session = Session(
            transport: StubTransport(answers: [.status(500), .status(500), .text("x")]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        _ = try await Provider<Zoo>(session: session, plugins: [plugin]).request(.closed)
        #expect(changes.withLock { $0 } == [.began, .ended])
        let stubbed = Provider<Zoo>(
            stubClosure: { _ in .immediate }, session: session, plugins: [plugin])
        stubbed.request(.closed) { _ in }
        #expect(changes.withLock { $0 } == [.began, .ended, .began, .ended])
    }

    // MARK: Credentials

    @Test func `the credential for a target is set on the request`() async throws {
        let jobs = Lock<[Credential?]>([])
        let transport = StubTransport { job in
            jobs.withLock { $0.append(job.credential) }
            return .text("x")
        }
        let plugin = CredentialsPlugin { target in
            guard case .closed? = target as? Zoo else { return nil }
            return Credential(user: "user", password: "passwd", persistence: .none)
        }
        let provider = Provider<Zoo>(session: Session(transport: transport), plugins: [plugin])
        _ = try await provider.request(.closed)
        _ = try await provider.request(.animal(name: "cat"))
        #expect(jobs.withLock { $0.map(\.?.user) } == ["user", nil])
    }

    // MARK: Progress

    @Test func `progress is called before the completion, and last with the response`() async throws
    {
        let hookRecorder = HookRecorder("a")
        let body = Data(count: 4000)
        let provider = Provider<Zoo>(
            session: Session(
                transport: StubTransport { _ in
                    StubAnswer(
                        headers: ["Content-Length": "4000"], body: body, chunkSize: 1000)
                }), plugins: [hookRecorder])
        let seen = Lock<[ProgressResponse]>([])
        let result = await withUnsafeContinuation { continuation in
            provider.request(
                .closed, callbackQueue: DispatchQueue(label: "own"),
                progress: { progress in
                    seen.withLock { $0.append(progress) }
                    hookRecorder.calls.withLock { $0.append("progress") }
                }, completion: { continuation.resume(returning: $0) })
        }
        let progress = seen.withLock { $0 }
        #expect(try result.get().data.count == 4000)
        #expect(progress.last?.progress == 1 && progress.last?.response?.data.count == 4000)
        #expect(progress.map(\.progress) == progress.map(\.progress).sorted())
        #expect(progress.dropLast().allSatisfy { !$0.completed })
        #expect(progress.allSatisfy { $0.progressObject != nil })
        #expect(hookRecorder.entries.suffix(3) == ["a.didReceive", "progress", "a.process"])
        #expect(ProgressResponse().progress == 0)
        #expect(ProgressResponse(response: Response(statusCode: 200, data: Data())).progress == 1)
    }
}
