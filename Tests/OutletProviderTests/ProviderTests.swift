import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import OutletTransport
import Testing

enum Zoo: TargetType, AccessTokenAuthorizable {
    case animal(name: String)
    case feed(grams: Int)
    case closed

    var baseURL: URL { URL(string: "http://zoo.test/api?key=1") ?? URL(filePath: "/") }
    var path: String {
        switch self {
        case .animal(let name): "animals/\(name)"
        case .feed: "/feed"
        case .closed: ""
        }
    }
    var method: HTTPMethod {
        if case .feed = self { .post } else { .get }
    }
    var task: HTTPTask {
        if case .feed(let grams) = self {
            .requestJSONEncodable(["grams": grams])
        } else {
            .requestPlain
        }
    }
    var sampleData: Data { Data("sample".utf8) }
    var headers: [String: String]? { ["X-Zoo": "yes"] }
    var validationType: ValidationType {
        if case .closed = self { .successCodes } else { .none }
    }
    var authorizationType: AuthorizationType? { .bearer }
}

/// Records each hook that is called.
final class HookRecorder: PluginType {
    let name: String
    let calls: Lock<[String]>
    let shared: HookRecorder?

    init(_ name: String, shared: HookRecorder? = nil) {
        self.name = name
        self.calls = Lock([])
        self.shared = shared
    }

    var entries: [String] { calls.withLock { $0 } }

    private func record(_ text: String) {
        (shared ?? self).calls.withLock { $0.append("\(name).\(text)") }
    }

    func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        record("prepare")
        var request = request
        request.headers.append(name: "X-Seen-By", value: name)
        return request
    }

    func willSend(_ request: any RequestType, target: any TargetType) {
        record("willSend[\(request.request?.headers.value(for: "X-Seen-By") ?? "")]")
    }

    func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {
        record("didReceive")
    }

    func process(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> Result<Response, ProviderError> {
        record("process")
        return result
    }
}

private struct Refusing: PluginType {
    struct Refusal: Error {}

    func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        throw Refusal()
    }
}

/// Calls a closure when it is released.
final class ReleaseObserver: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}

/// Overrides `stubRequest` to change the body of stub responses.
private final class Restubbing: Provider<Zoo>, @unchecked Sendable {
    // because it adds no stored property.

    override func stubRequest(
        _ target: Zoo, request: HTTPRequest, callbackQueue: DispatchQueue?,
        completion: @escaping Completion, endpoint: Endpoint, stubBehavior: StubBehavior
    ) -> CancellableToken {
        super.stubRequest(
            target, request: request, callbackQueue: callbackQueue,
            completion: { result in
                completion(
                    result.map {
                        Response(
                            statusCode: $0.statusCode, data: Data("restubbed ".utf8) + $0.data)
                    })
            }, endpoint: endpoint, stubBehavior: stubBehavior)
    }
}

@Suite struct ProviderTests {
    private func provider(
        _ answer: StubAnswer = .text("live"), plugins: [any PluginType] = [],
        interceptor: (any RequestInterceptor)? = nil,
        stub: @escaping @Sendable (Zoo) -> StubBehavior = { _ in .never }
    ) -> (Provider<Zoo>, StubTransport) {
        let transport = StubTransport { _ in answer }
        let session = Session(transport: transport, interceptor: interceptor)
        return (Provider(stubClosure: stub, session: session, plugins: plugins), transport)
    }

