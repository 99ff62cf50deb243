import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// The circuit breaker of plugins that fail too often, and requests while it is open.
@Suite(.timeLimit(.minutes(2))) struct BreakerTests {
    // MARK: Circuit breaker

    private let second: UInt64 = 1_000_000_000

    private func breaker(_ faults: Int) -> CircuitBreaker {
        CircuitBreaker(.init(maximumFaults: faults, window: 60 * second, pause: 30 * second))
    }

    @Test func `the breaker trips on faults within the window, not on older ones`() {
        var breaker = breaker(3)
        let times = [1, 2, 63, 64].map { breaker.fault(at: $0 * second) }
        #expect(times == [false, false, false, false])
        #expect(breaker.admits(at: 64 * second))
        let last = breaker.fault(at: 65 * second)
        #expect(last)
        #expect(!breaker.admits(at: 94 * second) && breaker.admits(at: 95 * second))
    }

    @Test
    func `after the pause one fault trips the breaker again, unless a full window has passed`() {
        var once = breaker(3)
        for time in 1...3 { _ = once.fault(at: UInt64(time) * second) }
        var late = once
        let again = once.fault(at: 40 * second)
        #expect(again && !once.admits(at: 69 * second))
        let tooLate = late.fault(at: 100 * second)
        #expect(!tooLate && late.admits(at: 100 * second))
    }

    @Test func `without a maximum the breaker never trips`() {
        var breaker = breaker(0)
        let tripped = (0..<1000).map { breaker.fault(at: UInt64($0)) }
        #expect(!tripped.contains(true) && breaker.admits(at: 1000))
    }

    // MARK: Plugins

    /// Loads a plugin whose hooks return `OUTLET_PENDING` without settling it by the deadline.
    private func host(
        failsOpen: Bool, maximumFaults: Int, observer: ActivityRecorder
    ) throws -> PluginHost {
        let folder = try PluginFolder(faulty: "NeverSettles")
        var options = PluginHost.Options()
        options.answerDeadline = .milliseconds(200)
        options.maximumFaults = maximumFaults
        options.restDuration = .seconds(3600)
        options.observer = observer
        options.settings["faulty.never-settles"] = PluginSettings()
        options.settings["faulty.never-settles"]?.failsOpen = failsOpen
        return try PluginHost.load(directories: [folder.path], options: options)
    }

    @Test func `an endless pause and an endless deadline are no times in the past`() async throws {
        var breaker = CircuitBreaker(.init(maximumFaults: 1, window: .max, pause: .max))
        #expect(breaker.fault(at: 5) && !breaker.admits(at: .max - 1))
        let folder = try PluginFolder(faulty: "Wire")
        var options = PluginHost.Options()
        options.answerDeadline = .seconds(Int64.max)
        options.configuration = ["faulty.wire": #"{"finalize": "sign"}"#]
        let host = try PluginHost.load(directories: [folder.path], options: options)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.request("http://a.example/").serializingString().response
        #expect(response.value == "x")
        withExtendedLifetime(session) {}
    }

    @Test func `a plugin with too many faults is no longer called, and requests fail at once`()
        async throws
    {
        let recorder = ActivityRecorder()
        let host = try host(failsOpen: false, maximumFaults: 4, observer: recorder)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        var kinds: [PluginError.Kind?] = []
        for _ in 0..<3 {
            let response = await session.request("http://a.example/").serializingString().response
            kinds.append((response.error?.underlyingError as? PluginError)?.kind)
        }
        // Each request calls several hooks, so the first two requests cause the four faults.
        #expect(kinds.first == .timedOut && kinds.last == .tripped)
        #expect(stub.requests.isEmpty)
        let status = try #require(host.status.first)
        #expect(status.isTripped)
        #expect(status.faults == ["neverSettled": 4])
        #expect(
            recorder.lines.values.contains {
                $0.level == .error && $0.message.contains("is suspended for 3600.0 s")
            })
        #expect(await host.shutDown() == [])
    }

    @Test func `a deadline in the settings replaces the default deadline of its hook`() async throws
    {
        for (deadlines, hook) in [("{}", nil), (#"{"finalize": 0.2}"#, PluginHook.finalize)] {
            let folder = try PluginFolder(faulty: "Wire")
            try folder.directory.write(
                #"{"plugins": {"faulty.wire": {"config": {"finalize": "pend"}, "deadlines": "#
                    + "\(deadlines)}}}", to: "plugins.json")
            var options = PluginHost.Options()
            options.answerDeadline = .milliseconds(400)
            let host = try PluginHost.load(directories: [folder.path], options: options)
            let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
            let response = await session.request("http://a.example/").serializingString().response
            let error = try #require(response.error?.underlyingError as? PluginError)
            #expect(error.hook == .finalize && error.kind == .timedOut)
            #expect(error.message.contains(hook == nil ? "within 0.4 s" : "within 0.2 s"))
            withExtendedLifetime(session) {}
        }
    }

    @Test(arguments: [#"{"create": 1}"#, #"{"adapt": 0}"#, #"{"adapt": "1"}"#, "3"])
    func `an invalid deadline or an unknown hook name is refused`(deadlines: String) throws {
        let folder = try PluginFolder(faulty: "Wire")
        try folder.directory.write(
            #"{"plugins": {"faulty.wire": {"deadlines": \#(deadlines)}}}"#, to: "plugins.json")
        #expect(throws: PluginDirectoryError.self) {
            try PluginHost.load(directories: [folder.path])
        }
    }

    @Test(arguments: [
        ("create", Duration.seconds(1), "no hook with a deadline"),
        ("adapt", .zero, "the deadline is not above 0"),
        ("adapt", .seconds(-1), "the deadline is not above 0"),
    ])
    func `an invalid deadline of the program is refused`(
        hook: String, deadline: Duration, fact: String
    ) throws {
        let host = try PluginFolder(faulty: "Wire").load {
            $0.settings["faulty.wire", default: PluginSettings()].deadlines = [hook: deadline]
        }
        let failure = try #require(host.failures.first.map { "\($0)" })
        #expect(failure.hasSuffix("the program: /deadlines/\(hook): \(fact)"), "\(failure)")
    }

    @Test func `requests continue without a tripped plugin that fails open`() async throws {
        let recorder = ActivityRecorder()
        let host = try host(failsOpen: true, maximumFaults: 2, observer: recorder)
        let stub = StubTransport { _ in .text("x") }
        let session = Session(transport: stub, plugins: host)
        for _ in 0..<3 {
            let response = await session.request("http://a.example/").serializingString().response
            #expect(response.value == "x")
        }
        #expect(host.status.first?.hooks["adapt"]?.calls == 2)
        // The third request skips the plugin, which is reported to the observer as well.
        #expect(recorder.activities.values.filter { $0.failure != nil }.count == 3)
        withExtendedLifetime(session) {}
    }

    @Test func `a request fails with its own error if a plugin that fails open cannot retry it`()
        async throws
    {
        let recorder = ActivityRecorder()
        let host = try host(failsOpen: true, maximumFaults: 0, observer: recorder)
        let stub = StubTransport { _ in
            .failure(TransferError(code: .networkConnectionLost, reason: "gone"))
        }
        let session = Session(transport: stub, plugins: host)
        // Without a serializer, whose failure would be asked about again.
        let response = await withCheckedContinuation { continuation in
            session.request("http://a.example/").response { continuation.resume(returning: $0) }
        }
        #expect(stub.requests.count == 1)
        #expect(response.error != nil && !(response.error?.underlyingError is PluginError))
        let lines = recorder.lines.values.filter { $0.level == .warning }
        #expect(
            lines.map(\.message) == [
                "adapt failed, and the request continues without it: its completion was not "
                    + "settled within 0.2 s",
                "retry failed, and the request continues without it: its completion was not "
                    + "settled within 0.2 s",
            ])
        #expect(lines.allSatisfy { $0.facts.map(\.value) == ["GET http://a.example/"] })
        withExtendedLifetime(session) {}
    }

    @Test func `a refusal fails the request even if the plugin fails open`() async throws {
        let folder = try PluginFolder(faulty: "Wire")
        for (finalize, isRefusal) in [("fail", true), ("read", false)] {
            let host = try folder.load(
                configuration: ["faulty.wire": #"{"finalize": "\#(finalize)"}"#], failsOpen: true)
            let stub = StubTransport { _ in .text("x") }
            let session = Session(transport: stub, plugins: host)
            var request = HTTPRequest(url: URL(string: "http://a.example/"), method: .post)
            request.body = .file(path: "/nonexistent/body")
            let response = await session.request(request).serializingString().response
            let error = response.error?.underlyingError as? PluginError
            #expect((error?.isRefusal == true) == isRefusal, "\(finalize)")
            #expect(stub.requests.isEmpty == isRefusal, "\(finalize)")
            withExtendedLifetime(session) {}
        }
    }

    @Test func `the status of a plugin is available as JSON`() async throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        for _ in 0..<2 {
            _ = await session.request("http://a.example/").serializingString().response
        }
        let status = try #require(host.status.first)
        #expect(status.hooks["prepare"]?.calls == 2 && status.hooks["did_receive"]?.calls == 2)
        #expect(status.faults == [:] && !status.isTripped && status.activeCalls == 0)
        let data = try JSONEncoder().encode(host.status)
        #expect(try JSONDecoder().decode([PluginStatus].self, from: data) == host.status)
        let longest = try #require(status.hooks["prepare"]?.longest)
        #expect(longest <= status.hooks["prepare"]?.duration ?? 0)
        withExtendedLifetime(session) {}
    }
}
