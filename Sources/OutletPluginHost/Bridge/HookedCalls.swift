import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls the hooks at the end of a call: `did_receive` of all plugins, then `process` of all, one
/// after the other.
final class HookedCalls: OutcomeMiddleware {
    private let plugins: OutcomeHooks.Plugins
    /// All plugins, also those without these hooks.
    private let all: [PluginInstance]
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private let needsScope: Bool
    /// Whether plugins may read the streams of requests' bodies.
    private let readsStreams: Bool
    /// Whether plugins take part in the transfers of calls.
    let needsOwnTransfers: Bool
    private let running: RunningPlugins
    let needsStreamedBodies: Bool

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - plugins: The instances with a `did_receive` or `process` hook.
    ///   - all: These and all others.
    ///   - limit: The time limit of a hook, in nanoseconds.
    ///   - needsScope: Whether each call needs a ``RequestScope``, even if none of the plugins uses
    ///     a service.
    ///   - readsStreams: Whether plugins may read the streams of requests' bodies, so that each
    ///     call with one needs a scope.
    ///   - needsOwnTransfers: Whether plugins take part in the transfers of calls, so that these
    ///     must not be shared with other calls, or outlive it.
    ///   - running: Keeps the plugins running.
    init(
        _ plugins: [PluginInstance], of all: [PluginInstance], limit: UInt64, needsScope: Bool,
        readsStreams: Bool, needsOwnTransfers: Bool, keeping running: RunningPlugins
    ) {
        self.readsStreams = readsStreams
        self.needsOwnTransfers = needsOwnTransfers
        self.all = all
        self.plugins = OutcomeHooks.Plugins(plugins)
        self.limit = limit
        self.needsScope = needsScope
        self.running = running
        // Plugins with `did_receive` only do not need the bodies of streams.
        needsStreamedBodies = !self.plugins.processors.isEmpty
    }

    var judgesOutcomes: Bool { !plugins.all.isEmpty }

    func needsLifetime(hasStream: Bool) -> Bool {
        // A plugin may ask for a service at any time.
        needsScope || hasStream && readsStreams || all.contains { $0.owner.usesCallServices }
    }

    func begin(_ request: inout HTTPRequest, of lifetime: RequestLifetime) {
        let id = request.context.id
        let asked = request
        request.context[RequestScope.Key.self, describing: .call] = lifetime.object(
            of: self, make: { RequestScope(id: id, of: asked, lifetime: lifetime) }
        ) { scope in
            scope.order.run { done in
                scope.end()
                done()
            }
        }
    }

    func end(
        _ result: CallResult, of request: HTTPRequest, isCancelled: Bool
    ) -> OutcomeDecision {
        let scope = request.scope
        let called = plugins.called(for: request)
        // The program does not wait for the hooks of a cancelled call, and may shut plugins down.
        let wasCancelled = isCancelled || result.isCancellation
        let held = wasCancelled ? HeldInstances(called.watchers) : HeldInstances()
        if wasCancelled { scope?.beginReportingCancel() }
        var hooks = OutcomeHooks(called, result, of: request, in: scope, limit: limit)
        guard let scope else {
            guard let answer = hooks.call(isCancelled: { isCancelled }) else {
                held.end()
                return hooks.decision
            }
            return .later(
                PendingOutcome { [hooks] completion in
                    let call = HookedCall(hooks, isCancelled: isCancelled)
                    call.wait(for: answer, isProcess: hooks.isProcessing) { result in
                        held.end()
                        completion(result)
                    }
                    return { call.cancel() }
                })
        }
        let call = HookedCall(hooks, isCancelled: isCancelled)
        let over = PendingAnswer<Void>()
        scope.order.run { done in
            @Sendable func finish() {
                scope.endReportingCancel()
                held.end()
                // Before the decision, because the request may end when it is known, and its end
                // must not wait for this step.
                done()
                over.give(())
            }
            if call.run(completion: { _ in finish() }) { finish() }
        }
        if over.given != nil { return call.decision }
        return .later(
            PendingOutcome { completion in
                over.whenGiven { completion(call.result) }
                return { call.cancel() }
            })
    }
}

/// Instances whose `quiesce` and `destroy` are delayed.
private struct HeldInstances: Sendable {
    private var instances: [PluginInstance] = []

    /// Holds no instance.
    init() {}

    /// Holds instances, except for those whose `quiesce` has been called.
    init(_ instances: [PluginInstance]) { self.instances = instances.filter { $0.hold() } }

    /// Ends the delay; called once.
    func end() {
        for instance in instances { instance.endHold() }
    }
}

/// Calls the hooks that see the outcome of one call, in their order.
private struct OutcomeHooks: Sendable {
    /// What a hook changes.
    enum Change: Sendable {
        case nothing
        // Indirect, so that copying the usual one costs little.
        indirect case response(RequestHandle.Answer)
        indirect case failure(PluginError)

        /// The failure; `nil` for other changes.
        var failure: PluginError? {
            if case .failure(let failure) = self { failure } else { nil }
        }
    }

