import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// A plugin's `prepare` as an adapter that is asked last.
final class HookedPreparer: RequestPreparer, AbandonableAdapter {
    private let instance: PluginInstance
    /// How long the answer is waited for, in nanoseconds.
    private let limit: UInt64
    private let running: RunningPlugins
    /// Prepares without a completion; for plugins that never block.
    let synchronous: (any SynchronousRequestAdapter)?

    init(_ instance: PluginInstance, limit: UInt64, keeping running: RunningPlugins) {
        self.instance = instance
        self.limit = limit
        self.running = running
        synchronous = QuickAdapter(instance, .prepare, instance.hooks.prepare, limit: limit)
    }

    /// None of the session's: the hook has a deadline of its own, whose error names the plugin.
    var answerTimeout: TimeInterval? { 0 }

    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.prepare, !request.excludes(instance) else {
            completion(.success(request))
            return nil
        }
        return instance.change(request, by: .prepare, hook, limit: limit).deliver(to: completion)
    }
}
