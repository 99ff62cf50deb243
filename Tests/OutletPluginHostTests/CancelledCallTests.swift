import COutletPlugin
import OutletTestSupport
import Testing

@testable import OutletPluginHost

/// Which hooks the host calls for a call that is cancelled or has ended.
///
/// Cancellation races with the hooks. Each test makes the calls of one outcome in a fixed order.
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
        // A worker thread that reaches the waiting call now gets `false` and skips it.
        #expect(!token.begin())
        withExtendedLifetime(host) {}
    }
}
