import COutletPlugin
import Dispatch
import OutletHTTP
import OutletSession
import OutletTransport

/// A running instance of a plugin: serializes its calls, keeps its pending answers, and shuts it
/// down.
///
/// Thread: any.
final class PluginInstance: @unchecked Sendable {
    // @unchecked: everything is constant except what has its own lock; the instance's pointer is
    // passed to the plugin only.
    let owner: PluginOwner
    let descriptor: PluginDescriptor
    let hooks: outlet_hooks
    /// Whether its hooks may run at the same time (`OUTLET_F_CONCURRENT`).
    let isConcurrent: Bool
    /// Whether its hooks never block (`OUTLET_F_NONBLOCKING`).
    let isNonblocking: Bool
    /// Whether requests continue when the plugin fails.
    let failsOpen: Bool
    /// Time limits of hooks by settings, in nanoseconds.
    let limits: [PluginHook: UInt64]
    /// The longest wait of a call for those that it must not overlap with, in nanoseconds.
    private let longestWait: UInt64
    private let pointer: OpaquePointer
    /// Runs hooks that must not overlap, and then `quiesce` and `destroy`.
    private let turns = TurnQueue()
    /// Runs hooks that may block and may overlap; of its own, so that a plugin whose hooks hang
    /// leaves threads to others.
    private let threads = WorkerThreads(maximum: 512)
    /// Runs `cancel`, also while hooks that it is to end use all of ``threads``.
    private let cancellingThreads = WorkerThreads(maximum: 64)
    /// The completions that the plugin has not settled.
    let completions = PendingCompletions()
    /// Closures that report the end of a call or service to the plugin.
    private let openCalls = Lock([ObjectIdentifier: @Sendable () -> Void]())
    /// The number of running services (requests, timers, streams) of the plugin, by hook.
    private let services = Lock([PluginHook: Int]())
    /// The sessions that use the plugin.
    let sessions = AttachedSessions()
    private let end = Lock(End.running(Shutdown()))

    /// How an instance ended.
    enum Outcome: Sendable {
        case destroyed
        case abandoned
    }

    private enum End {
        case running(Shutdown)
        case over(Outcome)
    }

    /// What waits for the end.
    private struct Shutdown {
        var completions: [@Sendable (Outcome) -> Void] = []
        /// The deadlines; they keep the instance until they are cancelled.
        var timers: [DeadlineTimer] = []
        /// When the instance is abandoned.
        var deadline = DispatchTime.distantFuture
    }

    init(
        owner: PluginOwner, descriptor: PluginDescriptor, pointer: OpaquePointer,
        hooks: outlet_hooks, failsOpen: Bool = false, limits: [PluginHook: UInt64] = [:],
        longestWait: UInt64
    ) {
        self.failsOpen = failsOpen
        self.limits = limits
        self.longestWait = longestWait
        self.owner = owner
        self.descriptor = descriptor
        isConcurrent = descriptor.has(flag: UInt32(OUTLET_F_CONCURRENT))
        isNonblocking = descriptor.has(flag: UInt32(OUTLET_F_NONBLOCKING))
        self.pointer = pointer
        self.hooks = hooks
    }

    /// The plugin's id, with `#` and the name of the instance if there are several.
    var id: String { owner.id }
    /// The permissions granted to the plugin.
    var grants: Grants { owner.grants }

    /// Runs a hook, after hooks that are running unless the plugin allows overlap.
    ///
    /// Blocks until the hook has returned.
    ///
    /// - Parameters:
    ///   - hook: The hook that `body` calls.
    ///   - subject: A description of the call for crash reports (``PluginWatch``); `nil` for none.
    ///   - overlapping: Whether the call may overlap with others even if the plugin's hooks may
    ///     not.
    ///   - body: Makes the call; receives the plugin's instance.
    /// - Returns: The result of `body`.
    /// - Throws: ``PluginError`` with ``PluginError/Kind/closed``, ``PluginError/Kind/tripped``,
    ///   ``PluginError/Kind/timedOut`` when other calls take longer than the time limit of the hook,
    ///   or ``PluginError/Kind/reentered`` when the plugin is calling itself.
    // Inlined, as the function that it calls.
    @inline(__always)
    func perform<Result>(
        _ hook: PluginHook, about subject: @autoclosure () -> String? = nil,
        overlapping: Bool = false, _ body: (OpaquePointer) -> Result
    ) throws(PluginError) -> Result {
        var call = ActiveCall(hook)
        return try perform(&call, about: subject(), overlapping: overlapping) { pointer, _ in
            body(pointer)
        }
    }

