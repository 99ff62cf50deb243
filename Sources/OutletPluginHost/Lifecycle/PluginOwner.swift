import CPluginLoad
import Glibc
import OutletSession
import OutletTransport
import Synchronization

/// The identity, permissions and call statistics of a plugin instance; exists before `create` and
/// after `destroy`.
///
/// Thread: any.
final class PluginOwner: Sendable {
    /// The plugin's id, with `#` and the name of the instance if there are several.
    let id: String
    /// The number of the plugin's library, which all plugins and instances in it share.
    private let library: UInt32
    /// What the plugin may do.
    let grants: Grants
    private let state: Lock<State>
    private let probe = PluginCallProbes.current
    /// Whether there was an observer at creation.
    private let isObserved: Bool

    private struct State {
        /// Retained while the plugin runs.
        ///
        /// The owner is never freed, so that late calls can be attributed.
        var observer: (any PluginObserver)?
        weak var lateObserver: (any PluginObserver)?
        var number: UInt16 = 0
        var counts: [PluginMisbehaviour.Kind: Int] = [:]
        /// Retained until the instance is destroyed; a weak reference would make every retain of
        /// the instance slower.
        var instance: PluginInstance?
        var calls = ActiveCalls()
        var lifecycle = PluginLifecycle()
        var breaker: CircuitBreaker
        var logLimit = LogLimit()
    }

    private let isUsingCallServices = Atomic(false)
    private let isEnded = Atomic(false)
    /// When request hooks are called again, in nanoseconds of the monotonic clock; 0 if never
    /// suspended.
    private let restsUntil = Atomic<UInt64>(0)

    init(
        id: String, in library: UInt32 = 0, grants: Grants = .none,
        observer: (any PluginObserver)?,
        breaker: CircuitBreaker.Rules = .init(maximumFaults: 0, window: 0, pause: 0)
    ) {
        self.id = id
        self.library = library
        self.grants = grants
        isObserved = observer != nil
        state = Lock(
            State(
                observer: observer, lateObserver: observer, breaker: CircuitBreaker(breaker)))
    }

    /// Whether request hooks are not called at present because of too many violations.
    var isTripped: Bool {
        let time = restsUntil.load(ordering: .relaxed)
        return time > 0 && Stopwatch.now < time
    }

    /// The statistics so far.
    var status: PluginStatus {
        let isTripped = isTripped
        return state.withLock { state in
            PluginStatus(
                id: id,
                hooks: Dictionary(
                    uniqueKeysWithValues: state.calls.totals.map { ($0.hook.rawValue, $0.total) }),
                faults: Dictionary(
                    uniqueKeysWithValues: state.counts.map { ($0.key.rawValue, $0.value) }),
                isTripped: isTripped, activeCalls: state.calls.count)
        }
    }

    /// The observer; after the plugin's end, only while other code retains it.
    // Inlined, because most owners have none, and each call of a hook asks.
    @inline(__always)
    var observer: (any PluginObserver)? { isObserved ? presentObserver : nil }

    private var presentObserver: (any PluginObserver)? {
        state.withLock { $0.observer ?? $0.lateObserver }
    }

    /// The owner's number, which is part of each of its handles; 0 before ``register()``.
    var number: UInt16 { state.withLock { $0.number } }
    /// The number of contract violations by kind.
    var misbehaviour: [PluginMisbehaviour.Kind: Int] { state.withLock { $0.counts } }

    /// Whether the plugin has requested a service that acts on behalf of a call.
    var usesCallServices: Bool {
        get { isUsingCallServices.load(ordering: .relaxed) }
        set { isUsingCallServices.store(newValue, ordering: .relaxed) }
    }

    /// The running instance; `nil` before `create` has returned and after `destroy`.
    var instance: PluginInstance? {
        get { state.withLock { $0.instance } }
        set { state.withLock { $0.instance = newValue } }
    }

    /// Whether `destroy` has returned.
    var hasEnded: Bool { isEnded.load(ordering: .relaxed) }

    /// Runs the plugin's code, and counts and times the call.
    ///
    /// - Parameters:
    ///   - hook: The hook that `body` calls.
    ///   - body: Calls the plugin.
    func calling<Result>(_ hook: PluginHook, _ body: () -> Result) -> Result {
        var call = ActiveCall(hook)
        return calling(&call, about: nil) { _ in body() }
    }

