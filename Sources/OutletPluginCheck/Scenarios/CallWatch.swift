import Glibc
import OutletPluginHost
import OutletTransport
import Synchronization

/// Calls a closure directly before or after the first call of a hook, on the thread of the call.
final class HookTrap: PluginCallProbe {
    /// A point directly before or after a hook.
    struct Place: Sendable, CustomStringConvertible {
        let hook: PluginHook
        let isBehind: Bool

        var description: String { "\(isBehind ? "behind" : "before") \(hook.rawValue)" }
    }

    private let place: Place
    private let body: @Sendable () -> Void
    private let counts = Lock([PluginHook: Int]())

    init(_ place: Place, _ body: @escaping @Sendable () -> Void) {
        self.place = place
        self.body = body
    }

    /// The number of calls of each hook that have begun.
    var entered: [PluginHook: Int] { counts.withLock { $0 } }

    func willCall(_ plugin: String, _ hook: PluginHook) {
        let isFirst = counts.withLock { counts in
            counts[hook, default: 0] += 1
            return counts[hook] == 1
        }
        if isFirst, !place.isBehind, hook == place.hook { body() }
    }

    func didCall(_ plugin: String, _ hook: PluginHook) {
        guard place.isBehind, hook == place.hook, entered[hook] == 1 else { return }
        body()
    }
}

/// Measures state before and after each call into a plugin, on the thread of the call.
final class CallMeter<State: Sendable>: PluginCallProbe {
    private let measure: @Sendable () -> State
    private let compare: @Sendable (_ plugin: String, _ hook: PluginHook, State, State) -> Void
    /// The states measured before the calls that each thread is in, the innermost last.
    private let before = Lock([pthread_t: [State]]())

    init(
        _ measure: @escaping @Sendable () -> State,
        compare: @escaping @Sendable (String, PluginHook, State, State) -> Void
    ) {
        self.measure = measure
        self.compare = compare
    }

    func willCall(_ plugin: String, _ hook: PluginHook) {
        let thread = pthread_self()
        // Measured last, because waiting for the lock also takes time.
        before.withLock { $0[thread, default: []].append(measure()) }
    }

    func didCall(_ plugin: String, _ hook: PluginHook) {
        let thread = pthread_self()
        let after = measure()
        guard let state = before.withLock({ $0[thread]?.popLast() }) else { return }
        compare(plugin, hook, state, after)
    }
}

/// Passes on the first calls of each hook of a plugin, and few of the further ones.
///
/// For probes that take long: a plugin that passes a body on in small pieces is called very often for
/// one request.
final class SampledCalls: PluginCallProbe {
    private struct Hook: Hashable {
        let plugin: String
        let hook: PluginHook
    }

    private struct State {
        /// The number of calls of each hook that have begun.
        var counts: [Hook: Int] = [:]
        /// For each thread, whether the calls that it is in were passed on, the innermost last.
        var isPassedOn: [pthread_t: [Bool]] = [:]
    }

    /// The first calls of a hook, which are all passed on.
    private static let firstCalls = 200
    /// Of the further calls, one in so many is passed on.
    private static let interval = 64

    private let probe: any PluginCallProbe
    private let state = Lock(State())

    /// Creates a probe that passes calls on to another one.
    init(_ probe: any PluginCallProbe) { self.probe = probe }

    func willCall(_ plugin: String, _ hook: PluginHook) {
        let thread = pthread_self()
        let isPassedOn = state.withLock { state in
            let count = state.counts[Hook(plugin: plugin, hook: hook), default: 0]
            let isPassedOn = count < Self.firstCalls || count % Self.interval == 0
            state.counts[Hook(plugin: plugin, hook: hook)] = count + 1
            state.isPassedOn[thread, default: []].append(isPassedOn)
            return isPassedOn
        }
        if isPassedOn { probe.willCall(plugin, hook) }
    }

    func didCall(_ plugin: String, _ hook: PluginHook) {
        let thread = pthread_self()
        if state.withLock({ $0.isPassedOn[thread]?.popLast() }) == true {
            probe.didCall(plugin, hook)
        }
    }
}

/// Unblocks all signals in each call, so that a probe finds those that the plugin blocks: most are blocked
/// on the threads of Dispatch, on which plugins are called here, but not on those of other programs.
final class UnblockedCalls: PluginCallProbe {
    private let probe: any PluginCallProbe
    /// The signals that were blocked before the calls that each thread is in, the innermost last.
    private let blocked = Lock([pthread_t: [sigset_t]]())

    /// Creates a probe that passes calls on to another one.
    init(_ probe: any PluginCallProbe) { self.probe = probe }

    func willCall(_ plugin: String, _ hook: PluginHook) {
        var (none, former) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        blocked.withLock { [former] in $0[pthread_self(), default: []].append(former) }
        probe.willCall(plugin, hook)
    }

    func didCall(_ plugin: String, _ hook: PluginHook) {
        probe.didCall(plugin, hook)
        guard var former = blocked.withLock({ $0[pthread_self()]?.popLast() }) else { return }
        pthread_sigmask(SIG_SETMASK, &former, nil)
    }
}

/// Cancels each request when a hook has returned, before its answer has been processed.
final class HookCanceller: PluginCallProbe {
    private let state = Lock<(hook: PluginHook, cancel: @Sendable () -> Void)?>(nil)

    /// Sets the closure that cancels the next request, and the hook behind which to call it.
    func set(_ cancel: @escaping @Sendable () -> Void, in hook: PluginHook) {
        state.withLock { $0 = (hook, cancel) }
    }

    func willCall(_ plugin: String, _ hook: PluginHook) {}

    func didCall(_ plugin: String, _ hook: PluginHook) {
        let cancel = state.withLock { state in
            guard state?.hook == hook else { return (@Sendable () -> Void)?.none }
            return state.take()?.cancel
        }
        cancel?()
    }
}

/// Counts the calls that have returned: in a step that hangs, the count does not change.
final class CallCounter: PluginCallProbe {
    private let calls = Atomic(0)

    /// The number of calls that have returned.
    var count: Int { calls.load(ordering: .relaxed) }

    func willCall(_ plugin: String, _ hook: PluginHook) {}

    func didCall(_ plugin: String, _ hook: PluginHook) { calls.add(1, ordering: .relaxed) }
}

/// Passes calls to several probes.
final class CallProbes: PluginCallProbe {
    private let probes: [any PluginCallProbe]

    init(_ probes: any PluginCallProbe...) { self.probes = probes }

    func willCall(_ plugin: String, _ hook: PluginHook) {
        for probe in probes { probe.willCall(plugin, hook) }
    }

    func didCall(_ plugin: String, _ hook: PluginHook) {
        for probe in probes.reversed() { probe.didCall(plugin, hook) }
    }
}