    /// Runs a hook, as ``perform(_:about:overlapping:_:)``.
    ///
    /// - Parameters:
    ///   - call: The call; its handles can be used until `body` has returned.
    ///   - subject: A description of the call for crash reports (``PluginWatch``); `nil` for none.
    ///   - overlapping: Whether the call may overlap with others even if the plugin's hooks may
    ///     not.
    ///   - mayWait: Whether to wait for other calls; otherwise they count as too long at once.
    ///   - body: Makes the call; receives the plugin's instance and the call.
    // Inlined: otherwise all that `body` captures is retained for each call.
    @inline(__always)
    func perform<Result>(
        _ call: inout ActiveCall, about subject: @autoclosure () -> String?,
        overlapping: Bool = false, mayWait: Bool = true,
        _ body: (OpaquePointer, ActiveCall.Pointer) -> Result
    ) throws(PluginError) -> Result {
        guard isConcurrent || overlapping else {
            try beginTurn(call.hook, mayWait: mayWait)
            defer { endTurn() }
            call.restart()
            return owner.calling(&call, about: subject()) { body(pointer, $0) }
        }
        let hook = call.hook
        guard !isSuspended(hook),
            let result = owner.entering(
                &call, about: subject(), leave: { act($0) }, { body(pointer, $0) })
        else { throw closed(hook) }
        return result
    }

    /// Waits for the hooks that are running; ``endTurn()`` follows.
    private func beginTurn(_ hook: PluginHook, mayWait: Bool) throws(PluginError) {
        // Counts as begun before it waits, so that a shutdown waits for it.
        guard enter(hook) else { throw closed(hook) }
        let isTrust = hook == .trust
        let longestWait = isTrust ? min(longestWait, Self.longestWaitOfTrust) : longestWait
        let limit = mayWait ? limit(of: hook, atMost: longestWait) : 0
        let error: PluginError
        switch turns.enter(within: limit, isBrief: isTrust) {
        case .begun: return
        case .nested:
            error = PluginError(
                plugin: id, hook: hook, kind: .reentered,
                message: "its hooks run one after another, and one is running")
        case .tooLate:
            error = couldNotBegin(hook, within: turns.isOverdue ? nil : limit)
            if mayWait { logSkipped(error) }
        }
        act(owner.withLifecycle { $0.leave() })
        throw error
    }

    /// The longest wait of `trust` for other calls, in nanoseconds.
    ///
    /// All transfers wait for it. The hooks among these calls return within microseconds, by
    /// `OUTLET_F_NONBLOCKING`.
    private static let longestWaitOfTrust: UInt64 = 1_000_000_000

