import COutletPlugin
import Dispatch
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

    @Test func `after a cancel only did_receive is called, until the call ends`() throws {
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

    @Test func `a queued hook is not called after its completion was abandoned`() throws {
        let (host, instance) = try instance()
        let token = Completion(
            hook: .retry, instance: instance, limit: 1_000_000_000)
        _ = token.register()
        token.abandon()
        // A worker thread that reaches the waiting call now gets `false` and skips it.
        #expect(!token.begin())
        withExtendedLifetime(host) {}
    }

    @Test func `a hook may use its handles while its call is abandoned and until it settles`()
        throws
    {
        let (host, instance) = try instance()
        let token = Completion(
            hook: .adapt, instance: instance, limit: 1_000_000_000)
        let id = token.register().id
        token.keep()
        #expect(token.begin())
        // Suspended: stops between the end of the call and the entry in the instance's list.
        let queue = DispatchQueue(label: "outlet.test.abandon")
        queue.suspend()
        token.abandon(finishingOn: queue)
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
}
