import FoundationEssentials
import Glibc

/// Measures one call of a plugin where there is an observer.
struct Stopwatch {
    private let observer: (any PluginObserver)?
    private let start: UInt64

    init(_ observer: (any PluginObserver)?) {
        self.observer = observer
        start = observer == nil ? 0 : Stopwatch.now
    }

    /// Whether there is an observer.
    var isRunning: Bool { observer != nil }

    /// The monotonic clock in nanoseconds.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(bitPattern: Int64(time.tv_sec &* 1_000_000_000 &+ time.tv_nsec))
    }

    /// Reports the call to the observer, if there is one.
    ///
    /// The arguments after `hook` are evaluated only if there is an observer.
    ///
    /// - Parameters:
    ///   - owner: The plugin.
    ///   - hook: The hook that was called.
    ///   - requestID: The id of the request that the call is about; `nil` for none.
    ///   - effects: What the call changed (``PluginActivity/effects``).
    ///   - failure: Why the call failed; `nil` if it succeeded.
    ///   - retryDelay: The delay of a retry in seconds; `nil` for none.
    ///   - refusals: The changes that the host has refused.
    func report(
        _ owner: PluginOwner, _ hook: PluginHook, requestID: @autoclosure () -> UUID?,
        effects: @autoclosure () -> [String], failure: @autoclosure () -> PluginError?,
        retryDelay: @autoclosure () -> Double? = nil,
        refusals: @autoclosure () -> [String] = []
    ) {
        guard let observer else { return }
        let failure = failure()
        observer.pluginDidAct(
            PluginActivity(
                plugin: owner.id, hook: hook, requestID: requestID()?.uuidString,
                duration: Stopwatch.now - start, effects: effects(),
                failure: failure?.message, reasonFault: failure?.reasonFault,
                retryDelay: retryDelay(), refusals: refusals()))
    }
}

extension UInt64 {
    /// The sum, or the largest number if that is too large: a time that never comes.
    func adding(_ other: UInt64) -> UInt64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}