    /// Logs that `did_receive`, whose failure no request reports, was not called; nothing for other
    /// hooks.
    func logSkipped(_ error: PluginError) {
        guard error.hook == .didReceive else { return }
        owner.observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .warning,
                message: "\(error.hook.rawValue) was not called: \(error.message)", facts: []))
    }

    private func endTurn() {
        turns.leave()
        act(owner.withLifecycle { $0.leave() })
    }

    /// The error of a call that could not begin because other calls of the plugin took too long.
    ///
    /// - Parameters:
    ///   - hook: The hook that the call is of.
    ///   - limit: How long it waited, in nanoseconds; `nil` if it did not, because one of the others
    ///     has passed its time limit.
    func couldNotBegin(_ hook: PluginHook, within limit: UInt64?) -> PluginError {
        let longest = owner.activeCalls.max { $0.duration < $1.duration }
        let time = limit.map { " within \(Double($0) / 1e9) s" } ?? ""
        return PluginError(
            plugin: id, hook: hook, kind: .timedOut,
            message: "it could not begin\(time), because it waits for other calls of the plugin"
                + (longest.map { ", now in \($0.hook.rawValue)" } ?? ""))
    }

    /// Lets calls that must not overlap with a hook fail instead of waiting for it: its time limit
    /// has passed.
    ///
    /// - Parameter completion: The id of the hook's completion.
    func refuseTurns(behind completion: UInt64) {
        guard !isConcurrent else { return }
        let refused = owner.ifRunning(completion) { turns.refuseWaits() } ?? []
        for work in refused { work() }
    }

    /// Whether calls may begin: whether the shutdown has not begun.
    var isServing: Bool { owner.withLifecycle { $0.isServing } }

    /// Whether the current thread is running a call that others must not overlap with.
    var isInside: Bool { turns.isInside }

    /// Runs a hook on a worker thread, after hooks that are running unless the plugin allows
    /// overlap.
    ///
    /// - Parameters:
    ///   - hook: The hook that `body` calls.
    ///   - subject: A description of the call for crash reports (``PluginWatch``); `nil` for none.
    ///   - completion: The completion passed to the hook.
    ///   - body: Makes the call; receives the plugin's instance.
    ///   - then: Called once: on a worker thread after the hook has returned, or on the calling
    ///     thread where the plugin is closed or suspended.
    func performLater<Result: Sendable>(
        _ hook: PluginHook, about subject: String?, passing completion: Completion,
        _ body: @escaping @Sendable (OpaquePointer, ActiveCall.Pointer) -> Result,
        then: @escaping @Sendable (Swift.Result<Result, PluginError>) -> Void
    ) {
        guard isConcurrent || hook.reportsEnd || !turns.isOverdue else {
            let error = couldNotBegin(hook, within: nil)
            logSkipped(error)
            return then(.failure(error))
        }
        guard enter(hook) else { return then(.failure(closed(hook))) }
        // The call counts as begun: a shutdown waits for it.
        let isConcurrent = isConcurrent
        let work = { @Sendable in
            // An abandoned plugin is not called again.
            guard self.owner.withLifecycle({ $0.isRunning }) else {
                return WorkerThreads.prompt.run { then(.failure(self.closed(hook))) }
            }
            var call = ActiveCall(hook, passing: completion)
            let result = self.owner.calling(&call, about: subject) { body(self.pointer, $0) }
            self.act(self.owner.withLifecycle { $0.leave() })
            if isConcurrent { return then(.success(result)) }
            WorkerThreads.prompt.run { then(.success(result)) }
        }
        guard !isConcurrent else { return threads.run(work) }
        guard !hook.reportsEnd else { return turns.run(work) }
        turns.run(work) {
            self.act(self.owner.withLifecycle { $0.leave() })
            let error = self.couldNotBegin(hook, within: nil)
            self.logSkipped(error)
            then(.failure(error))
        }
    }

    /// Runs a closure that calls the plugin, and may block, on a thread for such calls.
    func runApart(_ body: @escaping @Sendable () -> Void) { threads.run(body) }

    private func enter(_ hook: PluginHook) -> Bool {
        !isSuspended(hook) && owner.withLifecycle { $0.enter(hook) }
    }

    /// Whether the hook is not called at present because of too many violations.
    @inline(__always)
    private func isSuspended(_ hook: PluginHook) -> Bool { owner.isTripped && hook.isOfRequests }

    /// The error of a hook that is not called.
    func closed(_ hook: PluginHook) -> PluginError {
        guard isSuspended(hook) else {
            return PluginError(plugin: id, hook: hook, kind: .closed, message: "it was shut down")
        }
        return PluginError(
            plugin: id, hook: hook, kind: .tripped,
            message: "it violated its contract too often, and is suspended for a while")
    }

    /// The time limit of a hook in nanoseconds: `limit`, or a shorter one from the settings.
    func limit(of hook: PluginHook, atMost limit: UInt64) -> UInt64 {
        limits.isEmpty ? limit : min(limit, limits[hook] ?? limit)
    }

    /// Whether a request continues in spite of a failure; writes a log line if so.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - request: A description of the request, without secrets.
    func skips(_ failure: PluginError, of request: @autoclosure () -> String) -> Bool {
        // Of a plugin that the program has shut down nothing has failed.
        guard failsOpen, !failure.isRefusal, ![.cancelled, .closed].contains(failure.kind) else {
            return false
        }
        let code = failure.code.isEmpty ? "" : " (\(failure.code))"
        owner.observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .warning,
                message: "\(failure.hook.rawValue) failed\(code), and the request continues "
                    + "without it: \(Redaction.standard.text(failure.message))",
                facts: [.init(name: "request", value: request())]))
        return true
    }

    /// An error of a hook with the plugin's reason.
    func failure(of hook: PluginHook, _ reason: PluginReason) -> PluginError {
        var error = PluginError(
            plugin: id, hook: hook, kind: .failed, code: reason.code, message: reason.message)
        error.isRefusal = reason.isRefusal
        error.reasonFault = reason.fault
        return error
    }

    /// An error of a hook with a message of the host.
    func failure(of hook: PluginHook, _ message: String) -> PluginError {
        failure(of: hook, PluginReason(message: message))
    }

    // MARK: Calls of a session

    /// Registers a call or service whose end must be reported to the plugin.
    ///
    /// - Parameter finish: Reports the end; called at the latest when the plugin shuts down.
    func opened(_ call: ObjectIdentifier, finish: @escaping @Sendable () -> Void) {
        openCalls.withLock { $0[call] = finish }
    }

    /// Delays `quiesce` and `destroy` until ``endHold()``.
    ///
    /// - Returns: `false` if `quiesce` has been called already.
    func hold() -> Bool { owner.withLifecycle { $0.enterLast() } }

    /// Ends a successful ``hold()``.
    func endHold() { act(owner.withLifecycle { $0.leave() }) }

    /// Unregisters a call or service whose end is being reported.
    ///
    /// - Returns: Whether it was registered; a shutdown unregisters what it finishes.
    @discardableResult
    func closed(_ call: ObjectIdentifier) -> Bool {
        openCalls.withLock { $0.removeValue(forKey: call) } != nil
    }

    /// Registers a service that the host performs for the plugin, such as a request or a timer.
    ///
    /// - Parameters:
    ///   - hook: The hook that reports its end; limits apply for each hook.
    ///   - limit: The largest number of services at a time.
    ///   - finish: Ends the service; called at the latest when the plugin shuts down.
    /// - Returns: Why it is not registered, so that `finish` is not called; `nil` if it is.
    func admit(
        _ call: ObjectIdentifier, as hook: PluginHook, limit: Int,
        finish: @escaping @Sendable () -> Void
    ) -> ServiceObstacle? {
        let hasRoom = services.withLock { counts in
            guard counts[hook, default: 0] < limit else { return false }
            counts[hook, default: 0] += 1
            return true
        }
        guard hasRoom else { return .isFull }
        opened(call, finish: finish)
        // After registering, because a shutdown finishes open calls once it has begun.
        guard owner.withLifecycle({ $0.enter() }) else {
            // The shutdown may have taken it, and reports its end.
            guard closed(call) else { return nil }
            releaseRoom(for: hook)
            return .isEnding
        }
        act(owner.withLifecycle { $0.leave() })
        return nil
    }

    /// Uncounts a service, so that another one may be registered.
    func releaseRoom(for hook: PluginHook) { services.withLock { $0[hook, default: 0] -= 1 } }

    private func finishCalls() {
        let calls = openCalls.withLock { calls in
            defer { calls = [:] }
            return calls
        }
        for finish in calls.values { finish() }
    }

    // MARK: Completions

    /// Retains a completion, to cancel it at shutdown.
    func add(_ completion: Completion) {
        completions.add(completion)
        // A shutdown may have gone through the completions already.
        if !isServing { cancel(completion) }
    }

    /// The calls whose answers are pending.
    var pendingCalls: [PluginCall] { completions.all.compactMap(\.pendingCall) }

    /// Whether a stale handle belongs to a cancelled completion, which the plugin may not know yet.
    func mayNotKnow(isStale handle: UInt64) -> Bool {
        owner.withLifecycle { $0.isRunning } && completions.mayNotKnow(isStale: handle)
    }

    /// Calls the plugin's `cancel` on another thread: the answer is no longer needed.
    ///
    /// - Parameters:
    ///   - completion: The id of the completion.
    ///   - then: Called once: when `cancel` has returned, or at once if it cannot be called.
    func sendCancel(_ completion: UInt64, then: @escaping @Sendable () -> Void) {
        // Counts as begun, so that it runs before quiesce; on another thread, because it may block.
        guard let cancel = hooks.cancel, enter(.cancel) else { return then() }
        cancellingThreads.run {
            self.owner.calling(.cancel) {
                cancel(self.pointer, outlet_completion(id: completion))
            }
            then()
            self.act(self.owner.withLifecycle { $0.leave() })
        }
    }

    private func cancelCompletions() {
        for completion in completions.all { cancel(completion) }
    }

    private func cancel(_ completion: Completion) {
        // Hooks that report an end always run.
        guard !completion.hook.runsDuringShutdown else { return }
        completion.cancel(
            PluginError(
                plugin: id, hook: completion.hook, kind: .closed,
                message: "it is being shut down"))
    }

    // MARK: The end

    /// Begins the shutdown: no more calls, then `quiesce`, then `destroy`.
    ///
    /// - Parameters:
    ///   - deadline: When the instance is abandoned if it has not been destroyed; a further call
    ///     can only bring it forward.
    ///   - isFault: Whether it counts as a violation of the plugin if the deadline passes.
    ///   - completion: Called once, when the instance is destroyed or abandoned; on the calling
    ///     thread if it already is.
    func shutDown(
        deadline: DispatchTime, isFault: Bool = true,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        let over = end.withLock { end -> Outcome? in
            switch end {
            case .running(var shutdown):
                shutdown.completions.append(completion)
                shutdown.deadline = min(shutdown.deadline, deadline)
                end = .running(shutdown)
                return nil
            case .over(let outcome): return outcome
            }
        }
        if let over {
            completion(over)
            return
        }
        // Counts as a call, so that the ends of calls are reported before quiesce.
        let isHeld = owner.withLifecycle { $0.enter() }
        // First, so that no hook begins for a request that goes on without the answers; a completion
        // that is added later is cancelled at once.
        act(owner.withLifecycle { $0.stop() })
        cancelCompletions()
        finishCalls()
        if isHeld { act(owner.withLifecycle { $0.leave() }) }
        end.withLock { end in
            guard case .running(var shutdown) = end else { return }
            shutdown.timers.append(
                DeadlineTimer(at: deadline) { self.deadlinePassed(isFault: isFault) })
            end = .running(shutdown)
        }
    }

    /// Handles the plugin's call of `quiesced`.
    ///
    /// - Returns: `OUTLET_OK`, or `OUTLET_E_STATE` if the host was not waiting for it.
    func quiesced() -> outlet_status {
        guard let action = owner.withLifecycle({ $0.quiesced() }) else {
            owner.recordViolation(
                .unaskedQuiesced, "quiesced() was called though the host was not waiting for it")
            return OUTLET_E_STATE
        }
        act(action)
        return OUTLET_OK
    }

    private func deadlinePassed(isFault: Bool) {
        let isQuiet = !owner.withLifecycle { $0.deadlinePassed() }
        let isOver = end.withLock { end in
            if case .over = end { true } else { false }
        }
        guard !isOver else { return }
        if isFault {
            owner.recordViolation(
                .didNotQuiesce,
                isQuiet
                    ? "destroy did not return in time"
                    : "it did not end its work in time and was abandoned")
        }
        owner.logLeftOut()
        finish(.abandoned)
    }

    private func act(_ action: PluginLifecycle.Action) {
        switch action {
        case .nothing: break
        // In their turn, because neither may run inside of a call of the plugin.
        case .callQuiesce: turns.run { self.quiesce() }
        case .callDestroy: turns.run { self.destroy() }
        }
    }

    private func quiesce() {
        // An abandoned plugin is not called again.
        guard owner.withLifecycle({ $0.isRunning }) else { return }
        var status = OUTLET_OK
        if let quiesce = descriptor.functions.quiesce {
            let call = CallContext(deadline: shutDownDeadline)
            let handle = HandleTable.shared.insert(call, owner: owner.number)
            status = owner.calling(.quiesce) { quiesce(pointer, outlet_call(id: handle)) }
            HandleTable.shared.remove(handle)
            if status != OUTLET_OK, status != OUTLET_PENDING {
                let reason = Redaction.standard.text(call.reason(status).message)
                owner.recordViolation(.forbiddenValue, "quiesce failed: \(reason)")
            }
        }
        let isPending = status == OUTLET_PENDING
        act(owner.withLifecycle { $0.quiesceReturned(isPending: isPending) })
    }

    /// When the instance is abandoned, in nanoseconds of `CLOCK_MONOTONIC`; 0 for never.
    private var shutDownDeadline: UInt64 {
        // Dispatch counts with the same clock on Linux.
        end.withLock { end in
            guard case .running(let shutdown) = end, shutdown.deadline < .distantFuture else {
                return 0
            }
            return shutdown.deadline.uptimeNanoseconds
        }
    }

    private func destroy() {
        owner.calling(.destroy) { descriptor.functions.destroy?(pointer) }
        owner.unregister()
        if descriptor.isSingle { SinglePlugins.release(descriptor.id) }
        finish(.destroyed)
    }

    private func finish(_ outcome: Outcome) {
        let shutdown = end.withLock { end -> Shutdown in
            guard case .running(let shutdown) = end else { return Shutdown() }
            end = .over(outcome)
            return shutdown
        }
        for timer in shutdown.timers { timer.cancel() }
        // An abandoned plugin may still be reading the objects passed to it: they are never freed.
        if case .destroyed = outcome { completions.forgetCancelled() }
        for completion in shutdown.completions { completion(outcome) }
    }
}

