import OutletSession
import OutletTransport

/// The calls into one plugin that have not come back.
///
/// A value: its owner has the lock.
struct CallsUnderWay: Sendable {
    private struct Call: Sendable {
        let number: UInt64
        let hook: PluginHook
        let start: UInt64
    }

    private var calls: [Call] = []
    private var last: UInt64 = 0
    /// Of those that have come back; a list, because it is short, and looked through at each call.
    private(set) var totals: [(hook: PluginHook, total: PluginStatus.Hook)] = []

    /// A call goes in; returns what ``end(_:)`` is to be given.
    mutating func begin(_ hook: PluginHook) -> UInt64 {
        last += 1
        calls.append(Call(number: last, hook: hook, start: Stopwatch.now))
        return last
    }

    /// A call has come back.
    mutating func end(_ number: UInt64) {
        guard let index = calls.lastIndex(where: { $0.number == number }) else { return }
        let call = calls.remove(at: index)
        let duration = Stopwatch.now &- call.start
        guard let index = totals.firstIndex(where: { $0.hook == call.hook }) else {
            totals.append(
                (call.hook, PluginStatus.Hook(calls: 1, duration: duration, longest: duration)))
            return
        }
        totals[index].total.add(duration)
    }

    /// How many are inside now.
    var count: Int { calls.count }

    /// What is inside now.
    func all(of plugin: String) -> [PluginCall] {
        let now = Stopwatch.now
        return calls.map {
            PluginCall(plugin: plugin, hook: $0.hook, duration: now - $0.start)
        }
    }
}

/// A call into a plugin that has not come back, or has promised an answer and not given it.
public struct PluginCall: Sendable, Equatable {
    /// The plugin's id, or while its library is loaded the file.
    public var plugin: String
    /// The moment.
    public var hook: PluginHook
    /// How long it has taken so far, in nanoseconds.
    public var duration: UInt64
    /// Whether it has come back, and its answer is waited for.
    public var isPromise = false
}

extension PluginStatus.Hook {
    /// One more call, which took so many nanoseconds.
    fileprivate mutating func add(_ duration: UInt64) {
        calls += 1
        self.duration &+= duration
        longest = max(longest, duration)
    }
}
