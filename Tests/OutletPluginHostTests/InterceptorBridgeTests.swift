import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletPluginHost

@Suite(.timeLimit(.minutes(2))) struct InterceptorBridgeTests {
    @Test func `a pending hook that never settles fails the request at the deadline`() async throws
    {
        let folder = try PluginFolder(faulty: "NeverSettles")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder, answerDeadline: .milliseconds(50))
        let stub = StubTransport(answers: [.status(200)])
        let provider = host.provider(over: stub)
        do {
            _ = try await provider.request(.page)
            Issue.record("the request went through")
        } catch {
            guard case .underlying(let failure as SessionError, nil) = error as? ProviderError,
                case .requestRetryFailed(let retryError, let originalError) = failure
            else {
                Issue.record("\(error)")
                return
            }
            #expect(
                "\(retryError)"
                    == "plugin faulty.never-settles: retry did not answer in time: its completion "
                    + "was not settled within 0.05 s")
            let adaptError = originalError.asSessionError?.underlyingError as? PluginError
            #expect(adaptError?.hook == .adapt)
            #expect(adaptError?.kind == .timedOut)
        }
        #expect(stub.requests.isEmpty)
        // `cancel` is called for both hooks. Late answers there do not count as misbehaviour.
        try await cancelled(2, of: host)
        #expect(host.plugins.first?.misbehaviour == [.neverSettled: 2])
    }

    @Test func `the first of two settlements counts, and the second is misbehaviour`()
        async throws
    {
        let host = try PluginFolder(faulty: "SettlesTwice").load()
        let stub = StubTransport(answers: [.status(200)])
        _ = try await host.provider(over: stub).request(.page)
        #expect(stub.requests.map { $0.headers["X-Settled"] } == ["once"])
        #expect(host.plugins.first?.misbehaviour == [.settledTwice: 1])
    }

    @Test func `the first of two retry verdicts counts`() async throws {
        let host = try PluginFolder(faulty: "SettlesTwice").load()
        let stub = StubTransport(answers: [.status(503)])
        let provider = host.provider(over: stub)
        await #expect(throws: ProviderError.self) { try await provider.request(.page) }
        #expect(stub.requests.count == 1)
        #expect(host.plugins.first?.misbehaviour == [.settledTwice: 2])
    }

    @Test func `a completion can only be settled with the function of its own hook`() async throws {
        let host = try PluginFolder(faulty: "CrossedCompletions").load()
        let stub = StubTransport(answers: [.status(503), .status(200)])
        let response = try await host.provider(over: stub).request(.page)
        #expect(response.statusCode == 200)
        #expect(stub.requests.map { $0.headers["X-Crossed"] } == ["refused", "refused"])
        #expect(host.plugins.first?.misbehaviour == [.forbiddenValue: 3])
    }

    @Test func `a cancelled request cancels a pending adapt hook at once`() async throws {
        let host = try PluginFolder(faulty: "NeverSettles").load()
        let stub = StubTransport(answers: [.status(200)])
        let ended = Once<Bool>()
        let call = host.provider(over: stub).request(.page) { ended.set((try? $0.get()) == nil) }
        try await asked(1, of: host)
        call.cancel()
        #expect(try await ended.value())
        try await cancelled(1, of: host)
        #expect(stub.requests.isEmpty)
        // The late answer does not count as misbehaviour, and ends the completion's handle.
        #expect(host.plugins.first?.misbehaviour == [:])
        #expect(try lastCancelled(of: host) == nil)
    }

    @Test func `a cancelled request cancels a pending retry hook at once`() async throws {
        let host = try PluginFolder(faulty: "NeverSettles").load()
        let session = Session(transport: StubTransport(answers: [.status(503)]))
        let retriers = try #require((host.interceptors.first as? Interceptor)?.retriers)
        // A released session would cancel the request before the retrier is called.
        defer { withExtendedLifetime(session) {} }
        let ended = Once<SessionError?>()
        let request = session.request(
            "http://test.example/", interceptor: Interceptor(retriers: retriers))
        request.validate().response { ended.set($0.error) }
        try await asked(1, of: host)
        request.cancel()
        let error = try await ended.value()
        #expect(error?.responseCode == 503, "\(String(describing: error))")
        try await cancelled(1, of: host)
        // The plugin answered with the wrong function, so the handle stays valid for a late answer
        // until the plugin ends.
        let forgotten = try lastID(of: host)
        #expect(try lastCancelled(of: host) != nil)
        #expect(await host.shutDown() == [])
        #expect(HandleTable.shared.find(forgotten, as: OutletPluginHost.Completion.self) == nil)
    }

    /// Returns the handle of the completion with which the host last called the plugin's `cancel`.
    private func lastID(of host: PluginHost) throws -> UInt64 {
        guard case .int(let id) = try host.call("faulty.never-settles.last") else {
            throw TestSupportError("no number")
        }
        return UInt64(bitPattern: id)
    }

    /// Returns this completion; `nil` once its handle has ended.
    private func lastCancelled(of host: PluginHost) throws -> OutletPluginHost.Completion? {
        HandleTable.shared.find(try lastID(of: host), as: OutletPluginHost.Completion.self)
    }

    @Test(arguments: ["finalize", "redirect"])
    func `a plugin that checks addresses also checks redirects`(hook: String) async throws {
        let folder = try PluginFolder(faulty: "GuardsAddress")
        let recorder = ActivityRecorder()
        let host = try folder.load(
            configuration: [
                "faulty.guards-address": #"{"refused": "//forbidden", "hook": "\#(hook)"}"#
            ], observer: recorder)
        let stub = StubTransport(answers: [
            .redirect(to: "http://next.example/a"), .redirect(to: "http://forbidden.example/"),
            .text("caught"),
        ])
        let provider = host.provider(over: stub)
        let error = await pluginError { try await provider.request(.page) }
        #expect(
            error?.description
                == "plugin faulty.guards-address: \(hook) failed: the address is refused")
        #expect(stub.requests.map { $0.url?.host() } == ["test.example", "next.example"])
        #expect(
            recorder.lines.values.map(\.message)
                == ["http://test.example/page", "http://next.example/a"])
    }

    @Test func `a finalize hook checks each hop of a session's request`() async throws {
        let host = try PluginFolder(faulty: "GuardsAddress").load(
            configuration: [
                "faulty.guards-address": #"{"refused": "//forbidden", "hook": "finalize"}"#
            ])
        let stub = StubTransport(answers: [
            .redirect(to: "http://forbidden.example/"), .text("caught"),
        ])
        let session = Session(transport: stub, plugins: host)
        let response = await session.request("http://test.example/")
            .serializingUnserialized().response
        #expect((response.error?.underlyingError as? PluginError)?.hook == .finalize)
        #expect(stub.requests.count == 1)
    }

    @Test func `a redirect hook changes the URL of a hop`() async throws {
        let folder = try PluginFolder(faulty: "GuardsAddress")
        let recorder = ActivityRecorder()
        let host = try folder.load(
            configuration: ["faulty.guards-address": #"{"hook": "redirect"}"#],
            observer: recorder)
        let stub = StubTransport(answers: [
            .redirect(to: "http://next.example/old"), .redirect(to: "/there"), .text("there"),
        ])
        let response = try await host.provider(over: stub).request(.page)
        #expect(try response.mapString() == "there")
        #expect(
            stub.requests.map { $0.url?.absoluteString } == [
                "http://test.example/page", "http://next.example/new", "http://next.example/there",
            ])
        let effects = recorder.activities.values.filter { $0.hook == .redirect }
        #expect(effects.map(\.effects) == [["URL -> http://next.example/new"], []])
    }

    /// Waits until the host has called `count` hooks of the plugin.
    private func asked(_ count: Int64, of host: PluginHost) async throws {
        while try host.call("faulty.never-settles.asked") != .int(count), !Task.isCancelled {
            await Task.yield()
        }
    }

    /// Waits until the host has called the plugin's `cancel` `count` times.
    private func cancelled(_ count: Int64, of host: PluginHost) async throws {
        while try host.call("faulty.never-settles.cancelled") != .int(count), !Task.isCancelled {
            await Task.yield()
        }
    }

    @Test func `a shutdown fails pending hooks`() async throws {
        let host = try PluginFolder(faulty: "NeverSettles").load()
        let stub = StubTransport(answers: [.status(200)])
        let session = Session(transport: stub)
        let interceptor = try #require(host.interceptors.first)
        let answer = Once<Result<HTTPRequest, any Error>>()
        interceptor.adapt(
            HTTPRequest(url: URL(string: "http://test.example/")),
            using: RequestAdapterState(requestID: UUID(), session: session)
        ) { answer.set($0) }
        #expect(await host.shutDown() == [])
        let result = try await answer.value()
        #expect(answer.callCount == 1)
        guard case .failure(let error as PluginError) = result else {
            Issue.record("not a plugin's error: \(result)")
            return
        }
        #expect(error.kind == .closed)
        #expect(error.message == "it is being shut down")
    }

    @Test func `late calls from a plugin's thread during destroy are refused and counted`()
        async throws
    {
        let host = try PluginFolder(faulty: "LateSettle").load()
        let session = Session(transport: StubTransport(answers: [.status(200)]))
        let interceptor = try #require(host.interceptors.first)
        let answer = Once<Result<HTTPRequest, any Error>>()
        interceptor.adapt(
            HTTPRequest(url: URL(string: "http://test.example/")),
            using: RequestAdapterState(requestID: UUID(), session: session)
        ) { answer.set($0) }
        // Calls of a plugin run one after the other, so the hook has returned when this call does.
        #expect(try host.call("faulty.late-settle.started") == 1)
        // The fixture's thread calls the host during `destroy` and aborts unless it is refused.
        #expect(await host.shutDown() == [])
        _ = try await answer.value()
        #expect(answer.callCount == 1)
        #expect(host.plugins.first?.misbehaviour[.staleHandle] == 2)
    }
}

