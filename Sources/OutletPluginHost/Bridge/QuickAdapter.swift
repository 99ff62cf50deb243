import OutletHTTP
import OutletSession

/// Calls `adapt` or `prepare` of a plugin that never blocks, on the calling thread.
///
/// The hook either answers by its return value or returns `OUTLET_PENDING`.
final class QuickAdapter: SynchronousRequestAdapter {
    private let instance: PluginInstance
    private let hook: PluginHook
    private let function: HookFunction.Change
    /// The time limit for an answer, in nanoseconds.
    private let limit: UInt64

    /// Creates the adapter.
    ///
    /// - Parameters:
    ///   - instance: The plugin instance.
    ///   - hook: The hook, for errors and the observer.
    ///   - function: The plugin's hook function; `nil` if it has none.
    ///   - limit: The time limit for an answer, in nanoseconds.
    /// - Returns: `nil` if the plugin may block, or has no such hook.
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
        let request = try state.addingBody(to: request)
        let answer = instance.change(request, by: hook, function, limit: limit)
        guard case .given(let result) = answer else {
            throw AnswerFollows { adapted in
                answer.deliver { adapted($0.map { $0 ?? request }) }
            }
        }
        return try result.get() ?? request
    }
}
