import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Refuses a host, changes a URL, and adds a secret field.
private final class Guard: PluginType {
    struct Refusal: Error, Equatable {
        let host: String?
    }

    let seen = Recorder<String>()

    func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        var request = request
        let host = request.url?.host()
        guard host != "forbidden.test" else { throw Refusal(host: host) }
        if host == "old.test" { request.url = URL(string: "http://new.test/") }
        request.headers.update(name: "X-Secret", value: "for \(host ?? "")")
        return request
    }

    func willSend(_ request: any RequestType, target: any TargetType) {
        seen.record(
            "\(request.request?.url?.host() ?? "") \(request.request?.headers["X-Secret"] ?? "-")")
    }
}

/// Plugins that check URLs also check the targets of redirects.
@Suite(.timeLimit(.minutes(patience))) struct RedirectTests {
    private let checker = Guard()

    private func provider(_ transport: StubTransport) -> Provider<Zoo> {
        Provider(session: Session(transport: transport), plugins: [checker])
    }

    private func refusal(_ error: any Error) -> Guard.Refusal? {
        let session = (error as? ProviderError)?.underlyingError as? SessionError
        return session?.underlyingError as? Guard.Refusal
    }

    @Test func `a plugin can refuse the target of a redirect`() async throws {
        let transport = StubTransport(answers: [
            .redirect(to: "http://next.test/"), .redirect(to: "http://forbidden.test/"),
            .text("caught"),
        ])
        do {
            _ = try await provider(transport).request(.closed)
            Issue.record("the redirect was followed")
        } catch {
            #expect(refusal(error) == Guard.Refusal(host: "forbidden.test"))
        }
        #expect(transport.requests.map { $0.url?.host() } == ["zoo.test", "next.test"])
    }

    @Test
    func `plugins see each hop as it is sent, and cannot add fields to it`()
        async throws
    {
        let transport = StubTransport(answers: [
            .redirect(307, to: "http://next.test/"), .redirect(to: "/again"), .text("there"),
        ])
        let response = try await provider(transport).request(.feed(grams: 1))
        #expect(try response.mapString() == "there")
        #expect(
            transport.requests.allSatisfy {
                ["for zoo.test", nil].contains($0.headers["X-Secret"])
            })
        let sent = transport.requests.map {
            "\($0.url?.host() ?? "") \($0.headers["X-Secret"] ?? "-")"
        }
        #expect(checker.seen.values == sent)
        #expect(transport.requests.map { $0.context.hop } == [0, 1, 2])
    }

    @Test func `a plugin can change the URL of a hop, which is sent without credentials`()
        async throws
    {
        let transport = StubTransport(answers: [
            .redirect(to: "http://old.test/"), .text("moved"),
        ])
        let session = Session(transport: transport)
        let provider = Provider<Zoo>(
            session: session, plugins: [checker, AccessTokenPlugin { _ in "t0k3n" }])
        #expect(try await provider.request(.closed).mapString() == "moved")
        #expect(transport.requests.map { $0.url?.host() } == ["zoo.test", "new.test"])
        #expect(
            transport.requests.map { $0.headers["Authorization"] } == ["Bearer t0k3n", nil])
    }

    @Test func `a cancel between two hops ends the request`() async throws {
        let transport = StubTransport(answers: [.redirect(to: "http://next.test/"), .silence])
        let provider = provider(transport)
        let ends = Recorder<Result<Response, ProviderError>>()
        let token = provider.request(.closed) { ends.record($0) }
        try await checker.seen.values(2)
        token.cancel()
        guard case .failure(.underlying(let error, _)) = try await ends.values(1)[0] else {
            Issue.record("the request went through")
            return
        }
        #expect((error as? SessionError)?.isExplicitlyCancelledError == true)
    }

    @Test func `the plugins of each coalesced request check the redirect`() async throws {
        let gate = StubGate()
        let transport = StubTransport { job in
            job.request.url?.host() == "zoo.test"
                ? StubAnswer.redirect(to: "http://forbidden.test/").waiting(atByte: 0, for: gate)
                : .text("caught")
        }
        let session = Session(transport: transport)
        // Both requests are equal on the wire; only the plugin is different.
        let plain = Provider<Zoo>(
            endpointClosure: { target in
                Provider<Zoo>.defaultEndpointMapping(for: target)
                    .adding(newHTTPHeaderFields: ["X-Secret": "for zoo.test"])
            }, session: session, trackInflights: true)
        let guarded = Provider<Zoo>(session: session, plugins: [checker], trackInflights: true)
        let ends = Recorder<(String, Result<Response, ProviderError>)>()
        plain.request(.closed) { ends.record(("plain", $0)) }
        await gate.arrival()
        guarded.request(.closed) { ends.record(("guarded", $0)) }
        var begun = 0
        while begun < 2, !Task.isCancelled {
            begun = await withCheckedContinuation { continuation in
                session.withAllRequests { requests in
                    continuation.resume(returning: requests.count { !$0.tasks.isEmpty })
                }
            }
            await Task.yield()
        }
        #expect(transport.requests.count == 1)
        gate.open()
        for (name, result) in try await ends.values(2) {
            if name == "plain" {
                #expect(try result.get().mapString() == "caught")
            } else if case .failure(let error) = result {
                #expect(refusal(error) != nil)
            } else {
                Issue.record("the redirect was followed")
            }
        }
    }

    @Test func `a redirect does not begin the activity again`() async throws {
        let changes = Recorder<NetworkActivityChangeType>()
        let transport = StubTransport(answers: [.redirect(to: "/next"), .text("there")])
        let provider = Provider<Zoo>(
            session: Session(transport: transport),
            plugins: [NetworkActivityPlugin { change, _ in changes.record(change) }])
        _ = try await provider.request(.closed)
        #expect(changes.values == [.began, .ended])
    }
}
