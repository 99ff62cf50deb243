import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls the hooks at the end of a call: `did_receive` of all plugins, then `process` of all, one
/// after the other.
final class HookedCalls: OutcomeMiddleware {
    private let plugins: [PluginInstance]
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private let needsScope: Bool
    private let running: RunningPlugins
    let needsStreamedBodies: Bool

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - plugins: The instances with a `did_receive` or `process` hook.
    ///   - limit: The time limit of a hook, in nanoseconds.
    ///   - needsScope: Whether each call needs a ``RequestScope``, even if none of the plugins uses
    ///     a service.
    ///   - running: Keeps the plugins running.
    init(
        _ plugins: [PluginInstance], limit: UInt64, needsScope: Bool,
        keeping running: RunningPlugins
    ) {
        self.plugins = plugins
        self.limit = limit
        self.needsScope = needsScope
        self.running = running
        // Plugins with `did_receive` only do not need the bodies of streams.
        needsStreamedBodies = plugins.contains { $0.hooks.process != nil }
    }

    var needsLifetime: Bool {
        // A plugin may ask for a service at any time.
        needsScope || plugins.contains { $0.owner.usesCallServices }
    }

    func begin(_ request: inout HTTPRequest, of lifetime: RequestLifetime) {
        let id = request.context.id
        let asked = request
        request.context[RequestScope.Key.self] = lifetime.object(
            of: self, make: { RequestScope(id: id, of: asked, lifetime: lifetime) }
        ) { scope in
            scope.order.run { done in
                scope.end()
                done()
            }
        }
    }

    func end(
        _ result: CallResult, of request: HTTPRequest, isCancelled: Bool,
        completion: @escaping @Sendable (CallResult) -> Void
    ) -> OutcomeDecision {
        let scope = request.scope
        if isCancelled || result.isCancellation { scope?.cancel() }
        let plugins =
            request.excludedPlugins == nil ? plugins : plugins.filter { !request.excludes($0) }
        let call = HookedCall(
            result, of: request, in: scope, limit: limit, isCancelled: isCancelled)
        guard let scope else {
            let isOver = call.run(plugins, completion: completion)
            return isOver ? call.decision : .later(abandon: { call.cancel() })
        }
        let over = PendingAnswer<Void>()
        scope.order.run { done in
            @Sendable func finish() {
                // Before the decision, because the request may end when it is known, and its end
                // must not wait for this step.
                done()
                over.give(())
            }
            if call.run(plugins, completion: { _ in finish() }) { finish() }
        }
        if over.given != nil { return call.decision }
        over.whenGiven { completion(call.result) }
        return .later(abandon: { call.cancel() })
    }
}

/// The outcome of one call while its hooks run.
private final class HookedCall: Sendable {
    private struct State {
        var result: CallResult
        var isReplaced = false
    }

    private let state: Lock<State>
    /// The request as last sent; if nothing was sent, as passed to the attempts.
    private let request: HTTPRequest
    private let scope: RequestScope?
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private let waiting = CancelledOnce()

    init(
        _ result: CallResult, of asked: HTTPRequest, in scope: RequestScope?, limit: UInt64,
        isCancelled: Bool
    ) {
        state = Lock(State(result: result))
        self.scope = scope
        self.limit = limit
        request = result.response?.request ?? asked
        if isCancelled { waiting.cancel() }
    }

    var result: CallResult { state.withLock { $0.result } }

    /// The decision after all hooks.
    var decision: OutcomeDecision {
        state.withLock { $0.isReplaced ? .replaced($0.result) : .unchanged }
    }

    /// Abandons the pending hook; the outcome is then not replaced.
    func cancel() { waiting.cancel() }

    /// Calls `did_receive` of all plugins, then `process` of all, one after the other.
    ///
    /// - Parameters:
    ///   - plugins: The plugins.
    ///   - position: The index of the first hook: 0 to count - 1 for `did_receive`, from count on
    ///     for `process`.
    ///   - completion: Called once with the outcome after all hooks, on any thread, unless this
    ///     returns `true`.
    /// - Returns: Whether all hooks have answered.
    func run(
        _ plugins: [PluginInstance], from position: Int = 0,
        completion: @escaping @Sendable (CallResult) -> Void
    ) -> Bool {
        for position in position..<2 * plugins.count {
            let plugin = plugins[position < plugins.count ? position : position - plugins.count]
            let answer = position < plugins.count ? notifyDidReceive(plugin) : process(plugin)
            if case .given = answer { continue }
            let cancel = answer.deliver {
                if self.run(plugins, from: position + 1, completion: completion) {
                    completion(self.result)
                }
            }
            if let cancel, position >= plugins.count { waiting.keep(cancel) }
            return false
        }
        return true
    }

    private func notifyDidReceive(_ plugin: PluginInstance) -> HookAnswer<Void> {
        guard let hook = plugin.hooks.did_receive else { return .given(()) }
        let token = RequestHook(
            .didReceive, of: plugin, for: request, scope: scope,
            outcome: .call(result, isMutable: false), limit: limit)
        return plugin.notify(token, of: request, .seeResponse(hook))
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
            guard failure != nil || replacement != nil else { return }
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
        state.withLock { state in
            var response = state.result.response
            state.isReplaced = true
            if let failure {
                response?.failure = failure
                state.result = response.map { .success($0) } ?? .failure(failure)
            } else if case .response(let answer)? = replacement {
                let head = HTTPResponse(
                    url: response?.head.url ?? url, statusCode: answer.status,
                    httpVersion: response?.head.httpVersion ?? "HTTP/1.1", headers: answer.headers)
                state.result = .success(CallResponse(head: head, body: Data(answer.body)))
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
