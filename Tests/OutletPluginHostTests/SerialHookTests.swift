import COutletPlugin
import Dispatch
import Glibc
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// Hooks of plugins whose hooks may not overlap, and that wait for each other.
@Suite(.timeLimit(.minutes(2))) struct SerialHookTests {
    // Slow, because the time that hooks take and wait is what the test is about.
    private static let slow = """
        #include <unistd.h>
        PREPARE {
            (void)self, (void)call, (void)request, (void)completion;
            sleep(1);
            return OUTLET_OK;
        }
        """

    @Test func `the time limit of a hook does not include the wait for earlier ones`() async throws
    {
        let folder = try PluginFolder()
        try await folder.compile(Self.slow + "\nPREPARES(\"test.slow\")", as: "slow.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder, answerDeadline: .milliseconds(1700))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let errors = await withTaskGroup(of: PluginError?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let response = await session.request("http://a.example/").serializingString()
                        .response
                    return response.error?.underlyingError as? PluginError
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // Usually the second one begins after 1 s and ends after 2 s, and the others cannot begin.
        #expect(errors.contains { $0 == nil } && errors.contains { $0 != nil })
        for error in errors.compactMap(\.self) {
            #expect(error.kind == .timedOut)
            #expect(error.message.contains("could not begin within 1.7 s"), "\(error)")
        }
        #expect(recorder.misbehaviours.values.isEmpty)
        await host.shutDown()
    }

    @Test(arguments: ["OUTLET_F_NONBLOCKING", "OUTLET_F_NONBLOCKING | OUTLET_F_CONCURRENT", "0"])
    func `a hook that blocks although its plugin never does is named`(flags: String) async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            Self.slow + "\nPREPARES_WITH(\"test.slow\", \(flags))", as: "slow.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.request("http://a.example/").serializingString().response
        #expect(response.value == "x")
        let noted = recorder.misbehaviours.values
        #expect(noted.map(\.kind) == (flags == "0" ? [] : [.blocked]))
        if let noted = noted.first {
            #expect(noted.kind.rule == .callNonblocking)
            #expect("\(noted)".contains("OUTLET_F_NONBLOCKING") && noted.hook == .prepare)
            #expect(noted.request?.contains("a.example") == true)
        }
        await host.shutDown()
    }

    // Its cancel is slow, so that whatever does not wait for it comes first.
    private static let pending = """
        #include <unistd.h>
        static void line(outlet_instance *self, const char *text) {
            const outlet_call none = {0};
            self->host->log(self->host, none, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
        }
        static outlet_status pend(outlet_instance *self, outlet_call call, outlet_request request,
                                  outlet_completion completion) {
            (void)self, (void)call, (void)request, (void)completion;
            return OUTLET_PENDING;
        }
        static outlet_status pend_process(outlet_instance *self, outlet_call call,
                                          outlet_request request, outlet_response response,
                                          outlet_completion completion) {
            (void)response;
            return pend(self, call, request, completion);
        }
        static outlet_status pend_piece(outlet_instance *self, outlet_call call,
                                        outlet_response response, uint64_t offset,
                                        outlet_view bytes, outlet_completion completion,
                                        void *data) {
            (void)self, (void)call, (void)response, (void)offset, (void)bytes, (void)completion;
            (void)data;
            return OUTLET_PENDING;
        }
        static void ended(outlet_instance *self, outlet_call call, outlet_status status,
                          void *data) {
            (void)call, (void)status, (void)data;
            line(self, "end");
        }
        static outlet_status watch(outlet_instance *self, outlet_call call, outlet_request request,
                                   outlet_completion completion) {
            const void *table = NULL;
            (void)call, (void)completion;
            self->host->extension(self->host, outlet_text(OUTLET_STREAM_1), &table);
            const outlet_streams *streams = table;
            return streams == NULL ? OUTLET_E_FAILED : streams->watch_response(self->host, request, pend_piece, ended, NULL);
        }
        static void cancelled(outlet_instance *self, outlet_completion completion) {
            const outlet_view none = {NULL, 0};
            if (SETTLES) self->host->done(self->host, completion, OUTLET_OK, none, none);
            usleep(100000);
            line(self, "cancel");
        }
        static void done(outlet_instance *self, outlet_call call, outlet_request request) {
            (void)call, (void)request;
            line(self, "done");
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), HOOK,
                                           .cancel = cancelled, .request_done = done};
        static const outlet_hooks *hooks(outlet_instance *self) {
            (void)self;
            return &table;
        }
        static const outlet_descriptor descriptor = {
            DESCRIPTOR("test.pending"), .flags = OUTLET_F_CONCURRENT, .hooks = hooks};
        OUTLET_MODULE(descriptor)
        """

    @Test(
        arguments: [
            ("adapt", ".adapt = pend"), ("prepare", ".prepare = pend"),
            ("finalize", ".finalize = pend"), ("process", ".process = pend_process"),
            ("stream_piece", ".prepare = watch"),
        ], [(false, false), (true, false), (false, true)])
    func `request_done and the ends of streams follow the cancel of what is pending`(
        hook: (name: String, field: String), end: (isShutDown: Bool, settles: Bool)
    ) async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            #define HOOK \(hook.field)
            #define SETTLES \(end.settles ? 1 : 0)
            \(Self.pending)
            """, as: "pending.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let request = session.request("http://a.example/")
        async let response = request.serializingString().response
        while (host.status.first?.hooks[hook.name]?.calls ?? 0) == 0, !Task.isCancelled {
            await Task.yield()
        }
        if end.isShutDown { await host.shutDown() } else { request.cancel() }
        #expect(await response.error != nil)
        func messages() -> [String] { recorder.lines.values.map(\.message) }
        while !messages().contains("done"), !Task.isCancelled { await Task.yield() }
        #expect(
            messages()
                == (hook.name == "stream_piece"
                    ? ["cancel", "end", "done"]
                    : ["cancel", "done"]))
        await host.shutDown()
    }

    // Its process sees what is left of a refused request, and tries to replace it.
    private static let replacing = """
        #include <stdio.h>
        static outlet_status process(outlet_instance *self, outlet_call call,
                                     outlet_request request, outlet_response response,
                                     outlet_completion completion) {
            outlet_view body = {NULL, 0};
            char text[64];
            (void)call, (void)request, (void)completion;
            self->host->response_body(self->host, response, &body);
            outlet_status status = self->host->response_replace(self->host, response, 200, NULL, 0,
                                                                outlet_text("replaced"));
            snprintf(text, sizeof text, "%d %d", (int)status, (int)body.len);
            self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
            return OUTLET_OK;
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                           .process = process};
        static const outlet_hooks *hooks(outlet_instance *self) {
            (void)self;
            return &table;
        }
        static const outlet_descriptor descriptor = {DESCRIPTOR("test.replacing"), .hooks = hooks};
        OUTLET_MODULE(descriptor)
        """

    private static let refusing = """
        static outlet_status refuse(outlet_instance *self, outlet_call call,
                                    outlet_request request, outlet_completion completion) {
            (void)request, (void)completion;
            self->host->fail(self->host, call, outlet_text("no"), outlet_text("refused"));
            return OUTLET_E_DENIED;
        }
        static outlet_status refuse_outcome(outlet_instance *self, outlet_call call,
                                            outlet_request request, outlet_response response,
                                            outlet_completion completion) {
            (void)call, (void)request, (void)completion;
            return self->host->response_replace_error(self->host, response, outlet_text("no"),
                                                      outlet_text("refused"));
        }
        static outlet_status fail_outcome(outlet_instance *self, outlet_call call,
                                          outlet_request request, outlet_response response,
                                          outlet_completion completion) {
            (void)request, (void)response, (void)completion;
            self->host->fail(self->host, call, outlet_text("no"), outlet_text("failed"));
            return OUTLET_E_FAILED;
        }
        static const outlet_hooks refuses = {.struct_size = sizeof(outlet_hooks), HOOK};
        static const outlet_hooks fails = {.struct_size = sizeof(outlet_hooks),
                                           .process = fail_outcome};
        static const outlet_hooks *hooks_of_first(outlet_instance *self) {
            (void)self, (void)refuse, (void)refuse_outcome;
            return &refuses;
        }
        static const outlet_hooks *hooks_of_second(outlet_instance *self) {
            (void)self;
            return &fails;
        }
        static const outlet_descriptor first = {DESCRIPTOR("test.refusing"),
                                                .hooks = hooks_of_first};
        static const outlet_descriptor second = {DESCRIPTOR("test.failing"),
                                                 .hooks = hooks_of_second};
        const outlet_module *outlet_module_v1(uint32_t minor) {
            static const outlet_descriptor *const list[] = {&first, &second};
            static const outlet_module module = {sizeof module, OUTLET_ABI_MINOR, 0, 2, list};
            (void)minor;
            return &module;
        }
        """

    @Test(arguments: [
        ".adapt = refuse", ".prepare = refuse", ".finalize = refuse", ".process = refuse_outcome",
    ])
    func `no plugin replaces what another one has refused`(hook: String) async throws {
        let folder = try PluginFolder()
        try await folder.compile("#define HOOK \(hook)\n" + Self.refusing, as: "a.so")
        try await folder.compile(Self.replacing, as: "b.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let session = Session(transport: StubTransport { _ in .text("secret") }, plugins: host)
        let response = await session.request("http://a.example/").serializingString().response
        let error = response.error?.underlyingError as? PluginError
        #expect(error?.isRefusal == true && error?.message == "refused", "\(response)")
        let lines = recorder.lines.values.map(\.message)
        #expect(lines.last == "\(OUTLET_E_STATE) 0", "\(lines)")
        #expect(lines.first?.hasPrefix("response_replace was refused: ") == true)
        await host.shutDown()
    }

    @Test func `an interceptor's refusal to retry does not hide the failure from plugins`() {
        struct Own: Error {}
        let lost = TransferError(code: .networkConnectionLost, reason: "gone")
        let error = SessionError.requestRetryFailed(
            retryError: Own(), originalError: SessionError.sessionTaskFailed(error: lost))
        let text = FailureText.of(error)
        #expect(text.code == "networkConnectionLost" && !text.message.contains("Own"))
    }

    @Test func `a function whose result the host has refused in part fails`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            static outlet_status cut(outlet_instance *self, outlet_sink sink) {
                const outlet_view null = {NULL, 5};
                self->host->sink_write(self->host, sink, outlet_text("a part"));
                self->host->sink_write(self->host, sink, null);
                return OUTLET_OK;
            }
            static const outlet_export cut_export = {
                .struct_size = sizeof(outlet_export), .name = OUTLET_TEXT("cut"),
                .signature = OUTLET_TEXT("e(o)"), .function = (outlet_function)cut};
            static const outlet_export *const exports[] = {&cut_export};
            static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks)};
            static const outlet_hooks *hooks(outlet_instance *self) {
                (void)self;
                return &table;
            }
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("test.cut"), .hooks = hooks, .exports = exports, .export_count = 1};
            OUTLET_MODULE(descriptor)
            """, as: "cut.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        let error = #expect(throws: PluginCallError.self) { try host.call("test.cut.cut") }
        guard case .failed(let failure) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "")")
            return
        }
        #expect(failure.message == "a piece that it has written cannot be read")
        let noted = recorder.misbehaviours.values
        #expect(noted.map(\.kind) == [.forbiddenValue])
        #expect(noted.map(\.fact) == ["cut: a piece that it has written cannot be read"])
        await host.shutDown()
    }

    // Calls the caller's function on a thread of its own, and waits for it.
    private static let threaded = """
        #include <pthread.h>
        static void *run(void *function) {
            ((void (*)(void))function)();
            return NULL;
        }
        static void apart(outlet_instance *self, void (*function)(void)) {
            pthread_t thread;
            (void)self;
            if (pthread_create(&thread, NULL, run, (void *)function) == 0)
                pthread_join(thread, NULL);
        }
        static const outlet_export apart_export = {
            .struct_size = sizeof(outlet_export), .name = OUTLET_TEXT("apart"),
            .signature = OUTLET_TEXT("v(f{v()})"), .function = (outlet_function)apart};
        static const outlet_export *const exports[] = {&apart_export};
        static outlet_status reconfigure(outlet_instance *self, outlet_call call,
                                         const outlet_config *config) {
            (void)self, (void)call, (void)config;
            return OUTLET_OK;
        }
        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks)};
        static const outlet_hooks *hooks(outlet_instance *self) {
            (void)self;
            return &table;
        }
        static const outlet_descriptor descriptor = {
            DESCRIPTOR("test.threaded"), .hooks = hooks, .exports = exports, .export_count = 1,
            .reconfigure = reconfigure};
        OUTLET_MODULE(descriptor)
        """

    @Test func `a call that waits for a call which waits for it ends`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(Self.threaded, as: "threaded.so", "-pthread")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder, answerDeadline: .milliseconds(50))
        let plugin = try #require(host.plugins.first)
        let errors = Recorder<any Error>()
        let callback = PluginCallback { _ in
            do {
                _ = try plugin.call("apart", .function(PluginCallback { _ in .nothing }))
            } catch {
                errors.record(error)
            }
            do { try plugin.reconfigure("{}") } catch { errors.record(error) }
            do { try plugin.instance.perform(.didReceive) { _ in } } catch { errors.record(error) }
            return .nothing
        }
        _ = try plugin.call("apart", .function(callback))
        let cause =
            "it could not begin within 0.05 s, because it waits for other calls of the plugin, "
            + "now in call"
        let fact = "did not answer in time: \(cause)"
        #expect(
            errors.values.map { "\($0)" } == [
                "plugin test.threaded: call of 'apart' \(fact)",
                "plugin test.threaded: reconfigure \(fact)",
                "plugin test.threaded: did_receive \(fact)",
            ])
        // No request reports it.
        #expect(recorder.lines.values.map(\.message) == ["did_receive was not called: \(cause)"])
        // Those that gave up do not keep others from the plugin.
        _ = try plugin.call("apart", .function(PluginCallback { _ in .nothing }))
        try plugin.reconfigure("{}")
        await host.shutDown()
    }

    // Reads the body of the request, and logs how much of it there is.
    private static let reading = """
        PREPARE {
            uint8_t piece[64];
            uint64_t count = 0, sum = 0;
            (void)completion;
            do {
                if (self->host->request_body_read(self->host, request, sum, piece, sizeof piece,
                                                  &count) != OUTLET_OK)
                    return OUTLET_E_FAILED;
                sum += count;
            } while (count > 0);
            if (sum == 4)
                self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text("4"), NULL, 0);
            return OUTLET_OK;
        }
        """

    /// A stream that takes longer for its bytes than hooks may take.
    private final class SlowStream: BodyStream {
        private let wasRead = Lock(false)
        let length: Int64? = nil

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let isOver = wasRead.withLock { wasRead in
                defer { wasRead = true }
                return wasRead
            }
            guard !isOver else { return 0 }
            usleep(1_200_000)
            buffer.copyBytes(from: "slow".utf8)
            return 4
        }

        func rewind() throws { wasRead.withLock { $0 = false } }
    }

    @Test(arguments: ["OUTLET_F_NONBLOCKING", "0"])
    func `the time of the program's stream is not the plugin's`(flags: String) async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            Self.reading + "\nPREPARES_WITH(\"test.reading\", \(flags))", as: "reading.so")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder, answerDeadline: .milliseconds(600))
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.upload(SlowStream(), to: "http://a.example/")
            .serializingString().response
        #expect(response.value == "x", "\(response)")
        #expect(recorder.lines.values.map(\.message) == ["4"])
        #expect(recorder.misbehaviours.values.isEmpty)
        let longest = host.status.first?.hooks["prepare"]?.longest
        #expect((longest ?? .max) < 1_200_000_000)
        await host.shutDown()
    }

    /// A stream that uses its reader while it is read.
    private final class NestedStream: BodyStream {
        let reader = Lock<BodyReader?>(nil)
        let seen = Recorder<String>()
        let length: Int64? = nil

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let reader = reader.withLock { $0 }
            switch reader?.read(at: 0, into: buffer) {
            case .unreadable: seen.record("unreadable")
            default: seen.record("other")
            }
            do { try reader?.rewind() } catch { seen.record("\(error)") }
            return 0
        }

        func rewind() throws {}
    }

    @Test func `no read of a stream begins after it was rewound for the transport`() {
        let reader = BodyReader(.stream(SlowStream()), mayReadStream: true)
        #expect(throws: Never.self) { try reader.rewind() }
        var byte = [UInt8](repeating: 0, count: 1)
        let part = byte.withUnsafeMutableBytes { reader.read(at: 0, into: $0) }
        guard case .stale = part else {
            Issue.record("\(part)")
            return
        }
    }

    @Test func `a stream is read without a lock`() throws {
        let stream = NestedStream()
        let reader = BodyReader(.stream(stream), mayReadStream: true)
        stream.reader.withLock { $0 = reader }
        var bytes = [UInt8](repeating: 0, count: 4)
        bytes.withUnsafeMutableBytes { _ = reader.read(at: 0, into: $0) }
        #expect(stream.seen.values == ["unreadable", "the plugin is still reading it"])
        stream.reader.withLock { $0 = nil }
    }

    @Test func `a turn goes to those that still wait for it, in their order`() async throws {
        let turns = TurnQueue()
        let seen = Recorder<Int>()
        try holdTurn(of: turns) {
            turns.run { seen.record(1) }
            let tried = DispatchSemaphore(value: 0)
            try onOwnThread {
                #expect(turns.enter(within: 0) == .tooLate)
                tried.signal()
            }
            tried.wait()
            turns.run { seen.record(2) }
            #expect(seen.values.isEmpty)
        }
        #expect(try await seen.values(2) == [1, 2])
    }

    private func holdTurn(of turns: TurnQueue, _ body: () throws -> Void) rethrows {
        #expect(turns.enter(within: 0) == .begun)
        #expect(turns.isInside && turns.enter(within: .max) == .nested)
        defer { turns.leave() }
        try body()
    }
}
