import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls the hooks at the end of a call: `did_receive` of all plugins, then `process` of all, one
/// after the other.
final class HookedCalls: CallbackMiddleware {
    private let plugins: [PluginInstance]
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private let running: RunningPlugins
    let needsStreamedBodies: Bool

    init(_ plugins: [PluginInstance], limit: UInt64, keeping running: RunningPlugins) {
        self.plugins = plugins
        self.limit = limit
        self.running = running
        // Plugins with `did_receive` only do not need the bodies of streams.
        needsStreamedBodies = plugins.contains { $0.hooks.process != nil }
    }

    func intercept(
        _ request: HTTPRequest,
        next:
            @escaping @Sendable (HTTPRequest, @escaping @Sendable (CallResult) -> Void) -> Void,
        completion: @escaping @Sendable (CallResult) -> Void
    ) -> (@Sendable () -> Void)? {
        let id = request.context.id
        let lifetime = request.context[RequestLifetime.Key.self]
        let scope =
            lifetime?.object(
                of: self, make: { RequestScope(id: id, of: request, lifetime: lifetime) }
            ) { scope in
                scope.order.run { done in
                    scope.end()
                    done()
                }
            } ?? RequestScope(id: id, of: request)
        var asked = request
        asked.context[RequestScope.Key.self] = scope
        let waiting = CancelledOnce()
        next(asked) { [asked] result in
            let call = HookedCall(
                result, of: asked, in: scope, limit: self.limit, waiting: waiting)
            if waiting.isCancelled || result.isCancellation { scope.cancel() }
            let plugins = self.plugins.filter { !asked.context.excludes($0) }
            scope.order.run { done in
                call.run(plugins) { result in
                    // Before `completion`, because the request may end inside it, and its end must
                    // not wait for this step.
                    done()
                    completion(result)
                }
            }
        }
        return { waiting.cancel() }
    }
}

/// The outcome of one call while its hooks run.
private final class HookedCall: Sendable {
    private let state: Lock<CallResult>
    /// The request as last sent; if nothing was sent, as passed to the middleware.
    private let request: HTTPRequest
    private let scope: RequestScope
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private let waiting: CancelledOnce

    init(
        _ result: CallResult, of asked: HTTPRequest, in scope: RequestScope, limit: UInt64,
        waiting: CancelledOnce
    ) {
        state = Lock(result)
        self.scope = scope
        self.limit = limit
        self.waiting = waiting
        request = result.response?.request ?? asked
    }

    var result: CallResult { state.withLock { $0 } }

    /// Calls `did_receive` of all plugins, then `process` of all, one after the other.
    ///
    /// - Parameters:
    ///   - plugins: The plugins.
    ///   - position: The index of the first hook: 0 to count - 1 for `did_receive`, from count on
    ///     for `process`.
    ///   - completion: Called once, on any thread, with the outcome after all hooks.
    func run(
        _ plugins: [PluginInstance], from position: Int = 0,
        completion: @escaping @Sendable (CallResult) -> Void
    ) {
        for position in position..<2 * plugins.count {
            let plugin = plugins[position % plugins.count]
            let answer = position < plugins.count ? notifyDidReceive(plugin) : process(plugin)
            if case .given = answer { continue }
            let cancel = answer.deliver {
                self.run(plugins, from: position + 1, completion: completion)
            }
            if let cancel, position >= plugins.count { waiting.keep(cancel) }
            return
        }
        completion(result)
    }

    private func notifyDidReceive(_ plugin: PluginInstance) -> HookAnswer<Void> {
        guard let hook = plugin.hooks.did_receive else { return .given(()) }
        let token = RequestHook(
            .didReceive, of: plugin, for: request, scope: scope,
            outcome: .call(result, isMutable: false), limit: limit)
        return plugin.notify(token, requestID: request.context.id, .seeResponse(hook))
    }

    private func process(_ plugin: PluginInstance) -> HookAnswer<Void> {
        // The outcome of a cancelled call is not replaced.
        guard let hook = plugin.hooks.process, !waiting.isCancelled else { return .given(()) }
        let token = RequestHook(
            .process, of: plugin, for: request, scope: scope,
            outcome: .call(result, isMutable: true), limit: limit)
        let stopwatch = Stopwatch(plugin.owner.observer)
        @Sendable func finish(_ answer: Completion.Answer) {
            let replacement = token.sealResponse()
            var failure: PluginError?
            if case .failed(let error) = answer { failure = error }
            if case .failure(var reason)? = replacement, failure == nil {
                // The failure is deliberate, so it fails the request even if the failures of this
                // plugin are skipped.
                reason.isRefusal = true
                failure = plugin.failure(of: .process, reason)
            }
            if failure == nil, case .response(let answer)? = replacement,
                !self.request.context.takesBody, !answer.body.isEmpty
            {
                failure = plugin.failure(
                    of: .process,
                    "it replaced a body that is not in memory: that of a download or a WebSocket")
            }
            stopwatch.report(
                plugin.owner, .process, requestID: self.request.context.id,
                effects: Effects.of(replacement), failure: failure?.message)
            // If the failure is skipped, the outcome stays unchanged.
            if failure.map({ plugin.skips($0) }) != true { self.take(replacement, failure) }
        }
        guard let answer = plugin.ask(token, settled: .done, .process(hook)) else {
            return .follows(token, meaning: finish)
        }
        return .given(finish(answer))
    }

    private func take(_ replacement: ResponseHandle.Replacement?, _ failure: PluginError?) {
        let url = request.url
        state.withLock { result in
            var response = result.response
            if let failure {
                response?.failure = failure
                result = response.map { .success($0) } ?? .failure(failure)
            } else if case .response(let answer)? = replacement {
                let head = HTTPResponse(
                    url: response?.head.url ?? url, statusCode: answer.status,
                    httpVersion: response?.head.httpVersion ?? "HTTP/1.1", headers: answer.headers)
                result = .success(CallResponse(head: head, body: Data(answer.body)))
            }
        }
    }
}

extension CallResult {
    /// The response; `nil` for a failure.
    fileprivate var response: CallResponse? {
        if case .success(let response) = self { response } else { nil }
    }

    /// Whether the call was cancelled.
    fileprivate var isCancellation: Bool {
        guard case .failure(let error as SessionError) = self else { return false }
        return error.isExplicitlyCancelledError
    }
}
