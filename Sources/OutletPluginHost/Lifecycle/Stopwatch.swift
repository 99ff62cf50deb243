import FoundationEssentials
import Glibc

/// Measures one call of a plugin, if anybody wants to know.
struct Stopwatch {
    private let observer: (any PluginObserver)?
    private let start: UInt64

    init(_ observer: (any PluginObserver)?) {
        self.observer = observer
        start = observer == nil ? 0 : Stopwatch.now
    }

    /// Nanoseconds of the monotonic clock.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Tells the observer, if there is one.
    func report(
        _ owner: PluginOwner, _ hook: PluginHook, requestID: UUID?,
        effects: () -> [String], failure: String?
    ) {
        guard let observer else { return }
        observer.pluginDidAct(
            PluginActivity(
                plugin: owner.id, hook: hook, requestID: requestID?.uuidString,
                duration: Stopwatch.now - start, effects: effects(), failure: failure))
    }
}