    /// Runs the plugin's code, and counts and times the call.
    ///
    /// - Parameters:
    ///   - call: The call, whose handles can be used until `body` has returned.
    ///   - subject: A description of the call for crash reports (``PluginWatch``); `nil` for none.
    ///   - body: Calls the plugin.
    // Inlined: otherwise all that `body` captures is retained for each call.
    @inline(__always)
    func calling<Result>(
        _ call: inout ActiveCall, about subject: @autoclosure () -> String?,
        _ body: (ActiveCall.Pointer) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &call) { call in
            state.withLock { $0.calls.begin(call, of: $0.number) }
            let result = running(call, about: subject(), body)
            let now = Stopwatch.now
            state.withLock { $0.calls.end(call, at: now) }
            return result
        }
    }

    /// Runs the plugin's code as ``calling(_:about:_:)``, in a call that a shutdown waits for.
    ///
    /// - Parameters:
    ///   - call: The call, whose handles can be used until `body` has returned.
    ///   - subject: A description of the call for crash reports (``PluginWatch``); `nil` for none.
    ///   - leave: Performs the action that follows the call.
    ///   - body: Calls the plugin.
    /// - Returns: `nil` if the plugin is shutting down, and `body` was not called.
    // Inlined, as `calling`; and one function, because it takes the lock twice and not four times.
    @inline(__always)
    func entering<Result>(
        _ call: inout ActiveCall, about subject: @autoclosure () -> String?,
        leave: (PluginLifecycle.Action) -> Void, _ body: (ActiveCall.Pointer) -> Result
    ) -> Result? {
        let hook = call.hook
        return withUnsafeMutablePointer(to: &call) { call in
            let isWanted = state.withLock { state in
                guard state.lifecycle.enter(hook) else { return false }
                state.calls.begin(call, of: state.number)
                return true
            }
            guard isWanted else { return nil }
            let result = running(call, about: subject(), body)
            let now = Stopwatch.now
            let action = state.withLock { state in
                state.calls.end(call, at: now)
                return state.lifecycle.leave()
            }
            leave(action)
            return result
        }
    }

    /// Reads or changes the lifecycle of the instance under the owner's lock.
    func withLifecycle<Result: Sendable>(_ body: (inout PluginLifecycle) -> Result) -> Result {
        state.withLock { body(&$0.lifecycle) }
    }

    /// Runs the plugin's code, and restores what it must not change.
    @inline(__always)
    private func running<Result>(
        _ call: ActiveCall.Pointer, about subject: @autoclosure () -> String?,
        _ body: (ActiveCall.Pointer) -> Result
    ) -> Result {
        let floats = cpluginload_expected_float_control()
        let result =
            if PluginWatch.isOn || probe != nil {
                watching(call.pointee.hook, about: PluginWatch.isOn ? subject() : nil) {
                    body(call)
                }
            } else {
                body(call)
            }
        if cpluginload_float_control() != floats { restore(floats, after: call.pointee.hook) }
        return result
    }

    /// Runs the plugin's code, and passes the call to crash reports and to the probe.
    private func watching<Result>(
        _ hook: PluginHook, about subject: String?, _ body: () -> Result
    ) -> Result {
        PluginWatch.watching(id, in: library, hook.rawValue, about: subject) {
            probe?.willCall(id, hook)
            defer { probe?.didCall(id, hook) }
            return body()
        }
    }

    /// Runs code of the program that the plugin has called; its time is not the plugin's.
    ///
    /// - Parameters:
    ///   - completion: The completion of the hook that has called it; `nil` for none.
    ///   - body: Calls the program.
    func runningProgram<Result>(in completion: Completion?, _ body: () -> Result) -> Result {
        let thread = UInt(pthread_self())
        let start = Stopwatch.now
        state.withLock { $0.calls.pause(on: thread, at: start) }
        completion?.pauseTime(at: start)
        let result = body()
        let end = Stopwatch.now
        completion?.resumeTime(at: end)
        state.withLock { $0.calls.goOn(on: thread, at: end) }
        return result
    }

    private func restore(_ floats: UInt64, after hook: PluginHook) {
        cpluginload_set_float_control(floats)
        recordViolation(
            .changedThread,
            "\(hook.rawValue): it changed the floating-point control of its thread, which was "
                + "restored")
    }

    /// The calls into the plugin that have not returned.
    var activeCalls: [PluginCall] {
        let (calls, instance) = state.withLock { ($0.calls.all(of: id), $0.instance) }
        return calls.map { call in
            var call = call
            call.limit = instance?.limits[call.hook]
            call.mustReturn = instance?.isNonblocking != false || call.hook == .trust
            return call
        }
    }

    /// Runs a closure if the hook that a completion was passed to is running, which does not end
    /// before the closure has.
    func ifRunning<Result: Sendable>(_ id: UInt64, _ body: () -> Result) -> Result? {
        state.withLock { $0.calls.contains(id) ? body() : nil }
    }

    /// Makes the id of a completion.
    func makeCompletionID() -> UInt64 {
        state.withLock { $0.calls.makeCompletionID(for: $0.number) }
    }

    /// The completion of a call that has not returned; makes it at the first call.
    ///
    /// - Returns: `nil` if the call has none.
    func completion(of call: ActiveCall.Pointer) -> Completion? {
        state.withLock { $0.calls.completion(of: call) }
    }

    /// The completion with this id whose hook is running, or whose answer is pending; also one that
    /// the host answered in the plugin's place, until the plugin has answered late.
    func completion(of id: UInt64) -> Completion? {
        let (running, instance) = state.withLock { ($0.calls.completion(of: id), $0.instance) }
        // A pending one is entered there before its call ends.
        return running ?? instance?.completions.completion(of: id)
    }

    /// Assigns the number by which C functions find the owner.
    ///
    /// - Returns: The number; 0 when all 65,535 have been used.
    func register() -> UInt16 {
        let number = HandleTable.shared.number(self)
        state.withLock { $0.number = number }
        if PluginWatch.isOn { PluginWatch.note(id, in: library) }
        return number
    }

    /// Counts a line of the log.
    func admit(_ level: PluginLogLine.Level, at time: UInt64) -> LogLimit.Verdict {
        state.withLock { $0.logLimit.admit(level, at: time) }
    }

    /// Removes and returns the numbers of lines that were left out (``LogLimit/takeLeftOut()``).
    func takeLeftOut() -> [(level: PluginLogLine.Level, count: Int)] {
        state.withLock { $0.logLimit.takeLeftOut() }
    }

    /// Releases the observer and the instance when the plugin has ended.
    func unregister() {
        logLeftOut()
        let released = state.withLock { state in
            (state.observer.take(), state.instance.take())
        }
        if released.1 != nil { isEnded.store(true, ordering: .relaxed) }
        withExtendedLifetime(released) {}
    }

    /// Records a contract violation, reports it, and suspends the plugin after too many.
    ///
    /// - Parameters:
    ///   - kind: Which part of the contract was violated.
    ///   - fact: What happened, in one sentence.
    ///   - hook: The hook in which it happened; by default that which this thread is running.
    ///   - request: The request that the hook was called for; by default that of this thread's hook.
    func recordViolation(
        _ kind: PluginMisbehaviour.Kind, _ fact: String, in hook: PluginHook? = nil,
        of request: String? = nil
    ) {
        let now = Stopwatch.now
        let thread = UInt(pthread_self())
        let (count, rest, running) = state.withLock { state in
            state.counts[kind, default: 0] += 1
            let rest = state.breaker.fault(at: now) ? state.breaker.opensAgain : nil
            return (state.counts[kind, default: 0], rest, state.calls.hook(on: thread))
        }
        let observer = observer
        observer?.pluginDidMisbehave(
            PluginMisbehaviour(
                plugin: id, kind: kind, count: count, fact: fact, hook: hook ?? running,
                request: hook == nil && running != nil ? PluginWatch.subject : request))
        guard let rest else { return }
        restsUntil.store(rest, ordering: .relaxed)
        observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .error,
                message: "it violated its contract too often, and is suspended for "
                    + "\(Double(rest - now) / 1e9) s",
                facts: []))
    }
}
