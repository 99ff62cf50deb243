import COutletPlugin
import Dispatch
import OutletSession
import OutletTransport

/// A running instance of a plugin: who may call it, and how it ends.
///
/// Thread: any.
final class PluginInstance: @unchecked Sendable {
    // @unchecked because all is constant but what has its own lock; the instance's pointer is
    // handed to the plugin only.
    let owner: PluginOwner
    let descriptor: PluginDescriptor
    let hooks: outlet_hooks
    /// Whether its hooks may overlap.
    let isConcurrent: Bool
    /// Whether its hooks never block.
    let isNonblocking: Bool
    /// Whether requests go on without it where it fails one.
    private let failsOpen: Bool
    /// How long hooks are waited for, in nanoseconds, where settings say so.
    private let limits: [PluginHook: UInt64]
    private let pointer: OpaquePointer
    /// Runs the hooks one after another, and `quiesce` and `destroy` behind them.
    let queue: DispatchQueue
    private let lifecycle = Lock(PluginLifecycle())
    private let completions = Lock(Completions())
    /// What tells the plugin the end of each call that it has seen.
    private let openCalls = Lock([ObjectIdentifier: @Sendable () -> Void]())
    /// How much the host is doing for the plugin.
    private let services = Lock([PluginHook: Int]())
    /// Those that the plugin takes part in.
    let sessions = AttachedSessions()
    private let end = Lock(End.running([]))

    /// How an instance ended.
    enum Outcome: Sendable {
        case destroyed
        case abandoned
    }

    private enum End {
        case running([@Sendable (Outcome) -> Void])
        case over(Outcome)
    }

    private struct Completions {
        var pending: [UInt64: Completion] = [:]
        /// Given up by the host; each may be answered late, once, without being a breach, and so may
        /// what its hook was given be used.
        ///
        /// What the plugin has borrowed lives on with it, since the plugin may not know yet.
        var cancelled: [UInt64: Completion] = [:]
    }

    private static let current = DispatchSpecificKey<ObjectIdentifier>()

    init(
        owner: PluginOwner, descriptor: PluginDescriptor, pointer: OpaquePointer,
        hooks: outlet_hooks, failsOpen: Bool = false, limits: [PluginHook: UInt64] = [:]
    ) {
        self.failsOpen = failsOpen
        self.limits = limits
        self.owner = owner
        self.descriptor = descriptor
        isConcurrent = descriptor.has(flag: UInt32(OUTLET_F_CONCURRENT))
        isNonblocking = descriptor.has(flag: UInt32(OUTLET_F_NONBLOCKING))
        self.pointer = pointer
        self.hooks = hooks
        queue = DispatchQueue(label: "outlet.plugin.\(owner.id)")
        queue.setSpecific(key: PluginInstance.current, value: ObjectIdentifier(self))
    }

    /// The plugin's id, with `#` and the name of the instance if there are several.
    var id: String { owner.id }
    /// What the plugin may do.
    var grants: Grants { owner.grants }
    /// Runs a hook, after those that are running unless the plugin allows overlap.
    ///
    /// - Throws: ``PluginError`` when the plugin is closed, or is calling itself.
    func perform<Result>(
        _ hook: PluginHook, about subject: String? = nil, overlapping: Bool = false,
        _ body: (OpaquePointer) -> Result
    ) throws(PluginError) -> Result {
        let isSerial = !isConcurrent && !overlapping
        if isSerial, isOnQueue {
            throw PluginError(
                plugin: id, hook: hook, kind: .reentered,
                message: "its hooks run one after another, and one is running")
        }
        guard enter(hook) else { throw closed(hook) }
        defer { act(lifecycle.withLock { $0.leave() }) }
        return isSerial
            ? queue.sync { owner.calling(hook, about: subject) { body(pointer) } }
            : owner.calling(hook, about: subject) { body(pointer) }
    }

    /// Whether one of this instance's own hooks is calling.
    private var isOnQueue: Bool {
        DispatchQueue.getSpecific(key: PluginInstance.current) == ObjectIdentifier(self)
    }

