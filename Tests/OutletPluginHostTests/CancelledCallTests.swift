import COutletPlugin
import OutletTestSupport
import Testing

@testable import OutletPluginHost

/// What is asked of a plugin for a call that was cancelled, or is over; each race as it comes out.
@Suite struct CancelledCallTests {
    private func instance() throws -> (host: PluginHost, instance: PluginInstance) {
        let host = try PluginFolder(faulty: "Keeps").load()
        return (host, try #require(host.plugins.first).instance)
    }

    @Test func `of a cancelled call only the outcome is reported`() throws {
        let (host, instance) = try instance()
        let scope = RequestScope(id: nil)
        #expect(scope.enter(instance, for: .adapt))
        scope.leave(instance)
        scope.cancel()
        for hook in [PluginHook.adapt, .prepare, .finalize, .willSend, .redirect, .retry, .process]
        {
            #expect(!scope.enter(instance, for: hook))
        }
        #expect(scope.enter(instance, for: .didReceive))
        scope.leave(instance)
        scope.end()
        #expect(!scope.enter(instance, for: .didReceive))
        withExtendedLifetime(host) {}
    }

    @Test func `a hook that waits for its turn is not called once nobody waits for it`() throws {
        let (host, instance) = try instance()
        let token = Completion(
            hook: .retry, instance: instance, passing: .init(), limit: 1_000_000_000)
        _ = token.register()
        token.abandon()
        // At once, on this thread: a worker that comes to it now finds it withdrawn.
        #expect(!token.begin())
        withExtendedLifetime(host) {}
    }
}
