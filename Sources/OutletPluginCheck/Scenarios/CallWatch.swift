import Glibc
import OutletPluginHost
import OutletTransport

/// Calls `body` directly before or behind the first call of a hook.
final class HookTrap: PluginCallProbe {
    /// One side of a hook.
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

    /// How often each hook was entered.
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

/// Measures something before and behind each call into a plugin, on the thread of the call.
final class CallMeter<State: Sendable>: PluginCallProbe {
    private let measure: @Sendable () -> State
    private let compare: @Sendable (_ plugin: String, _ hook: PluginHook, State, State) -> Void
    /// What was measured before the calls that each thread is in.
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
        // Last, because the lock and the list take their time, too.
        before.withLock { $0[thread, default: []].append(measure()) }
    }

    func didCall(_ plugin: String, _ hook: PluginHook) {
        let thread = pthread_self()
        let after = measure()
        guard let state = before.withLock({ $0[thread]?.popLast() }) else { return }
        compare(plugin, hook, state, after)
    }
}