    /// Runs a hook on a worker, behind those that are running unless the plugin allows overlap.
    ///
    /// - Parameters:
    ///   - subject: What the hook is about, where ends are reported (``PluginWatch``).
    ///   - then: Called once, on a worker when the hook is off the stack; here where the plugin is closed.
    func performLater<Result: Sendable>(
        _ hook: PluginHook, about subject: String?,
        _ body: @escaping @Sendable (OpaquePointer) -> Result,
        then: @escaping @Sendable (Swift.Result<Result, PluginError>) -> Void
    ) {
        guard enter(hook) else {
            then(.failure(closed(hook)))
            return
        }
        // Counted from here on: a shutdown waits for it.
        let isConcurrent = isConcurrent
        (isConcurrent ? DispatchQueue.global() : queue).async {
            let result = self.owner.calling(hook, about: subject) { body(self.pointer) }
            self.act(self.lifecycle.withLock { $0.leave() })
            if isConcurrent { return then(.success(result)) }
            DispatchQueue.global().async { then(.success(result)) }
        }
    }

    private func enter(_ hook: PluginHook) -> Bool {
        if hook.isOwed { return lifecycle.withLock { $0.enterLast() } }
        if hook.isOfRequests, owner.isTripped { return false }
        return lifecycle.withLock { $0.enter() }
    }

    /// Why the plugin is not called.
    private func closed(_ hook: PluginHook) -> PluginError {
        guard hook.isOfRequests, owner.isTripped else {
            return PluginError(plugin: id, hook: hook, kind: .closed, message: "it was shut down")
        }
        return PluginError(
            plugin: id, hook: hook, kind: .tripped,
            message: "it failed its contract too often, and is left alone for a while")
    }

    /// How long a hook is waited for, in nanoseconds.
    func limit(of hook: PluginHook, atMost limit: UInt64) -> UInt64 {
        limits.isEmpty ? limit : min(limit, limits[hook] ?? limit)
    }