@Suite struct ShutDownTests {
    @Test func `a plugin that does not quiesce in time is abandoned`() async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "SlowQuiesce").load(observer: recorder)
        #expect(await host.shutDown(deadline: .milliseconds(50)) == ["faulty.slow-quiesce"])
        #expect(recorder.misbehaviours.values.map(\.kind) == [.didNotQuiesce])
    }

    @Test func `a shutdown can be ended early, without a violation`() async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "SlowQuiesce").load(observer: recorder)
        async let abandoned = host.shutDown(deadline: .seconds(3600))
        host.abandon()
        #expect(await abandoned == ["faulty.slow-quiesce"])
        #expect(recorder.misbehaviours.values.isEmpty)
    }

    @Test func `a destroy that never returns does not block the shutdown`() async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "SlowDestroy").load(observer: recorder)
        #expect(await host.shutDown(deadline: .milliseconds(50)) == ["faulty.slow-destroy"])
        #expect(recorder.misbehaviours.values.map(\.fact) == ["destroy did not return in time"])
    }

    @Test func `a plugin may complete quiesce later, from its own thread`() async throws {
        let host = try PluginFolder(faulty: "LaterQuiesce").load()
        #expect(await host.shutDown() == [])
        #expect(host.plugins.first?.misbehaviour == [:])
    }

    @Test func `two shutdowns at the same time both complete`() async throws {
        let host = try PluginFolder(samples: ["librequest-id.so", "libpacer.so"]).load()
        async let first = host.shutDown()
        async let second = host.shutDown()
        #expect(await first == [])
        #expect(await second == [])
        #expect(try await offPool { host.shutDownAndWait() } == [])
    }

    @Test func `a released host shuts down its plugins`() async throws {
        let recorder = ActivityRecorder()
        let folder = try PluginFolder(faulty: "SlowQuiesce")
        var options = PluginHost.Options()
        options.observer = recorder
        options.shutDownDeadline = .milliseconds(10)
        _ = try PluginHost.load(directories: [folder.path], options: options)
        #expect(try await recorder.misbehaviours.values(1).map(\.kind) == [.didNotQuiesce])
    }
}
