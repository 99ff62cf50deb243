import OutletSession
import OutletTransport
import Synchronization

/// Who a plugin instance is to the host: known before `create`, and still after `destroy`.
///
/// Thread: any.
final class PluginOwner: Sendable {
    /// The plugin's id, with `#` and the name of the instance if there are several.
    let id: String
    /// What the plugin may do.
    let grants: Grants
    private let state: Lock<State>
    private let probe = PluginCallProbes.current
    /// Whether anybody receives what the plugin does.
    private let isObserved: Bool

    private struct State {
        /// Kept while the plugin runs; the owner itself stays for good, to be blamed for late calls.
        var observer: (any PluginObserver)?
        weak var lateObserver: (any PluginObserver)?
        var number: UInt16 = 0
        var counts: [PluginMisbehaviour.Kind: Int] = [:]
        weak var instance: PluginInstance?
        var calls = CallsUnderWay()
        var usesCallServices = false
        var breaker: CircuitBreaker
    }

    /// When the plugin is called again, in nanoseconds of the monotonic clock; 0 where it is called.
    private let restsUntil = Atomic<UInt64>(0)

    init(
        id: String, grants: Grants = .none, observer: (any PluginObserver)?,
        breaker: CircuitBreaker.Rules = .init(maximumFaults: 0, window: 0, pause: 0)
    ) {
        self.id = id
        self.grants = grants
        isObserved = observer != nil
        state = Lock(
            State(
                observer: observer, lateObserver: observer, breaker: CircuitBreaker(breaker)))
    }

    /// Whether the plugin is left alone for a while, because of too many faults.
    var isTripped: Bool {
        let time = restsUntil.load(ordering: .relaxed)
        return time > 0 && Stopwatch.now < time
    }

    /// What the plugin has done so far.
    var status: PluginStatus {
        let isTripped = isTripped
        return state.withLock { state in
            PluginStatus(
                id: id,
                hooks: Dictionary(
                    uniqueKeysWithValues: state.calls.totals.map { ($0.hook.rawValue, $0.total) }),
                faults: Dictionary(
                    uniqueKeysWithValues: state.counts.map { ($0.key.rawValue, $0.value) }),
                isTripped: isTripped, callsUnderWay: state.calls.count)
        }
    }

    /// Receives what the plugin does.
    var observer: (any PluginObserver)? {
        isObserved ? state.withLock { $0.observer ?? $0.lateObserver } : nil
    }

    /// The owner's part of each of its handles.
    var number: UInt16 { state.withLock { $0.number } }
    /// How often the plugin broke the contract.
    var misbehaviour: [PluginMisbehaviour.Kind: Int] { state.withLock { $0.counts } }

    /// Whether the plugin has asked for a service that does something for a call.
    var usesCallServices: Bool {
        get { state.withLock { $0.usesCallServices } }
        set { state.withLock { $0.usesCallServices = newValue } }
    }

    /// The running instance, from after `create` until it is gone.
    var instance: PluginInstance? {
        get { state.withLock { $0.instance } }
        set { state.withLock { $0.instance = newValue } }
    }

    /// Runs the plugin's code.
    ///
    /// - Parameter subject: What the call is about, where ends are reported (``PluginWatch``).
    func calling<Result>(
        _ hook: PluginHook, about subject: String? = nil, _ body: () -> Result
    ) -> Result {
        let number = state.withLock { $0.calls.begin(hook) }
        defer { state.withLock { $0.calls.end(number) } }
        return PluginWatch.watching(id, hook.rawValue, about: subject) {
            probe?.willCall(id, hook)
            defer { probe?.didCall(id, hook) }
            return body()
        }
    }

    /// The calls into the plugin that have not come back.
    var callsUnderWay: [PluginCall] { state.withLock { $0.calls }.all(of: id) }

    /// Makes the owner known to C.
    ///
    /// - Returns: Its number; 0 when there have been 65,535 owners.
    func register() -> UInt16 {
        let number = HandleTable.shared.number(self)
        state.withLock { $0.number = number }
        return number
    }

    /// Ends the plugin's service; its later calls are stale.
    func unregister() {
        let observer = state.withLock { state in
            defer { state.observer = nil }
            return state.observer
        }
        withExtendedLifetime(observer) {}
    }

    /// Takes note of a broken contract.
    func note(_ kind: PluginMisbehaviour.Kind, _ fact: String) {
        let now = Stopwatch.now
        let (count, rest) = state.withLock { state in
            state.counts[kind, default: 0] += 1
            let rest = state.breaker.fault(at: now) ? state.breaker.opensAgain : nil
            return (state.counts[kind, default: 0], rest)
        }
        let observer = observer
        observer?.pluginDidMisbehave(
            PluginMisbehaviour(plugin: id, kind: kind, count: count, fact: fact))
        guard let rest else { return }
        restsUntil.store(rest, ordering: .relaxed)
        observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .error,
                message: "it failed its contract too often, and is left alone for "
                    + "\(Double(rest - now) / 1e9) s",
                facts: []))
    }
}
