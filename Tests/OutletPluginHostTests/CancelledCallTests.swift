import COutletPlugin
import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// Which hooks the host calls for a call that is cancelled or has ended.
///
/// Cancellation races with the hooks. Each test makes the calls of one outcome in a fixed order.
@Suite(.timeLimit(.minutes(2))) struct CancelledCallTests {
    private func instance() throws -> (host: PluginHost, instance: PluginInstance) {
        let host = try PluginFolder(faulty: "Keeps").load()
        return (host, try #require(host.plugins.first).instance)
    }

    @Test func `after a cancel only did_receive is called, until the call ends`() throws {
        let (host, instance) = try instance()
        let scope = RequestScope(id: nil)
        #expect(scope.enter(instance, for: .adapt))
        scope.leave(instance, wasCalled: true)
        scope.beginReportingCancel()
        for hook in [PluginHook.adapt, .prepare, .finalize, .willSend, .redirect, .retry, .process]
        {
            #expect(!scope.enter(instance, for: hook))
        }
        #expect(scope.enter(instance, for: .didReceive))
        scope.leave(instance, wasCalled: true)
        scope.end()
        #expect(!scope.enter(instance, for: .didReceive))
        withExtendedLifetime(host) {}
    }

    @Test func `a shutdown ends a call without did_receive, unless the call was cancelled`() throws
    {
        let (host, instance) = try instance()
        let (scope, cancelled) = (RequestScope(id: nil), RequestScope(id: nil))
        for scope in [scope, cancelled] {
            #expect(scope.enter(instance, for: .adapt))
            scope.leave(instance, wasCalled: true)
        }
        cancelled.beginReportingCancel()
        #expect(instance.hold())
        // As a shutdown that has not gone through the calls yet.
        _ = instance.owner.withLifecycle { $0.stop() }
        #expect(!scope.enter(instance, for: .didReceive))
        #expect(cancelled.enter(instance, for: .didReceive))
        cancelled.leave(instance, wasCalled: true)
        for scope in [scope, cancelled] { scope.end() }
        instance.endHold()
        withExtendedLifetime(host) {}
    }

    @Test func `no hook begins for a call whose pending hook a shutdown has cancelled`()
        async throws
    {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            static outlet_status say(outlet_instance *self, const char *name) {
                self->host->log(self->host, (outlet_call){0}, OUTLET_LOG_INFO, outlet_text(name),
                                NULL, 0);
                return OUTLET_OK;
            }
            static outlet_status adapt(outlet_instance *self, outlet_call call,
                                       outlet_request request, outlet_completion completion) {
                (void)call, (void)request, (void)completion;
                say(self, "adapt");
                return OUTLET_PENDING;
            }
            static outlet_status retry(outlet_instance *self, outlet_call call,
                                       outlet_request request, outlet_response response,
                                       uint32_t attempt, outlet_completion completion) {
                (void)call, (void)request, (void)response, (void)attempt, (void)completion;
                return say(self, "retry");
            }
            static void receive(outlet_instance *self, outlet_call call, outlet_request request,
                                outlet_response response) {
                (void)call, (void)request, (void)response;
                say(self, "did_receive");
            }
            static outlet_status process(outlet_instance *self, outlet_call call,
                                         outlet_request request, outlet_response response,
                                         outlet_completion completion) {
                (void)call, (void)request, (void)response, (void)completion;
                return say(self, "process");
            }
            static void done(outlet_instance *self, outlet_call call, outlet_request request) {
                (void)call, (void)request;
                say(self, "request_done");
            }
            static const outlet_hooks table = {
                .struct_size = sizeof(outlet_hooks), .adapt = adapt, .retry = retry,
                .did_receive = receive, .process = process, .request_done = done};
            static const outlet_hooks *hooks(outlet_instance *self) { (void)self; return &table; }
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("test.pending"), .flags = OUTLET_F_CONCURRENT, .hooks = hooks};
            OUTLET_MODULE(descriptor)
            """, as: "pending.so")
        for _ in 0..<20 {
            let recorder = ActivityRecorder()
            let host = try folder.load(observer: recorder)
            let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
            async let response = session.request("http://test.example/").serializingString()
                .response
            _ = try await recorder.lines.values(1)
            #expect(await host.shutDown() == [])
            #expect(await response.error != nil)
            #expect(recorder.lines.values.map(\.message) == ["adapt", "request_done"])
        }
    }

    @Test func `the end of an operation that was slow to register cancels the one after it`() {
        let cancelled = Lock([Int]())
        let once = CancelledOnce()
        let (first, second) = (once.begin(), once.begin())
        once.keep({ cancelled.withLock { $0.append(2) } }, of: second)
        once.keep({ cancelled.withLock { $0.append(1) } }, of: first)
        once.cancel()
        #expect(cancelled.withLock { $0 } == [2])
    }

    @Test func `a hook that begins while its plugin shuts down is followed by request_done`()
        async throws
    {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "StreamsAndDone").load(observer: recorder)
        let instance = try #require(host.plugins.first).instance
        // As a hook that has been let in, and not begun.
        #expect(instance.hold())
        async let end = host.shutDown()
        while instance.isServing, !Task.isCancelled { await Task.yield() }
        let scope = RequestScope(id: nil)
        #expect(scope.enter(instance, for: .prepare))
        scope.leave(instance, wasCalled: true)
        #expect(!scope.enter(instance, for: .prepare))
        instance.endHold()
        #expect(await end == [])
        #expect(recorder.lines.values.map(\.message) == ["1 done, 1 early"])
    }

    @Test func `request_done does not follow a hook that it was too late to call`() async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "StreamsAndDone").load(observer: recorder)
        let instance = try #require(host.plugins.first).instance
        for hooks in [[false], [true, false], [false, true]] {
            let scope = RequestScope(id: nil)
            for wasCalled in hooks {
                #expect(scope.enter(instance, for: .prepare))
                scope.leave(instance, wasCalled: wasCalled)
            }
            scope.end()
        }
        #expect(await host.shutDown() == [])
        #expect(recorder.lines.values.map(\.message) == ["2 done, 2 early"])
    }

    @Test func `all plugins receive the outcome of a cancelled call before they shut down`()
        async throws
    {
        let folder = try PluginFolder(faulty: "Keeps")
        try folder.directory.write(
            #"{"plugins": {"faulty.keeps": {"config": {"at": "none"}, "#
                + #""instances": [{"name": "a"}, {"name": "b"}]}}}"#, to: "plugins.json")
        let observer = try PausingObserver()
        let host = try folder.load(observer: observer)
        let session = Session(transport: StubTransport { _ in .silence }, plugins: host)
        let request = session.request("http://test.example/")
        async let response = request.serializingData().response
        while !observer.hooks.values.contains("b will_send"), !Task.isCancelled {
            await Task.yield()
        }
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        // Between the did_receive of the first plugin and that of the second.
        try await observer.isPaused.opened()
        async let end = host.shutDown()
        for plugin in host.plugins {
            while plugin.instance.isServing, !Task.isCancelled { await Task.yield() }
        }
        observer.mayContinue.open()
        #expect(await end == [])
        // The observer may be told of a hook after the plugin has ended.
        for last in ["a request_done", "b request_done"] {
            while !observer.hooks.values.contains(last), !Task.isCancelled { await Task.yield() }
        }
        let hooks = observer.hooks.values
        #expect(
            hooks.filter { $0.hasPrefix("a ") }.suffix(2) == ["a did_receive", "a request_done"])
        #expect(
            hooks.filter { $0.hasPrefix("b ") }.suffix(2) == ["b did_receive", "b request_done"])
        withExtendedLifetime(session) {}
    }

    @Test func `a hook that was given up before it is called belongs to no call`() throws {
        let host = try PluginFolder(faulty: "StreamsAndDone").load()
        let instance = try #require(host.plugins.first).instance
        let token = adapt(instance)
        #expect(token.begin(on: UInt(pthread_self())))
        _ = token.seal()
        #expect(!token.enter())
        withExtendedLifetime(host) {}
    }

    @Test func `a queued hook is not called after its completion was abandoned`() throws {
        let (host, instance) = try instance()
        let token = Completion(
            hook: .retry, instance: instance, limit: 1_000_000_000)
        token.abandon()
        // A worker thread that reaches the waiting call now gets `false` and skips it.
        #expect(!token.begin(on: UInt(pthread_self())))
        withExtendedLifetime(host) {}
    }

    @Test func `a hook may use its handles while its call is abandoned and until it settles`()
        throws
    {
        let (host, instance) = try instance()
        let token = Completion(
            hook: .adapt, instance: instance, limit: 1_000_000_000)
        let id = token.id
        token.keep()
        #expect(token.begin(on: UInt(pthread_self())))
        #expect(token.call())
        // Suspended: stops between the end of the call and the entry in the instance's list.
        let queue = DispatchQueue(label: "outlet.test.abandon")
        queue.suspend()
        token.abandon(finishingBy: { queue.async(execute: $0) })
        #expect(instance.mayNotKnow(isStale: id | 1))
        queue.resume()
        queue.sync {}
        #expect(instance.mayNotKnow(isStale: id | 1))
        // The plugin's late answer ends the handles for it too.
        #expect(token.settle(.done) == OUTLET_E_STALE)
        #expect(!instance.mayNotKnow(isStale: id | 1))
        #expect(instance.owner.misbehaviour.isEmpty)
        withExtendedLifetime(host) {}
    }

    private func adapt(_ instance: PluginInstance) -> RequestHook {
        RequestHook(
            .init(
                hook: .adapt, request: HTTPRequest(url: URL(string: "http://a.test/")),
                access: .answer, limit: 1_000_000_000),
            of: instance)
    }

    @Test func `the handles of a hook are found on any thread while it runs, and end with it`()
        throws
    {
        let (host, instance) = try instance()
        let token = adapt(instance)
        func isFound() -> Bool {
            HandleTable.shared.find(token.id | 1, as: RequestHandle.self) != nil
        }
        #expect(!isFound())
        var call = ActiveCall(.adapt, passing: token)
        try instance.perform(&call, about: nil) { _, _ in
            #expect(token.begin(on: UInt(pthread_self())))
            #expect(token.call())
            #expect(isFound())
            #expect(HandleTable.shared.completion(of: token.id + 4) == nil)
        }
        #expect(!isFound())
        withExtendedLifetime(host) {}
    }

    @Test func `a request that the running hook has used before is refused when it should be`()
        throws
    {
        let (host, instance) = try instance()
        let own = try #require(HostTables.make(number: instance.owner.number))
        let owner = PluginOwner(id: "other.test", observer: nil)
        let other = try #require(HostTables.make(number: owner.register()))
        let token = adapt(instance)
        func read(_ table: UnsafePointer<outlet_host>, _ id: UInt64) -> outlet_status {
            var view = outlet_view()
            return table.pointee.request_method(table, outlet_request(id: id), &view)
        }
        var call = ActiveCall(.adapt, passing: token)
        try instance.perform(&call, about: nil) { _, call in
            #expect(token.begin(on: UInt(pthread_self())))
            #expect(token.call())
            CurrentCall.running(call, of: instance.owner) {
                #expect(read(own, token.id | 1) == OUTLET_OK)
                #expect(read(own, token.id | 1) == OUTLET_OK)
                // By another plugin, which the first one has called.
                #expect(read(other, token.id | 1) == OUTLET_E_STALE)
                #expect(owner.misbehaviour == [.foreignHandle: 1])
                #expect(read(own, token.id | 3) == OUTLET_E_STALE)
                #expect(instance.owner.misbehaviour == [.staleHandle: 1])
                var inner = ActiveCall(.adapt, passing: adapt(instance))
                CurrentCall.running(&inner, of: instance.owner) {
                    #expect(read(own, token.id | 1) == OUTLET_OK)
                }
                token.cancel(token.tooLate)
                #expect(read(own, token.id | 1) == OUTLET_E_STALE)
            }
        }
        // After the cancel, the plugin may not have known yet.
        #expect(instance.owner.misbehaviour == [.staleHandle: 1])
        withExtendedLifetime(host) {}
    }

    @Test func `a hook that has ended holds neither its request nor its outcome`() throws {
        let (host, instance) = try instance()
        weak var released: Held?
        let token = { () -> RequestHook in
            let held = Held()
            released = held
            var request = HTTPRequest(url: nil)
            request.context[Held.Key.self] = held
            return RequestHook(
                .init(
                    hook: .process, request: request,
                    outcome: .call(.failure(Holding(held: held)), isMutable: true),
                    limit: 1_000_000_000),
                of: instance)
        }()
        #expect(token.argument(.request) is RequestHandle)
        #expect(released != nil)
        _ = token.sealResponse()
        #expect(released == nil)
        withExtendedLifetime((host, token)) {}
    }

    @Test func `the description of an error is read while other threads may end the hook`() throws {
        let (host, instance) = try instance()
        let ended = Lock<DispatchTimeoutResult?>(nil)
        let hook = Lock<RequestHook?>(nil)
        let error = Described {
            let hook = hook.withLock { $0 }
            let over = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                _ = hook?.seal()
                over.signal()
            }
            let result = over.wait(timeout: .now() + .seconds(10))
            ended.withLock { $0 = result }
        }
        let token = RequestHook(
            .init(
                hook: .didReceive, request: HTTPRequest(url: nil),
                outcome: .call(.failure(error), isMutable: true), limit: 1_000_000_000),
            of: instance)
        hook.withLock { $0 = token }
        let response = try #require(token.argument(.response) as? ResponseHandle)
        hook.withLock { $0 = nil }
        #expect(ended.withLock { $0 } == .success)
        // The hook had ended before its handle was made.
        #expect(response.replace(.failure(PluginReason(message: "late"))) == OUTLET_E_STALE)
        withExtendedLifetime(host) {}
    }
}

/// Records the hooks of the instances `a` and `b`, and pauses after the `did_receive` of `a`.
private final class PausingObserver: PluginObserver {
    let hooks = Recorder<String>()
    let isPaused: Gate
    let mayContinue: Gate

    init() throws { (isPaused, mayContinue) = (try Gate(), try Gate()) }

    func pluginDidAct(_ activity: PluginActivity) {
        hooks.record("\(activity.plugin.suffix(1)) \(activity.hook.rawValue)")
        guard activity.hook == .didReceive, activity.plugin.hasSuffix("a") else { return }
        isPaused.open()
        _ = mayContinue.isOpen(within: .seconds(60))
    }
}

/// An object that a request and an outcome hold.
private final class Held: Sendable {
    enum Key: RequestContextKey { typealias Value = Held }
}

private struct Holding: Error { let held: Held }

/// An error whose description is made by a closure.
private struct Described: Error, CustomStringConvertible {
    let body: @Sendable () -> Void
    var description: String {
        body()
        return "described"
    }
}