extension PluginHook {
    /// Whether requests wait for the hook; such hooks are not called while the plugin is suspended.
    fileprivate var isOfRequests: Bool {
        switch self {
        case .adapt, .prepare, .finalize, .willSend, .redirect, .retry, .didReceive, .process,
            .serialize, .trust, .streamPiece, .streamMake:
            true
        case .load, .create, .hooks, .reconfigure, .requestDone, .events, .httpDone, .timerDone,
            .streamEnd, .cancel, .call, .quiesce, .destroy:
            false
        }
    }

    /// Whether the request fails if the hook can no longer be called.
    var isNeeded: Bool {
        switch self {
        case .adapt, .prepare, .finalize, .redirect, .streamPiece, .streamMake: true
        default: false
        }
    }

    /// Whether the hook reports an end that no request waits for: it is called later if it must not
    /// overlap with calls that are running.
    var reportsEnd: Bool {
        switch self {
        case .requestDone, .httpDone, .timerDone, .streamEnd, .events: true
        default: false
        }
    }

    /// The hooks for which settings can set a deadline.
    static var answered: [PluginHook] {
        allCases.filter { $0.isOfRequests && $0 != .trust }
    }

    /// Whether the hook reports an end, and so is called also while shutting down: the plugin frees
    /// memory in it, or counts.
    var runsDuringShutdown: Bool {
        switch self {
        case .didReceive, .requestDone, .httpDone, .timerDone, .streamEnd, .events, .cancel: true
        default: false
        }
    }
}

/// Why the host does not perform a service for a plugin now.
enum ServiceObstacle: Error {
    /// It performs as many of this kind as it may.
    case isFull
    /// The plugin is being shut down.
    case isEnding
}
