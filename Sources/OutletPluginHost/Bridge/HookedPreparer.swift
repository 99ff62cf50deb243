import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls a plugin's `prepare` as the last adapter.
final class HookedPreparer: RequestPreparer, AbandonableAdapter {
    private let instance: PluginInstance
    /// The time limit for the answer, in nanoseconds.
    private let limit: UInt64
    private let running: RunningPlugins
    /// Prepares synchronously; `nil` for plugins that may block.
    let synchronous: (any SynchronousRequestAdapter)?

    init(_ instance: PluginInstance, limit: UInt64, keeping running: RunningPlugins) {
        self.instance = instance
        self.limit = limit
        self.running = running
        synchronous = QuickAdapter(instance, .prepare, instance.hooks.prepare, limit: limit)
    }

    /// 0, which disables the session's timeout: the completion has its own, whose error names the
    /// plugin.
    var answerTimeout: TimeInterval? { 0 }

    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.prepare, !request.excludes(instance) else {
            completion(.success(request))
            return nil
        }
        return instance.adapt(
            request, by: .prepare, hook, using: state, limit: limit, completion: completion)
    }
}