    /// Instances by the hooks that they have.
    struct Plugins: Sendable {
        let all: [PluginInstance]
        /// Those with `did_receive`.
        let watchers: [PluginInstance]
        /// Those with `process`.
        let processors: [PluginInstance]

        init(_ plugins: [PluginInstance]) {
            all = plugins
            watchers = plugins.filter { $0.hooks.did_receive != nil }
            processors = plugins.filter { $0.hooks.process != nil }
        }

        /// Those whose hooks are called for a request.
        func called(for request: HTTPRequest) -> Plugins {
            guard request.excludedPlugins != nil else { return self }
            return Plugins(all.filter { !request.excludes($0) })
        }
    }

    private let plugins: Plugins
    /// The request as last sent; if nothing was sent, as passed to the attempts.
    private let request: HTTPRequest
    private let scope: RequestScope?
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private(set) var result: CallResult
    private var isReplaced = false
    /// The number of `did_receive` hooks called.
    private var notices = 0
    /// The number of `process` hooks called.
    private var processes = 0

    init(
        _ plugins: Plugins, _ result: CallResult, of asked: HTTPRequest,
        in scope: RequestScope?, limit: UInt64
    ) {
        self.plugins = plugins
        self.scope = scope
        self.limit = limit
        if case .failure(let error) = result, let cause = scope?.failureOfReader(behind: error) {
            self.result = .failure(cause)
            isReplaced = true
        } else {
            self.result = result
        }
        request = result.response?.request ?? asked
    }

    /// The decision after all hooks.
    var decision: OutcomeDecision { isReplaced ? .replaced(result) : .unchanged }

    /// Whether the hook called last was `process`.
    var isProcessing: Bool { processes > 0 }

    /// Calls the hooks that have not been called, up to the first that answers later.
    ///
    /// - Parameter isCancelled: Whether the call is cancelled; its outcome is then not replaced.
    /// - Returns: The answer of that hook; `nil` if all hooks have answered.
    mutating func call(isCancelled: () -> Bool) -> HookAnswer<Change>? {
        notifyDidReceive() ?? process(isCancelled: isCancelled)
    }

    private mutating func notifyDidReceive() -> HookAnswer<Change>? {
        guard notices < plugins.watchers.count else { return nil }
        let subject = RequestHook.Subject(
            hook: .didReceive, request: request, scope: scope,
            outcome: .call(result, isMutable: false), limit: limit)
        var calls = CallSequence()
        while notices < plugins.watchers.count {
            let plugin = plugins.watchers[notices]
            notices += 1
            guard let hook = plugin.hooks.did_receive,
                case .follows(let token, let meaning) = plugin.notify(
                    subject, .seeResponse(hook), in: &calls)
            else { continue }
            return .follows(token) {
                meaning($0)
                return .nothing
            }
        }
        return nil
    }

    /// The failure of the call so far; `nil` for none.
    private var failure: (any Error)? {
        switch result {
        case .success(let response): response.failure
        case .failure(let error): error
        }
    }

    /// Whether a plugin has refused the request: that is final, and no other plugin replaces it.
    private var isRefused: Bool {
        failure.map(PluginError.isRefusal) ?? false
    }

    private mutating func process(isCancelled: () -> Bool) -> HookAnswer<Change>? {
        guard processes < plugins.processors.count else { return nil }
        var subject = subjectOfProcess
        var calls = CallSequence()
        while processes < plugins.processors.count {
            let plugin = plugins.processors[processes]
            processes += 1
            guard let hook = plugin.hooks.process, !isCancelled() else { continue }
            let stopwatch = Stopwatch(plugin.owner.observer)
            let asked = plugin.ask(subject, settled: .done, .process(hook), in: &calls)
            if asked.isWithoutEffect, !stopwatch.isRunning { continue }
            switch asked {
            case .given(let answer, let token):
                let change = Self.change(answer, token, by: plugin, of: request, stopwatch)
                calls.interrupt()
                if case .nothing = change { continue }
                apply(change)
                subject = subjectOfProcess
            case .follows(let token):
                return .follows(token) { [request] in
                    Self.change($0, token, by: plugin, of: request, stopwatch)
                }
            }
        }
        return nil
    }

    /// What `process` hooks are called for, until the outcome changes.
    private var subjectOfProcess: RequestHook.Subject {
        let isRefused = isRefused
        return RequestHook.Subject(
            hook: .process, request: request, scope: scope,
            outcome: .call(isRefused ? result.withoutBody : result, isMutable: !isRefused),
            limit: limit)
    }

    /// The change by a `process` hook, which is reported to the observer.
    private static func change(
        _ answer: Completion.Answer, _ token: RequestHook?, by plugin: PluginInstance,
        of request: HTTPRequest, _ stopwatch: Stopwatch
    ) -> Change {
        let replacement = token?.sealResponse()
        let change = change(answer, replacement, by: plugin, of: request)
        stopwatch.report(
            plugin.owner, .process, requestID: request.context.id,
            effects: Effects.of(replacement), failure: change.failure,
            refusals: token?.refusals ?? [])
        // If the failure is skipped, the outcome stays unchanged.
        if let failure = change.failure, plugin.skips(failure, of: "\(request)") { return .nothing }
        return change
    }

