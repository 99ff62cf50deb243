import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct ProviderBridgeTests {
    @Test func `a C plugin adds its header, and the observer receives the change`() async throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let recorder = ActivityRecorder()
        let host = try folder.load(
            configuration: ["dev.outlet.request-id": #"{"header": "X-Trace", "prefix": "t-"}"#],
            observer: recorder)
        let stub = StubTransport(answers: [.text("hello")])
        let response = try await host.provider(over: stub).request(.page)
        #expect(response.statusCode == 200)
        let id = try #require(stub.requests.first?.headers["X-Trace"])
        #expect(id.hasPrefix("t-"))
        let activity = try #require(recorder.activities.values.first)
        #expect(activity.plugin == "dev.outlet.request-id")
        #expect(activity.hook == .prepare)
        #expect(activity.effects == ["+ X-Trace: \(id)"])
        #expect(id == "t-\(activity.requestID ?? "")")
        #expect(activity.failure == nil)
    }

    @Test func `a header that the request already has is kept`() async throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let host = try folder.load(
            configuration: ["dev.outlet.request-id": #"{"header": "X-Answer"}"#])
        let stub = StubTransport(answers: [.status(200)])
        _ = try await host.provider(over: stub).request(.answered("mine"))
        #expect(stub.requests.first?.headers.values(for: "X-Answer") == ["mine"])
    }

    @Test(arguments: ["prepare", "process", "adapt"])
    func `a failing hook fails the request with the plugin's message`(hook: String) async throws {
        let folder = try PluginFolder(faulty: "FailingHooks")
        let host = try folder.load(
            configuration: ["faulty.failing-hooks": #"{"fail": {"hook": "\#(hook)"}}"#])
        let stub = StubTransport(answers: [.status(200)])
        let provider = host.provider(over: stub)
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.hook.rawValue == hook)
        #expect(
            error?.description
                == "plugin faulty.failing-hooks: \(hook) failed: the quota is used up")
        #expect(stub.requests.count == (hook == "process" ? 1 : 0))
    }

    @Test func `a plugin without failing hooks does not fail the request`() async throws {
        let folder = try PluginFolder(faulty: "FailingHooks")
        let provider = try folder.load().provider(over: StubTransport(answers: [.status(204)]))
        #expect(try await provider.request(.page).statusCode == 204)
    }

    @Test func `a plugin's response replaces the network`() async throws {
        let folder = try PluginFolder(faulty: "Obliging")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let stub = StubTransport(answers: [.status(500)])
        let response = try await host.provider(over: stub).request(.answered("from here"))
        #expect(response.statusCode == 203)
        #expect(try response.mapString() == "from here")
        #expect(response.response?.mimeType == "text/plain")
        #expect(stub.requests.isEmpty)
        #expect(recorder.activities.values.first?.effects == ["answered 203, 9 bytes"])
        #expect(recorder.lines.values.map(\.message) == ["status 203"])
    }

    @Test func `a plugin's response has a transfer with state and request`()
        async throws
    {
        let host = try PluginFolder(faulty: "Obliging").load()
        let ended = Once<(TransferState, HTTPRequest?)>()
        let monitor = ClosureEventMonitor()
        monitor.taskDidComplete = { _, task, _ in ended.set((task.state, task.currentRequest)) }
        let provider = host.provider(
            over: StubTransport(answers: [.status(500)]), eventMonitors: [monitor])
        let response = try await provider.request(.answered("from here"))
        let (state, request) = try await ended.value()
        #expect(state == .completed)
        #expect(request?.url == response.request?.url)
    }

    @Test func `a plugin's response may have an empty body`() async throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let stub = StubTransport(answers: [.status(500)])
        let response = try await host.provider(over: stub).request(.answered(""))
        #expect(response.statusCode == 203)
        #expect(response.data.isEmpty)
    }

    @Test func `a plugin replaces a failure with a response`() async throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let stub = StubTransport(answers: [
            .failure(TransferError(code: .timedOut, reason: "no answer within 1 s"))
        ])
        let response = try await host.provider(over: stub).request(.page)
        #expect(response.statusCode == 299)
        #expect(try response.mapString() == "from the cache")
    }

    @Test func `a plugin replaces a response with a failure`() async throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let provider = host.provider(over: StubTransport(answers: [.status(418)]))
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.description == "plugin faulty.obliging: process failed (teapot): no coffee")
    }

    @Test func `hooks of one instance never overlap`() async throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let provider = host.provider(over: StubTransport(answers: [.status(200)]))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try? await provider.request(.page) } }
        }
        #expect(try host.call("faulty.obliging.overlapped") == 0)
    }

    @Test func `wrong handles and values are refused, counted and change nothing`() async throws {
        let folder = try PluginFolder(faulty: "WrongHandles")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let stub = StubTransport(answers: [.status(200)])
        let provider = host.provider(over: stub)
        // The fixture aborts the process if a call of the host returns a wrong status.
        _ = try await provider.request(.page)
        _ = try await provider.request(.page)
        #expect(stub.requests.allSatisfy { $0.headers["A"] == nil })
        // In the second request: the handle of the first one.
        #expect(host.plugins.first?.misbehaviour[.staleHandle] == 1)
        #expect(recorder.misbehaviours.values.last { $0.kind == .staleHandle }?.count == 1)
        // In both requests: the handle 0, a handle that was never issued, another instance's, that of
        // the call, used as a request's, and a copy of the host table, and none.
        #expect(host.plugins.first?.misbehaviour[.foreignHandle] == 12)
        #expect(host.plugins.first?.misbehaviour[.unaskedQuiesced] == 2)
    }

    @Test func `the handles of an observing hook cannot be used on another thread`() async throws {
        let folder = try PluginFolder(faulty: "WrongThread")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let stub = StubTransport(answers: [.status(200)])
        // The fixture aborts the process if a call of the host returns a wrong status.
        _ = try await host.provider(over: stub).request(.page)
        // A hook that may answer later may write on any thread, even before it has returned.
        #expect(stub.requests.map { $0.headers["X-Thread"] } == ["1"])
        #expect(host.plugins.first?.misbehaviour == [.wrongThread: 4])
        #expect(recorder.misbehaviours.values.allSatisfy { $0.kind.rule == .handleThread })
    }

    @Test func `what a function and serialize are passed cannot be used on another thread`()
        throws
    {
        let host = try PluginFolder(faulty: "WrongThread").load()
        // The fixture aborts the process if a call of the host returns a wrong status.
        #expect(try host.call("faulty.wrong-thread.write") == .text("from the call"))
        let serializer = try #require(host.serializer("faulty.wrong-thread"))
        let made = try serializer.serialize(request: nil, response: nil, data: nil, error: nil)
        #expect(made == PluginSerialized(type: "text", data: Data("from the call".utf8)))
        #expect(host.plugins.first?.misbehaviour == [.wrongThread: 4])
    }

    @Test func `a request after the shutdown of the host fails with a plugin error`() async throws {
        let host = try PluginFolder(samples: ["librequest-id.so"]).load()
        let stub = StubTransport(answers: [.status(200)])
        let provider = host.provider(over: stub)
        #expect(await host.shutDown() == [])
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.kind == .closed)
        #expect(stub.requests.isEmpty)
    }
}