    @Test func `a request is made from a target`() async throws {
        let (provider, transport) = provider()
        let response = try await provider.request(.feed(grams: 5))
        #expect(try response.mapString() == "live")
        let request = try #require(transport.requests.first)
        #expect(request.url?.absoluteString == "http://zoo.test/api/feed?key=1")
        #expect(request.method == .post)
        #expect(request.httpBody == Data(#"{"grams":5}"#.utf8))
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["X-Zoo"] == "yes")
    }

    @Test func `reserved characters of the path are escaped`() {
        let url = URL(target: Zoo.animal(name: "a?b c"))
        #expect(url.absoluteString == "http://zoo.test/api/animals/a%3Fb%20c?key=1")
    }

    @Test(arguments: [
        "http://zoo.test", "http://zoo.test/", "http://zoo.test:8080/api", "https://zoo.test/api/",
        "http://zoo.test/api//", "http://zoo.test/a/../b", "http://zoo.test/api?key=1",
        "http://zoo.test/a%20b", "http://user@zoo.test", "http://[::1]:80/", "HTTP://ZOO.TEST/",
    ])
    func `a path is joined to its base URL as in Foundation`(base: String) throws {
        let url = try #require(URL(string: base))
        for path in [
            "animals", "/animals", "animals/", "/", "//animals", "a//b", "a/../b", "a.b", ".", "..",
            "a b", "a?b", "a%2Fb", "ä", "A-_~9/x",
        ] {
            #expect(
                URL(target: Cage(baseURL: url, path: path)).absoluteString
                    == url.appendingPathComponent(path).absoluteString, "\(path)")
        }
    }

    @Test(arguments: [
        ("zoo.test/api", false), ("http:/api", false), ("http://", false), ("http:///api", false),
        ("http://:80/", false), ("http://user@/", false), ("http://user@:80", false),
        ("://zoo.test", false), ("mailto:keeper@zoo.test", false), ("", false),
        ("http://zoo.test", true), ("http://user:p@zoo.test:80?key", true), ("http://[::1]/", true),
    ])
    func `the URL of an endpoint must have a scheme and a host`(
        address: (url: String, isFine: Bool)
    ) throws {
        let endpoint = Endpoint(
            url: address.url, sampleResponseClosure: { .networkResponse(200, Data()) },
            method: .get, task: .requestPlain, httpHeaderFields: nil)
        if address.isFine {
            #expect(try endpoint.urlRequest().url?.absoluteString == address.url)
        } else {
            #expect(throws: ProviderError.self) { try endpoint.urlRequest() }
        }
    }

    @Test(arguments: [StubBehavior.never, .immediate, .delayed(seconds: 0.01)])
    func `each hook runs for all plugins before the next hook`(
        stub: StubBehavior
    ) async throws {
        let first = HookRecorder("a")
        let (provider, _) = provider(
            plugins: [first, HookRecorder("b", shared: first)], stub: { _ in stub })
        _ = try await provider.request(.animal(name: "cat"))
        #expect(
            first.entries == [
                "a.prepare", "b.prepare", "a.willSend[a, b]", "b.willSend[a, b]", "a.didReceive",
                "b.didReceive", "a.process", "b.process",
            ])
    }

    @Test(.timeLimit(.minutes(3)), arguments: [true, false])
    func `a completed request is released`(hasPlugins: Bool) async {
        let (provider, _) = provider(plugins: hasPlugins ? [HookRecorder("a")] : [])
        await withCheckedContinuation { continuation in
            let observer = ReleaseObserver { continuation.resume() }
            provider.request(.closed) { _ in _ = observer }
        }
    }

    @Test func `each attempt is prepared again, and the result is processed once`() async throws {
        let hookRecorder = HookRecorder("a")
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount < 2 ? .retry : .doNotRetry)
        }
        let (provider, transport) = provider(
            .status(500), plugins: [hookRecorder], interceptor: retrier)
        await #expect(throws: ProviderError.self) { try await provider.request(.closed) }
        #expect(transport.requests.count == 3)
        #expect(
            transport.requests.map(\.context.attempt) == [1, 2, 3])
        #expect(hookRecorder.entries.filter { $0 == "a.prepare" }.count == 3)
        #expect(hookRecorder.entries.suffix(2) == ["a.didReceive", "a.process"])
    }

    @Test func `the request context has the target`() async throws {
        let (provider, transport) = provider(plugins: [HookRecorder("a")])
        _ = try await provider.request(.animal(name: "secret"))
        let context = try #require(transport.requests.first?.context)
        let target = try #require(context.target as? Zoo)
        #expect(target.path == "animals/secret")
        #expect(context.id != nil)
    }

    @Test func `a plugin that throws in prepare fails the request, and nothing is sent`() async {
        let hookRecorder = HookRecorder("a")
        let (provider, transport) = provider(plugins: [hookRecorder, Refusing()])
        do {
            _ = try await provider.request(.closed)
            Issue.record("the request went out")
        } catch let error as ProviderError {
            let session = error.underlyingError as? SessionError
            #expect(session?.underlyingError is Refusing.Refusal)
        } catch {
            Issue.record("\(error)")
        }
        #expect(transport.requests.isEmpty)
        #expect(hookRecorder.entries.suffix(2) == ["a.didReceive", "a.process"])
    }

    @Test func `an immediate stub completes before the call returns, without the network`() {
        let (provider, transport) = provider(stub: { _ in .immediate })
        let seen = Lock<[String]>([])
        provider.request(.animal(name: "cat")) { result in
            let text = (try? result.get().mapString()) ?? "failed"
            seen.withLock { $0.append(text) }
        }
        #expect(seen.withLock { $0 } == ["sample"])
        #expect(transport.requests.isEmpty)
    }

    @Test func `responses of stubs and of the network are validated in the same way`() async {
        let transport = StubTransport { _ in .status(404) }
        let session = Session(transport: transport)
        for stub in [StubBehavior.never, .immediate] {
            let provider = Provider<Zoo>(
                endpointClosure: { target in
                    Endpoint(
                        url: URL(target: target).absoluteString,
                        sampleResponseClosure: { .networkResponse(404, Data()) },
                        method: target.method, task: target.task, httpHeaderFields: nil)
                }, stubClosure: { _ in stub }, session: session)
            do {
                _ = try await provider.request(.closed)
                Issue.record("404 was accepted")
            } catch {
                let error = error as? ProviderError
                #expect((error?.underlyingError as? SessionError)?.responseCode == 404)
                #expect(error?.response?.statusCode == 404)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [Double.nan, -1, .infinity, -.infinity])
    func `a delay that is no finite positive number counts as 0`(seconds: Double) async throws {
        let (provider, _) = provider(stub: { _ in .delayed(seconds: seconds) })
        _ = try await provider.request(.animal(name: "cat"))
    }

    @Test func `a cancelled delayed stub completes at once and only once`() async {
        let (provider, _) = provider(stub: { _ in .delayed(seconds: 3600) })
        let error = await withUnsafeContinuation { continuation in
            let token = provider.request(.animal(name: "cat")) { result in
                continuation.resume(returning: result)
            }
            token.cancel()
            token.cancel()
        }
        guard case .failure(.underlying(let cause, _)) = error else {
            Issue.record("\(error)")
            return
        }
        #expect((cause as? SessionError)?.isExplicitlyCancelledError == true)
    }

    @Test(arguments: [StubBehavior.immediate, .delayed(seconds: 0.01)])
    func `a subclass can override stubRequest`(stub: StubBehavior) async throws {
        let hookRecorder = HookRecorder("a")
        let provider = Restubbing(
            stubClosure: { _ in stub },
            session: Session(transport: StubTransport { _ in .silence }),
            plugins: [hookRecorder])
        let response = try await provider.request(.animal(name: "cat"))
        #expect(try response.mapString() == "restubbed sample")
        #expect(
            hookRecorder.entries == ["a.prepare", "a.willSend[a]", "a.didReceive", "a.process"])
    }

    @Test(.timeLimit(.minutes(3)))
    func `a token describes its request until the request has completed`() async throws {
        let gate = StubGate()
        let session = Session(
            transport: StubTransport { _ in .text("x").waiting(atByte: 0, for: gate) })
        let provider = Provider<Zoo>(session: session)
        let token = Lock<(any Cancellable)?>(nil)
        let isOver = Lock(false)
        token.withLock {
            $0 = provider.request(.closed) { _ in isOver.withLock { $0 = true } }
        }
        await gate.arrival()
        let told = token.withLock { $0 }.map { String(reflecting: $0) }
        #expect(told?.contains("http://zoo.test/api") == true, "\(told ?? "nothing")")
        #expect(told?.hasPrefix("$ curl") == true)
        gate.open()
        while !isOver.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
        #expect(token.withLock { $0 }.map { String(reflecting: $0) } == "Empty Request")
        #expect(String(reflecting: CancellableToken()) == "Empty Request")
    }

    @Test func `a session's result becomes a response, or an error with the response`() throws {
        struct Failure: Error {}
        let head = HTTPResponse(url: nil, statusCode: 201)
        let bare = try convertResponseToResult(head, request: nil, data: nil, error: nil).get()
        #expect(bare.statusCode == 201 && bare.data.isEmpty && bare.response == head)
        let failed = convertResponseToResult(
            head, request: nil, data: Data("x".utf8), error: Failure())
        guard case .failure(.underlying(let error, let response?)) = failed else {
            Issue.record("\(failed)")
            return
        }
        #expect(error is Failure && response.data == Data("x".utf8))
        for error in [Failure(), nil] as [(any Error)?] {
            let nothing = convertResponseToResult(nil, request: nil, data: Data(), error: error)
            guard case .failure(.underlying(let found, nil)) = nothing else {
                Issue.record("\(nothing)")
                return
            }
            #expect(found is Failure == (error != nil))
        }
    }

    @Test func `a request continues after its provider is released`() async throws {
        let session = Session(transport: StubTransport { _ in .text("live") })
        let result = await withUnsafeContinuation { continuation in
            Provider<Zoo>(session: session).request(.animal(name: "cat")) {
                continuation.resume(returning: $0)
            }
        }
        #expect(try result.get().mapString() == "live")
    }

    @Test func `the second result of a request closure is ignored`() async throws {
        let transport = StubTransport { _ in .text("live") }
        let provider = Provider<Zoo>(
            requestClosure: { endpoint, done in
                Provider<Zoo>.defaultRequestMapping(for: endpoint, closure: done)
                Provider<Zoo>.defaultRequestMapping(for: endpoint, closure: done)
            }, session: Session(transport: transport))
        _ = try await provider.request(.animal(name: "cat"))
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: ["", "no scheme", "http://example.com:abc/", "http://[::1]x/", "/path"])
    func `an endpoint without an absolute URL is a requestMapping error`(url: String) {
        let endpoint = Endpoint(
            url: url, sampleResponseClosure: { .networkResponse(200, Data()) }, method: .get,
            task: .requestPlain, httpHeaderFields: nil)
        do {
            _ = try endpoint.urlRequest()
            Issue.record("\(url) was taken")
        } catch {
            guard case .requestMapping(url)? = error as? ProviderError else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func `a new field of an endpoint replaces the old one, case-insensitively`() {
        let endpoint = Endpoint(
            url: "http://a.test", sampleResponseClosure: { .networkResponse(200, Data()) },
            method: .get, task: .requestPlain, httpHeaderFields: ["content-type": "a", "X": "1"])
        let added = endpoint.adding(newHTTPHeaderFields: ["Content-Type": "b"])
        #expect(added.httpHeaderFields == ["Content-Type": "b", "X": "1"])
    }

    @Test func `an access token replaces the Authorization field`() async throws {
        let asked = Lock(0)
        let plugin = AccessTokenPlugin { target in
            asked.withLock { $0 += 1 }
            return target is Zoo ? "t0k3n" : "wrong target"
        }
        let transport = StubTransport { _ in .text("x") }
        let provider = Provider<MultiTarget>(
            session: Session(transport: transport), plugins: [plugin])
        _ = try await provider.request(.target(Zoo.animal(name: "cat")))
        #expect(transport.requests.first?.headers.values(for: "Authorization") == ["Bearer t0k3n"])
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func `filters accept only their status codes`() throws {
        let found = Response(statusCode: 302, data: Data())
        #expect(throws: ProviderError.self) { try found.filterSuccessfulStatusCodes() }
        #expect(try found.filterSuccessfulStatusAndRedirectCodes() == found)
        #expect(try found.filter(statusCodes: ...302) == found)
        #expect(throws: ProviderError.self) { try found.filter(statusCodes: ..<302) }
    }
}

/// A target with a given base URL and path.
private struct Cage: TargetType {
    let baseURL: URL
    let path: String
    var method: HTTPMethod { .get }
    var task: HTTPTask { .requestPlain }
    var headers: [String: String]? { nil }
}