    private static func change(
        _ answer: Completion.Answer, _ replacement: ResponseHandle.Replacement?,
        by plugin: PluginInstance, of request: HTTPRequest
    ) -> Change {
        // An error that replaces the outcome stays, whatever the hook has answered.
        var isRefusal = false
        if case .failure = replacement { isRefusal = true }
        if case .failed(let error) = answer, !isRefusal { return .failure(error) }
        switch replacement {
        case nil: return .nothing
        case .failure(var reason):
            reason = reason.orMissing("response_replace_error")
            // The failure is deliberate, so it fails the request even if the failures of this
            // plugin are skipped.
            reason.isRefusal = true
            return .failure(plugin.failure(of: .process, reason))
        case .response(let answer):
            guard request.context.takesBody || answer.body.isEmpty else {
                return .failure(
                    plugin.failure(
                        of: .process,
                        "it replaced a body that is not in memory: that of a download or a "
                            + "WebSocket"))
            }
            return .response(answer)
        }
    }

    /// Applies the change by a hook that has answered.
    mutating func apply(_ change: Change) {
        switch change {
        case .nothing: return
        case .failure(let failure):
            // A hook that was not called, or did not answer, does not hide an earlier failure.
            guard !isRefused,
                failure.isRefusal || failure.kind == .failed || self.failure == nil
            else { return }
            if case .success(var response) = result {
                if failure.isRefusal { response = response.withoutBody }
                response.failure = failure
                result = .success(response)
            } else {
                result = .failure(failure)
            }
        case .response(let answer):
            let former = result.response?.head
            let head = HTTPResponse(
                url: former?.url ?? request.url, statusCode: answer.status,
                httpVersion: former?.httpVersion ?? "HTTP/1.1", headers: answer.headers)
            result = .success(CallResponse(head: head, body: Data(answer.body)))
        }
        isReplaced = true
    }
}

/// Waits for the hooks of one call that answer later, and calls those after them.
private final class HookedCall: Sendable {
    private let hooks: Lock<OutcomeHooks>
    private let waiting = CancelledOnce()

    init(_ hooks: OutcomeHooks, isCancelled: Bool) {
        self.hooks = Lock(hooks)
        if isCancelled { waiting.cancel() }
    }

    var result: CallResult { hooks.withLock { $0.result } }

    /// The decision after all hooks.
    var decision: OutcomeDecision { hooks.withLock { $0.decision } }

    /// Abandons the pending hook; the outcome is then not replaced.
    func cancel() { waiting.cancel() }

    /// Calls the hooks that have not been called.
    ///
    /// - Parameter completion: Called once with the outcome after all hooks, on any thread, unless
    ///   this returns `true`.
    /// - Returns: Whether all hooks have answered.
    func run(completion: @escaping @Sendable (CallResult) -> Void) -> Bool {
        // On a copy, because plugins are not called with the lock; one thread at a time runs this.
        var hooks = hooks.withLock { $0 }
        let answer = hooks.call { waiting.isCancelled }
        self.hooks.withLock { [hooks] in $0 = hooks }
        guard let answer else { return true }
        wait(for: answer, isProcess: hooks.isProcessing, completion: completion)
        return false
    }

    /// Waits for a hook that answers later, and calls those after it.
    ///
    /// - Parameters:
    ///   - answer: The answer of the hook.
    ///   - isProcess: Whether it is `process`, which is cancelled with the call.
    ///   - completion: Called once with the outcome after all hooks, on any thread.
    func wait(
        for answer: HookAnswer<OutcomeHooks.Change>, isProcess: Bool,
        completion: @escaping @Sendable (CallResult) -> Void
    ) {
        let operation = waiting.begin()
        let cancel = answer.deliver { change in
            self.hooks.withLock { $0.apply(change) }
            if self.run(completion: completion) { completion(self.result) }
        }
        if let cancel, isProcess { waiting.keep(cancel, of: operation) }
    }
}

extension PluginError {
    /// Whether a plugin has refused a request: whether an error is such a refusal, or has one as its
    /// cause.
    static func isRefusal(_ error: any Error) -> Bool {
        if let error = error as? PluginError { return error.isRefusal }
        if let cause = (error as? TransferError)?.cause { return isRefusal(cause) }
        guard let error = error as? SessionError else { return false }
        if case .requestRetryFailed(_, let original) = error, isRefusal(original) { return true }
        return error.underlyingError.map(isRefusal) ?? false
    }
}

extension CallResponse {
    /// The same without its body, which a plugin has refused.
    fileprivate var withoutBody: CallResponse {
        var response = CallResponse(head: head, body: Data())
        response.failure = failure
        return response
    }
}

extension CallResult {
    /// The same without a body.
    fileprivate var withoutBody: CallResult { map(\.withoutBody) }

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
