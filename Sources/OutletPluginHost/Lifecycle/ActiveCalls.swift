import OutletSession
import OutletTransport

/// The calls into one plugin that have not returned, and totals of those that have.
///
/// A value; the owner holds the lock.
struct ActiveCalls: Sendable {
    private struct Call: Sendable {
        let number: UInt64
        let hook: PluginHook
        let start: UInt64
        /// The completion of a hook that has one; other threads of the plugin may use its handles.
        let completion: Completion?
    }

    private var calls: [Call] = []
    private var last: UInt64 = 0
    /// Totals of returned calls by hook; a list, because it is short and searched at each call.
    private(set) var totals: [(hook: PluginHook, total: PluginStatus.Hook)] = []

    /// Records the start of a call.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - completion: The completion passed to the hook; `nil` if there is none.
    /// - Returns: The number to pass to ``end(_:)``.
    mutating func begin(_ hook: PluginHook, _ completion: Completion?) -> UInt64 {
        last += 1
        calls.append(
            Call(number: last, hook: hook, start: Stopwatch.now, completion: completion))
        return last
    }

    /// The completion with this id that was passed to a hook that is running; `nil` for none.
    func completion(of id: UInt64) -> Completion? {
        calls.first { $0.completion?.id == id }?.completion
    }

    /// Records the end of a call.
    mutating func end(_ number: UInt64) {
        guard let index = calls.lastIndex(where: { $0.number == number }) else { return }
        // Usually the last one: `remove(at:)` would cost more than the rest.
        calls.swapAt(index, calls.count - 1)
        let call = calls.removeLast()
        let duration = Stopwatch.now &- call.start
        guard let index = totals.firstIndex(where: { $0.hook == call.hook }) else {
            totals.append(
                (call.hook, PluginStatus.Hook(calls: 1, duration: duration, longest: duration)))
            return
        }
        totals[index].total.add(duration)
    }

    /// The number of calls that have not returned.
    var count: Int { calls.count }

    /// The calls that have not returned, with their duration until now.
    func all(of plugin: String) -> [PluginCall] {
        let now = Stopwatch.now
        return calls.map {
            PluginCall(plugin: plugin, hook: $0.hook, duration: now - $0.start)
        }
    }
}

/// A call into a plugin that has not returned, or that has returned `OUTLET_PENDING` and not
/// answered yet.
public struct PluginCall: Sendable, Equatable {
    /// The plugin's id; while its library is being loaded, the path of the file.
    public var plugin: String
    /// The hook.
    public var hook: PluginHook
    /// The time since the call began, in nanoseconds.
    public var duration: UInt64
    /// Whether the hook has returned and its answer is pending.
    public var isPromise = false
}

extension PluginStatus.Hook {
    /// Adds a call.
    ///
    /// - Parameter duration: The call's duration in nanoseconds.
    fileprivate mutating func add(_ duration: UInt64) {
        calls += 1
        self.duration &+= duration
        longest = max(longest, duration)
    }
}
