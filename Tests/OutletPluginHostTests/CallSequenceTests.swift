import FoundationEssentials
import Glibc
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// The durations of hooks that are called one after another.
@Suite struct CallSequenceTests {
    @Test func `a call begins when the one before it has ended, unless other work follows`() {
        var calls = CallSequence()
        let first = calls.begin()
        #expect(first > 5)
        calls.didEnd(at: 5)
        #expect(calls.begin() == 5)
        // A call that has not returned has no end.
        #expect(calls.begin() >= first)
        calls.didEnd(at: 5)
        calls.interrupt()
        #expect(calls.begin() >= first)
    }

    /// Takes 0.5 s for each call of a plugin.
    private final class SlowObserver: PluginObserver {
        func pluginDidAct(_: PluginActivity) { usleep(500_000) }
        func pluginDidLog(_: PluginLogLine) {}
        func pluginDidMisbehave(_: PluginMisbehaviour) {}
    }

    /// A plugin with three hooks, of which `process` does `work`.
    private static func plugin(_ id: String, _ work: String = "") -> String {
        """
        #include <unistd.h>
        static void see_request(outlet_instance *self, outlet_call call, outlet_request request) {
            (void)self, (void)call, (void)request;
        }
        static void see_response(outlet_instance *self, outlet_call call, outlet_request request,
                                 outlet_response response) {
            (void)self, (void)call, (void)request, (void)response;
        }
        static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                                     outlet_response response, outlet_completion completion) {
            (void)self, (void)call, (void)request, (void)response, (void)completion;
            \(work)
            return OUTLET_OK;
        }
        static const outlet_hooks table = {
            .struct_size = sizeof(outlet_hooks), .will_send = see_request,
            .did_receive = see_response, .process = process};
        static const outlet_hooks *hooks(outlet_instance *self) { (void)self; return &table; }
        static const outlet_descriptor descriptor = {
            DESCRIPTOR("\(id)"), .flags = OUTLET_F_NONBLOCKING | OUTLET_F_CONCURRENT,
            .hooks = hooks};
        OUTLET_MODULE(descriptor)
        """
    }

    /// Loads the plugins `test.a`, whose `process` does `work`, and `test.b`, and sends a request.
    ///
    /// - Returns: The longest calls of `test.b`, in nanoseconds.
    private func longest(
        after work: String = "", _ observer: (any PluginObserver)?
    ) async throws -> [UInt64] {
        let folder = try PluginFolder()
        try await folder.compile(Self.plugin("test.a", work), as: "a.so")
        try await folder.compile(Self.plugin("test.b"), as: "b.so")
        let host = try folder.load(observer: observer)
        let session = Session(transport: StubTransport { _ in .text("x") }, plugins: host)
        let response = await session.request("http://a.example/").serializingString().response
        #expect(response.value == "x")
        let status = try #require(host.status.first { $0.id == "test.b" })
        await host.shutDown()
        return ["will_send", "did_receive", "process"].compactMap { status.hooks[$0]?.longest }
    }

    @Test func `the time of an observer is no plugin's time`() async throws {
        let durations = try await longest(SlowObserver())
        #expect(durations.count == 3 && durations.allSatisfy { $0 < 500_000_000 }, "\(durations)")
    }

    @Test func `a slow hook is not charged to the next plugin`() async throws {
        let durations = try await longest(after: "usleep(500000);", nil)
        #expect(durations.count == 3 && durations.allSatisfy { $0 < 500_000_000 }, "\(durations)")
    }
}
