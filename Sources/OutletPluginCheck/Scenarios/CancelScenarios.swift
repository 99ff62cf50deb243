import CPluginCheck
import OutletHTTP
import OutletPluginHost
import OutletTransport

/// The test that cancels requests.
extension CheckSubject {
    /// Cancels a request before and after each hook, and measures how long `cancel` waits.
    func checkCancelling() async throws {
        let meter = cancelMeter
        try await atEachHook { place, observer in
            let cancel = Lock<(@Sendable () -> Void)?>(nil)
            let trap = HookTrap(place) { cancel.withLock { $0 }?() }
            setProbe(CallProbes(trap, meter))
            let host = try load(observer)
            await call(through: host, watchedBy: observer) { end in
                cancel.withLock { $0 = end }
            }
            await end(host)
            return trap
        }
        // Where a request is the last one, the shutdown may come before the call of `cancel`.
        try await withCancelledRequests(measuredBy: meter) { cancel in
            for number in 0..<12 where !report.hasFailed { await cancel(number) }
        }
    }

    /// Loads the plugins, cancels requests in hooks that can answer later, and shuts down.
    ///
    /// - Parameters:
    ///   - probe: Receives the calls into the plugins.
    ///   - others: The ids of plugins of the file that are not loaded.
    ///   - body: Receives a function that sends a request and cancels it behind a hook, which its
    ///     argument selects. Not called if the plugins have no such hooks.
    func withCancelledRequests(
        measuredBy probe: (any PluginCallProbe)? = nil, without others: [String] = [],
        _ body: (_ cancel: (Int) async -> Void) async -> Void
    ) async throws {
        guard !report.hasFailed else { return }
        let canceller = HookCanceller()
        setProbe(probe.map { CallProbes(canceller, $0) as any PluginCallProbe } ?? canceller)
        defer { removeProbe() }
        let observer = CheckObserver(report, ignoring: [.neverSettled])
        let host = try load(observer, without: others)
        let hooks = PluginHook.allCases.filter { hook in
            hook.canAnswerLater && host.plugins.contains { $0.hooks.contains(hook) }
        }
        if !hooks.isEmpty {
            await body { number in
                let hook = hooks[number % hooks.count]
                report.step("cancel request \(number + 1) behind \(hook.rawValue)")
                await call(through: host, watchedBy: observer) { canceller.set($0, in: hook) }
            }
        }
        await end(host)
    }

    /// Reports calls of `cancel` that wait or compute for a second.
    private var cancelMeter: CallMeter<(usage: cplugincheck_usage, time: ContinuousClock.Instant)> {
        let report = report
        return CallMeter({ (cplugincheck_thread_usage(), .now) }) { plugin, hook, before, after in
            let time = after.time - before.time
            // A busy machine can delay a call that neither waits nor computes for long.
            let isOwnTime =
                after.usage.waits > before.usage.waits
                || after.usage.cpu_ns - before.usage.cpu_ns >= 1_000_000_000
            guard hook == .cancel, time >= .seconds(1), isOwnTime else { return }
            report.find(
                .callNonblocking,
                "\(plugin): cancel must not block, and took \(Int(time / .milliseconds(1))) ms",
                advice: "only tell the thread that does the work, and return")
        }
    }
}

extension PluginHook {
    /// Whether it may return `OUTLET_PENDING` for a request.
    fileprivate var canAnswerLater: Bool {
        [.adapt, .prepare, .finalize, .redirect, .retry, .process].contains(self)
    }
}