    /// Whether a request goes on in spite of a failure.
    func passesOver(_ failure: PluginError) -> Bool {
        guard failsOpen, !failure.isRefusal, failure.kind != .cancelled else { return false }
        owner.observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .warning,
                message: "\(failure.hook.rawValue) failed, and the request goes on without it: "
                    + failure.message, facts: []))
        return true
    }

    /// What a hook fails with, in the plugin's words.
    func failure(of hook: PluginHook, _ reason: PluginReason) -> PluginError {
        var error = PluginError(
            plugin: id, hook: hook, kind: .failed, code: reason.code, message: reason.message)
        error.isRefusal = reason.isRefusal
        return error
    }

    /// What a hook fails with, in the host's words.
    func failure(of hook: PluginHook, _ message: String) -> PluginError {
        failure(of: hook, PluginReason(message: message))
    }

    // MARK: Calls of a session

    /// A call has been seen of which the plugin is to be told the end; `finish` tells it, at the latest
    /// before the plugin ends.
    func opened(_ call: ObjectIdentifier, finish: @escaping @Sendable () -> Void) {
        openCalls.withLock { $0[call] = finish }
    }

    /// Keeps the plugin from ending until ``letGo()``; `false` where it has ended already.
    func hold() -> Bool { lifecycle.withLock { $0.enterLast() } }

    /// The plugin may end.
    func letGo() { act(lifecycle.withLock { $0.leave() }) }

    /// The plugin is being told the end of a call.
    func closed(_ call: ObjectIdentifier) {
        openCalls.withLock { $0[call] = nil }
    }

    /// Takes in something that the host is to do for the plugin; `finish` ends it, at the latest before the
    /// plugin ends.
    ///
    /// - Returns: `false` where so many are under way already, or the plugin is ending.
    func admit(
        _ call: ObjectIdentifier, as hook: PluginHook, limit: Int,
        finish: @escaping @Sendable () -> Void
    ) -> Bool {
        let hasRoom = services.withLock { counts in
            guard counts[hook, default: 0] < limit else { return false }
            counts[hook, default: 0] += 1
            return true
        }
        guard hasRoom else { return false }
        opened(call, finish: finish)
        // Behind it, because an end looks for open calls once it has begun.
        guard lifecycle.withLock({ $0.enter() }) else {
            dismiss(call, as: hook)
            return false
        }
        act(lifecycle.withLock { $0.leave() })
        return true
    }

    /// What the host was to do has come to an end.
    func dismiss(_ call: ObjectIdentifier, as hook: PluginHook) {
        closed(call)
        services.withLock { $0[hook, default: 0] -= 1 }
    }

    private func finishCalls() {
        let calls = openCalls.withLock { calls in
            defer { calls = [:] }
            return calls
        }
        for finish in calls.values { finish() }
    }

    // MARK: Completions

    func add(_ completion: Completion, id: UInt64) {
        completions.withLock { $0.pending[id] = completion }
        // The end may have looked for it before.
        if !lifecycle.withLock({ $0.isServing }) { cancel(completion) }
    }

    /// The answers that are waited for.
    var promises: [PluginCall] {
        let pending = completions.withLock { Array($0.pending.values) }
        return pending.compactMap(\.promise)
    }

    /// A completion has been answered, or, if cancelled, may still be.
    func removeCompletion(_ completion: Completion, _ id: UInt64, isCancelled: Bool) {
        completions.withLock { completions in
            completions.pending[id] = nil
            if isCancelled { completions.cancelled[id] = completion }
        }
        if !isCancelled { HandleTable.shared.remove(id) }
    }

    /// A cancelled completion has had its late answer.
    func forgetCompletion(_ id: UInt64) {
        let completion = completions.withLock { $0.cancelled.removeValue(forKey: id) }
        HandleTable.shared.remove(id)
        withExtendedLifetime(completion) {}
    }

    /// Whether a stale handle was given to a hook whose answer the host has given up since, so that
    /// the plugin may not know yet.
    func mayNotKnow(isStale handle: UInt64) -> Bool {
        guard lifecycle.withLock({ $0.isRunning }) else { return false }
        return completions.withLock { $0.cancelled[handle & ~HandleTable.partMask] != nil }
    }

    /// Tells the plugin that nobody waits for an answer any more.
    func sendCancel(_ completion: UInt64) {
        // Counted from here on, so that it comes before quiesce; elsewhere, because it may not return.
        guard let cancel = hooks.cancel, enter(.cancel) else { return }
        DispatchQueue.global().async {
            self.owner.calling(.cancel) {
                cancel(self.pointer, outlet_completion(id: completion))
            }
            self.act(self.lifecycle.withLock { $0.leave() })
        }
    }

    private func cancelCompletions() {
        let pending = completions.withLock { Array($0.pending.values) }
        for completion in pending { cancel(completion) }
    }

    private func cancel(_ completion: Completion) {
        // Hooks that report an end run in any case.
        guard !completion.hook.isOwed else { return }
        completion.cancel(
            PluginError(
                plugin: id, hook: completion.hook, kind: .closed,
                message: "it is being shut down"))
    }

    // MARK: The end

    /// Begins the end: no more calls, then `quiesce`, then `destroy`.
    ///
    /// - Parameter completion: Called once, when the instance is destroyed or abandoned.
    func shutDown(deadline: DispatchTime, completion: @escaping @Sendable (Outcome) -> Void) {
        let over = end.withLock { end -> Outcome? in
            switch end {
            case .running(let waiting):
                end = .running(waiting + [completion])
                return nil
            case .over(let outcome): return outcome
            }
        }
        if let over {
            completion(over)
            return
        }
        cancelCompletions()
        // Held, so that the ends of calls come before quiesce.
        let isHeld = lifecycle.withLock { $0.enter() }
        act(lifecycle.withLock { $0.stop() })
        // Once more: an answer may have been promised between the two.
        cancelCompletions()
        finishCalls()
        if isHeld { act(lifecycle.withLock { $0.leave() }) }
        DispatchQueue.global().asyncAfter(deadline: deadline) { self.deadlinePassed() }
    }

    /// The plugin says that its work has ended.
    func quiesced() -> outlet_status {
        guard let action = lifecycle.withLock({ $0.quiesced() }) else {
            owner.note(.unaskedQuiesced, "quiesced() was called though quiesce() did not wait")
            return OUTLET_E_STATE
        }
        act(action)
        return OUTLET_OK
    }

    private func deadlinePassed() {
        let isQuiet = !lifecycle.withLock { $0.deadlinePassed() }
        let isOver = end.withLock { end in
            if case .over = end { true } else { false }
        }
        guard !isOver else { return }
        owner.note(
            .didNotQuiesce,
            isQuiet
                ? "destroy did not return in time"
                : "it did not end its work in time and was abandoned")
        finish(.abandoned)
    }

    private func act(_ action: PluginLifecycle.Action) {
        switch action {
        case .nothing: break
        // On the queue, because neither may run on the plugin's own stack.
        case .callQuiesce: queue.async { self.quiesce() }
        case .callDestroy: queue.async { self.destroy() }
        }
    }

    private func quiesce() {
        var status = OUTLET_OK
        if let quiesce = descriptor.functions.quiesce {
            let call = CallContext(deadline: 0)
            let handle = HandleTable.shared.insert(call, owner: owner.number)
            status = owner.calling(.quiesce) { quiesce(pointer, outlet_call(id: handle)) }
            HandleTable.shared.remove(handle)
            if status != OUTLET_OK, status != OUTLET_PENDING {
                owner.note(.forbiddenValue, "quiesce returned \(status)")
            }
        }
        let isPending = status == OUTLET_PENDING
        act(lifecycle.withLock { $0.quiesceReturned(isPending: isPending) })
    }

    private func destroy() {
        owner.calling(.destroy) { descriptor.functions.destroy?(pointer) }
        owner.unregister()
        if descriptor.isSingle { SinglePlugins.release(descriptor.id) }
        finish(.destroyed)
    }

    private func finish(_ outcome: Outcome) {
        let waiting = end.withLock { end -> [@Sendable (Outcome) -> Void] in
            guard case .running(let waiting) = end else { return [] }
            end = .over(outcome)
            return waiting
        }
        // An abandoned plugin may still be reading what it was lent: that is left to it for good.
        if case .destroyed = outcome {
            let cancelled = completions.withLock { completions in
                defer { completions.cancelled = [:] }
                return completions.cancelled
            }
            for id in cancelled.keys { HandleTable.shared.remove(id) }
        }
        for completion in waiting { completion(outcome) }
    }
}

extension PluginHook {
    /// Whether requests wait for it, so that a plugin which fails too often is not called for it.
    fileprivate var isOfRequests: Bool {
        switch self {
        case .adapt, .prepare, .finalize, .willSend, .redirect, .retry, .didReceive, .process,
            .serialize, .trust, .streamPiece, .streamMake:
            true
        case .load, .create, .reconfigure, .requestDone, .events, .httpDone, .timerDone,
            .streamEnd, .cancel, .call, .quiesce, .destroy:
            false
        }
    }

    /// Whether a request may not go on without it.
    var isNeeded: Bool {
        switch self {
        case .adapt, .prepare, .finalize, .redirect, .streamPiece, .streamMake: true
        default: false
        }
    }

    /// Those that somebody waits for.
    static var answered: [PluginHook] {
        allCases.filter { $0.isOfRequests && $0 != .serialize && $0 != .trust }
    }

    /// Whether it is called in any case, until the plugin ends: the plugin frees something in it.
    var isOwed: Bool {
        switch self {
        case .requestDone, .httpDone, .timerDone, .streamEnd, .events: true
        default: false
        }
    }
}
