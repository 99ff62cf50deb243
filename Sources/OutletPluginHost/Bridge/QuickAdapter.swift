import OutletHTTP
import OutletSession

/// Calls a hook of a plugin that never blocks: it has answered when it returns, or returns
/// `OUTLET_PENDING`.
final class QuickAdapter: SynchronousRequestAdapter {
    private let instance: PluginInstance
    private let hook: PluginHook
    private let function: HookFunction.Change
    /// The time limit for an answer, in nanoseconds.
    private let limit: UInt64

    /// Creates the adapter.
    ///
    /// - Parameters:
    ///   - function: The plugin's hook function; `nil` where it has none.
    ///   - limit: The time limit for an answer, in nanoseconds.
    /// - Returns: `nil` where the plugin may block, or has no such hook.
    init?(
        _ instance: PluginInstance, _ hook: PluginHook, _ function: HookFunction.Change?,
        limit: UInt64
    ) {
        guard instance.isNonblocking, let function else { return nil }
        self.instance = instance
        self.hook = hook
        self.function = function
        self.limit = limit
    }

    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest {
        guard !request.excludes(instance) else { return request }
        let answer = instance.change(request, by: hook, function, limit: limit)
        guard case .given(let result) = answer else {
            throw AnswerFollows { answer.deliver(to: $0) }
        }
        return try result.get()
    }
}
