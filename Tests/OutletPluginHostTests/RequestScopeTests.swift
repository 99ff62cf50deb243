import FoundationEssentials
import OutletTestSupport
import Testing

@testable import OutletPluginHost

@Suite struct RequestScopeTests {
    @Test func `no hook of a call begins after request_done at a shutdown`() async throws {
        let host = try PluginFolder(faulty: "StreamsAndDone").load()
        let plugin = try #require(host.plugins.first)
        let scope = RequestScope(id: UUID())
        #expect(scope.enter(plugin.instance, for: .prepare))
        scope.leave(plugin.instance, wasCalled: true)
        // Calls request_done, because no hook is running.
        #expect(await host.shutDown() == [])
        #expect(plugin.status.hooks["request_done"]?.calls == 1)
        // As a hook does whose call began before the shutdown.
        #expect(!scope.enter(plugin.instance, for: .retry))
        scope.end()
        #expect(plugin.status.hooks["request_done"]?.calls == 1)
    }
}
