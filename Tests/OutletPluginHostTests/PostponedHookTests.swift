import COutletPlugin
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// Hooks that block, and hooks that have to wait for those that do.
@Suite(.timeLimit(.minutes(patience))) struct PostponedHookTests {
    // Blocks until the test lets it go on; the time limit is what the test is about.
    private static let blocking = """
        #include <stdatomic.h>
        #include <unistd.h>
        static atomic_int is_released;
        static void release(outlet_instance *self) {
            (void)self;
            atomic_store(&is_released, 1);
        }
        static const outlet_export release_export = {
            .struct_size = sizeof(outlet_export), .flags = OUTLET_X_ANY_THREAD,
            .name = OUTLET_TEXT("release"), .signature = OUTLET_TEXT("v()"),
            .function = (outlet_function)release};
        static const outlet_export *const exports[] = {&release_export};
        static outlet_status block(outlet_instance *self, outlet_call call, outlet_request request,
                                   outlet_completion completion) {
            (void)self, (void)call, (void)request, (void)completion;
            for (int ms = 0; ms < 120000 && !atomic_load(&is_released); ++ms) usleep(1000);
            return OUTLET_OK;
        }
        static void see(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
            (void)self, (void)call, (void)request, (void)response;
        }
        static outlet_status process(outlet_instance *self, outlet_call call,
                                     outlet_request request, outlet_response response,
                                     outlet_completion completion) {
            (void)self, (void)call, (void)request, (void)response, (void)completion;
            return OUTLET_OK;
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = block,
                                           .did_receive = see, .process = process};
        static const outlet_hooks *hooks(outlet_instance *self) {
            (void)self;
            return &table;
        }
        static const outlet_descriptor descriptor = {
            DESCRIPTOR("test.blocking"), .flags = FLAGS, .hooks = hooks,
            .exports = exports, .export_count = 1};
        OUTLET_MODULE(descriptor)
        """

    @Test func `hooks that block delay neither each other nor the time limits`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            "#define FLAGS OUTLET_F_CONCURRENT\n" + Self.blocking, as: "blocking.so")
        let host = try folder.load(answerDeadline: .milliseconds(500))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let begin = ContinuousClock.now
        let errors = await withTaskGroup(of: PluginError?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    let response = await session.request("http://a.example/").serializingString()
                        .response
                    return response.error?.underlyingError as? PluginError
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.allSatisfy { $0?.kind == .timedOut })
        // All have begun, and none has returned.
        #expect(host.status.first?.activeCalls == 40)
        // As many threads as processors, and one more each second, take longer.
        #expect(ContinuousClock.now - begin < .seconds(15))
        _ = try host.call("test.blocking.release")
        await host.shutDown()
    }

    @Test func `nothing waits for a hook that has passed its time limit`() async throws {
        let folder = try PluginFolder()
        try await folder.compile("#define FLAGS 0\n" + Self.blocking, as: "blocking.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder, answerDeadline: .seconds(4))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let begin = ContinuousClock.now
        let response = await session.request("http://a.example/").serializingString().response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.hook == .prepare && error?.kind == .timedOut, "\(response)")
        // Neither did_receive nor process of this request, nor prepare of another, waits as long.
        let other = await session.request("http://b.example/").serializingString().response
        let cause =
            "it could not begin, because it waits for other calls of the plugin, now in prepare"
        #expect((other.error?.underlyingError as? PluginError)?.message == cause, "\(other)")
        #expect(ContinuousClock.now - begin < .seconds(7.5))
        _ = try host.call("test.blocking.release")
        while host.status.first?.activeCalls != 0, !Task.isCancelled { await Task.yield() }
        let last = await session.request("http://c.example/").serializingString().response
        #expect(last.value == "x", "\(last)")
        await host.shutDown()
    }

    // Logs the ends that it is called for.
    private static let ends = """
        static void line(outlet_instance *self, const char *text) {
            const outlet_call none = {0};
            self->host->log(self->host, none, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
        }
        static void within(outlet_instance *self, void (*function)(void)) {
            (void)self;
            function();
        }
        static const outlet_export within_export = {
            .struct_size = sizeof(outlet_export), .name = OUTLET_TEXT("within"),
            .signature = OUTLET_TEXT("v(f{v()})"), .function = (outlet_function)within};
        static const outlet_export *const exports[] = {&within_export};
        static outlet_status piece(outlet_instance *self, outlet_call call, uint64_t offset,
                                   outlet_sink sink, outlet_completion completion, void *data) {
            (void)self, (void)call, (void)offset, (void)sink, (void)completion, (void)data;
            return OUTLET_OK;
        }
        static void ended(outlet_instance *self, outlet_call call, outlet_status status,
                          void *data) {
            (void)call, (void)status;
            line(self, data);
        }
        static outlet_status replace(outlet_instance *self, outlet_call call,
                                     outlet_request request, outlet_completion completion) {
            const void *table = NULL;
            (void)call, (void)completion;
            self->host->extension(self->host, outlet_text(OUTLET_STREAM_1), &table);
            const outlet_streams *streams = table;
            if (streams == NULL) return OUTLET_E_FAILED;
            streams->send_body(self->host, request, 0, piece, ended, "first");
            streams->send_body(self->host, request, 0, piece, ended, "second");
            line(self, "hook");
            return OUTLET_OK;
        }
        static outlet_status pass(outlet_instance *self, outlet_call call, outlet_request request,
                                  outlet_completion completion) {
            (void)self, (void)call, (void)request, (void)completion;
            return OUTLET_OK;
        }
        static void done(outlet_instance *self, outlet_call call, outlet_request request) {
            (void)call, (void)request;
            line(self, "done");
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), HOOK};
        static const outlet_hooks *hooks(outlet_instance *self) {
            (void)self;
            return &table;
        }
        static const outlet_descriptor descriptor = {
            DESCRIPTOR("test.ends"), .flags = OUTLET_F_NONBLOCKING, .hooks = hooks,
            .exports = exports, .export_count = 1};
        OUTLET_MODULE(descriptor)
        """

    @Test func `the end of a request does not wait for a call of the plugin`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            "#define HOOK .prepare = pass, .request_done = done\n" + Self.ends, as: "ends.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let (sent, answered) = (Recorder<Int>(), try Gate())
        let session = Session(
            transport: StubTransport { _ in
                sent.record(1)
                _ = answered.isOpen(within: .seconds(60))
                return .text("x")
            }, plugins: host)
        async let response = session.request("http://a.example/").serializingString().response
        try await sent.values(1)
        // A call of the plugin begins while the request is under way, and ends after it.
        let (begun, gate) = (Recorder<Int>(), try Gate())
        let plugin = try #require(host.plugins.first)
        try onOwnThread {
            let callback = PluginCallback { _ in
                begun.record(1)
                _ = gate.isOpen(within: .seconds(60))
                return .nothing
            }
            do { _ = try plugin.call("within", .function(callback)) } catch {
                Issue.record(error)
            }
        }
        try await begun.values(1)
        answered.open()
        #expect(await response.value == "x")
        #expect(recorder.lines.values.isEmpty)
        gate.open()
        try await recorder.lines.values(1)
        await host.shutDown()
        #expect(recorder.lines.values.map(\.message) == ["done"])
        #expect(recorder.misbehaviours.values.isEmpty)
    }

    @Test func `the end of a body that a hook replaces is reported after the hook`() async throws {
        let folder = try PluginFolder()
        try await folder.compile("#define HOOK .adapt = replace\n" + Self.ends, as: "ends.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.request("http://a.example/").serializingString().response
        #expect(response.value == "x")
        await host.shutDown()
        let lines = recorder.lines.values.map(\.message)
        #expect(lines.first == "hook" && lines.sorted() == ["first", "hook", "second"])
        #expect(recorder.misbehaviours.values.isEmpty)
    }

    /// What the hooks of these tests are called for.
    private struct Subject: ServiceSubject {
        let name = "a test"
        func enter() -> Bool { true }
        func leave() {}
    }

    /// A running call of a plugin whose calls must not overlap.
    private struct RunningCall {
        let host: PluginHost
        let instance: PluginInstance
        let gate: Gate

        /// Begins the call, which ends when the gate is opened.
        init(_ folder: PluginFolder) async throws {
            try await folder.compile("#define HOOK 0\n" + PostponedHookTests.ends, as: "ends.so")
            host = try folder.load()
            let plugin = try #require(host.plugins.first)
            instance = plugin.instance
            let (begun, gate) = (Recorder<Int>(), try Gate())
            self.gate = gate
            try onOwnThread {
                let callback = PluginCallback { _ in
                    begun.record(1)
                    _ = gate.isOpen(within: .seconds(60))
                    return .nothing
                }
                do { _ = try plugin.call("within", .function(callback)) } catch {
                    Issue.record(error)
                }
            }
            try await begun.values(1)
        }

        /// Calls a hook with a time limit of 1 s, which starts when the hook begins, or for most hooks
        /// now.
        func ask(
            _ hook: PluginHook, called: Recorder<PluginHook>, answered: Recorder<String>
        ) {
            let token = ServiceHook(
                hook, of: instance, about: Subject(), passing: .init(), limit: 1_000_000_000)
            let answer = instance.ask(
                token, settled: .done,
                .other { _, _, _ in
                    called.record(hook)
                    return OUTLET_OK
                })
            #expect(answer == nil)
            token.whenAnswered { answer in
                if case .failed(let error) = answer {
                    answered.record("\(hook.rawValue): \(error.kind)")
                } else {
                    answered.record(hook.rawValue)
                }
            }
        }
    }

    @Test func `hooks do not wait on the caller's thread, and reports of ends wait without limit`()
        async throws
    {
        let folder = try PluginFolder()
        let running = try await RunningCall(folder)
        let (called, answered) = (Recorder<PluginHook>(), Recorder<String>())
        running.ask(.timerDone, called: called, answered: answered)
        // Returns at once as well, and is given up at its time limit, which is that of the other.
        running.ask(.streamPiece, called: called, answered: answered)
        #expect(try await answered.values(1) == ["stream_piece: timedOut"])
        #expect(called.values.isEmpty)
        running.gate.open()
        try await answered.values(2)
        #expect(answered.values.last == "timer_done" && called.values == [.timerDone])
        #expect(await running.host.shutDown() == [])
    }

    @Test func `a plugin that was abandoned is not called again`() async throws {
        let folder = try PluginFolder()
        let running = try await RunningCall(folder)
        let (called, answered) = (Recorder<PluginHook>(), Recorder<String>())
        running.ask(.timerDone, called: called, answered: answered)
        #expect(await running.host.shutDown(deadline: .milliseconds(10)) == ["test.ends"])
        running.gate.open()
        #expect(try await answered.values(1) == ["timer_done: closed"])
        #expect(called.values.isEmpty)
    }

    @Test func `a turn that takes too long ends the waits for it`() async throws {
        let turns = TurnQueue()
        let seen = Recorder<String>()
        #expect(turns.enter(within: 0) == .begun)
        try onOwnThread { seen.record("\(turns.enter(within: 60_000_000_000))") }
        turns.run { seen.record("called") }
        // Also if the thread begins to wait after this.
        for work in turns.refuseWaits() { work() }
        #expect(try await seen.values(1) == ["tooLate"])
        turns.run({ seen.record("refusable") }, refused: { seen.record("refused") })
        for work in turns.refuseWaits() { work() }
        #expect(try await seen.values(2) == ["tooLate", "refused"])
        turns.leave()
        #expect(try await seen.values(3) == ["tooLate", "refused", "called"])
        turns.run { seen.record("next") }
        #expect(try await seen.values(4).last == "next")
    }
}
