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
            for _ in 0..<4 {
                group.addTask {
                    let response = await session.request("http://a.example/").serializingString()
                        .response
                    return response.error?.underlyingError as? PluginError
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // Usually the second one begins after 1 s and ends after 2 s, and the others cannot begin.
        #expect(errors.contains { $0 == nil })
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
}
