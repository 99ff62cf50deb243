import CPluginCheck
import Glibc
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTesting
import OutletTransport

/// The tests of hooks, driven by a session without a network.
extension CheckSubject {
    /// Sends requests one after another.
    func checkHooks() async throws {
        let observer = CheckObserver(report)
        let host = try load(observer)
        await send(
            60, through: host, watchedBy: observer, ofAllKinds: true, requests: requests)
        observer.noteRefusals()
        ask(host)
        await end(host)
        await lookForLateWork()
    }

    /// Sends concurrent requests, the last of them while the plugin is shutting down.
    func checkOverlap() async throws {
        let observer = CheckObserver(report)
        let host = try load(observer)
        let requests = requests
        let width = await send(
            64, through: host, watchedBy: observer, width: 16, ofAllKinds: true,
            requests: requests)
        let most = width < 16 ? width : 32
        async let rest = send(
            most, through: host, watchedBy: observer, width: most, requests: requests)
        await end(host)
        _ = await rest
    }

    /// Waits 100 ms for threads that the plugin left running to make forbidden calls, and reports
    /// those that still work later.
    ///
    /// A thread that waits is no violation, nor one that wakes now and then: it may belong to a library,
    /// such as the threads of Dispatch in a Swift plugin. One that is about to end has a second for
    /// that.
    private func lookForLateWork() async {
        report.step("wait for late calls")
        try? await Task.sleep(for: .milliseconds(100))
        guard !PluginWatch.threads.isEmpty, !report.hasFailed else { return }
        for _ in 0..<10 {
            report.step("wait for threads to end")
            try? await Task.sleep(for: .milliseconds(100))
        }
        var used: [Int32: UInt64] = [:]
        var working: [Int32: Int] = [:]
        for _ in 0..<20 {
            report.step("look for threads that work")
            for thread in PluginWatch.threads {
                let now = cplugincheck_cpu_of(thread.number)
                let before = used.updateValue(now, forKey: thread.number) ?? now
                guard now > before else { continue }
                working[thread.number, default: 0] += 1
                guard working[thread.number] == 10 else { continue }
                return report.find(
                    .endInTime,
                    "\(thread.plugin): a thread that it has started still works over a second "
                        + "after its instances were destroyed")
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Sends requests with a deadline of 1 ms for hooks.
    func checkDeadlines() async throws {
        let observer = CheckObserver(report, ignoring: [.neverSettled])
        let host = try load(observer, deadline: .milliseconds(1))
        await send(32, through: host, watchedBy: observer, width: 4, requests: requests)
        await end(host)
    }

    // MARK: At each hook

    /// Shuts the plugin down before and after each hook, while a request is active.
    func checkShutdown() async throws {
        try await atEachHook { place, observer in
            let (reached, signal) = AsyncStream.makeStream(of: Void.self)
            let trap = HookTrap(place) { signal.yield() }
            setProbe(trap)
            let host = try load(observer)
            async let shutdown: Void = {
                for await _ in reached { break }
                await end(host)
            }()
            await call(through: host, watchedBy: observer)
            signal.finish()
            await shutdown
            return trap
        }
    }

    /// Runs a test before and after each hook that the plugins implement.
    ///
    /// - Parameter body: Loads the plugins with the observer, sends one request and shuts them
    ///   down; returns the trap it set.
    func atEachHook(
        _ body: (HookTrap.Place, CheckObserver) async throws -> HookTrap
    ) async throws {
        let first = try load()
        let hooks = PluginHook.allCases.filter { hook in
            first.plugins.contains { $0.hooks.contains(hook) }
        }
        let counted = first.plugins.filter { $0.hooks.contains(.requestDone) }.count
        await end(first)
        guard !hooks.isEmpty else { return report.skip("it has no hooks") }
        defer { removeProbe() }
        let places = hooks.flatMap { hook in
            [false, true].map { HookTrap.Place(hook: hook, isBehind: $0) }
        }
        for place in places where !report.hasFailed {
            report.step("\(job.test.rawValue) \(place)")
            let trap = try await body(place, CheckObserver(report, ignoring: [.neverSettled]))
            let done = trap.entered[.requestDone] ?? 0
            if done > counted {
                report.find(
                    .callReturns, "request_done came \(done) times for one request, \(place)")
            }
        }
    }

    /// Sends one request that is redirected, fails and succeeds.
    func call(
        through host: PluginHost, watchedBy observer: CheckObserver,
        begun: (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) async {
        let transport = StubTransport(
            answers: [.redirect(302, to: "/next"), .status(503), .text("x")])
        let session = Session(transport: transport, plugins: host)
        await send(
            requests.request(), over: session, watchedBy: observer, begun: begun)
        withExtendedLifetime(session) {}
    }

    // MARK: Measured

    /// Measures how often hooks of plugins with `OUTLET_F_NONBLOCKING` wait.
    func checkNonblocking() async throws {
        let used = Lock([MeasuredHook: [Usage]]())
        let meter = CallMeter({ Usage() }) { plugin, hook, before, after in
            let usage = after.since(before)
            used.withLock {
                $0[MeasuredHook(plugin: plugin, hook: hook), default: []].append(usage)
            }
        }
        setProbe(meter)
        defer { removeProbe() }
        let observer = CheckObserver(report)
        let host = try load(observer)
        let quick = Set(host.plugins.filter(\.isNonblocking).map(\.id))
        guard !quick.isEmpty else {
            await end(host)
            return report.skip("no plugin says OUTLET_F_NONBLOCKING")
        }
        await send(30, through: host, watchedBy: observer, requests: requests)
        // Of the generated requests, few are redirected.
        for number in 0..<Self.leastMeasured * 2 where !report.hasFailed && !isLate {
            report.step("request \(number + 1) with a redirect and a failure")
            await call(through: host, watchedBy: observer)
        }
        ask(host, rounds: 4)
        await end(host)
        let all = used.withLock { $0 }
        for (measured, usages) in all
        where quick.contains(measured.plugin) && !Self.unpromised.contains(measured.hook) {
            reportWaits(measured, usages)
        }
        guard !report.hasFailed else { return }
        for plugin in host.plugins where plugin.isNonblocking {
            noteUnmeasured(
                plugin.id, all.filter { $0.key.plugin == plugin.id }.mapValues(\.count),
                of: plugin.hooks)
        }
    }

    /// Notes the hooks of a plugin that were called too seldom to be measured.
    ///
    /// - Parameters:
    ///   - plugin: The id of the plugin.
    ///   - counts: The numbers of calls.
    ///   - hooks: The hooks that it implements; others are functions that it passes to services.
    private func noteUnmeasured(
        _ plugin: String, _ counts: [MeasuredHook: Int], of hooks: [PluginHook]
    ) {
        // The test of `cancel` has cancelled requests.
        for hook in PluginHook.allCases where hook != .cancel && !Self.unpromised.contains(hook) {
            let count = counts[MeasuredHook(plugin: plugin, hook: hook)] ?? 0
            guard count < Self.leastMeasured, count > 0 || hooks.contains(hook) else { continue }
            report.note(
                "\(plugin): \(hook.rawValue) was called \(count) times only, too seldom to measure "
                    + "whether it waits: \(Self.leastMeasured) calls are needed")
        }
    }

    /// The number of calls from which on a hook is measured.
    private static let leastMeasured = 5

    /// Reports a hook that waited in more than half of its calls, or that in a sixth of them waited
    /// for over 1 ms or computed for over 5 ms.
    ///
    /// Single waits are no violation: a page fault or a lock of the host can cause them. Hooks with
    /// fewer than ``leastMeasured`` calls are not checked.
    private func reportWaits(_ measured: MeasuredHook, _ usages: [Usage]) {
        guard usages.count >= Self.leastMeasured else { return }
        let name = "\(measured.plugin): \(measured.hook.rawValue)"
        let most = max(3, usages.count / 6)
        let waiting = usages.count { $0.waits > 0 }
        let longWaiting = usages.count { $0.waits > 0 && $0.time > .milliseconds(1) }
        let long = usages.count { $0.computing > .milliseconds(5) }
        if waiting > usages.count / 2 {
            report.find(.callNonblocking, "\(name) waited in \(waiting) of \(usages.count) calls")
        } else if longWaiting >= most {
            report.find(
                .callNonblocking,
                "\(name) waited for over 1 ms in \(longWaiting) of \(usages.count) calls")
        } else if long >= most {
            report.find(
                .callNonblocking, "\(name) computed over 5 ms in \(long) of \(usages.count) calls")
        }
    }

    /// What the current thread has used, and when.
    private struct Usage: Sendable {
        var computing: Duration
        var waits: UInt64
        private let measured = ContinuousClock.now
        /// The time since another measurement.
        private(set) var time = Duration.zero

        init() {
            let usage = cplugincheck_thread_usage()
            computing = .nanoseconds(usage.cpu_ns)
            waits = usage.waits
        }

        func since(_ before: Usage) -> Usage {
            var usage = self
            usage.computing -= before.computing
            usage.waits -= before.waits
            usage.time = measured - before.measured
            return usage
        }
    }

    private struct MeasuredHook: Hashable {
        let plugin: String
        let hook: PluginHook
    }

    /// The calls that may wait in spite of `OUTLET_F_NONBLOCKING`.
    private static let unpromised: Set<PluginHook> = [
        .load, .create, .hooks, .reconfigure, .call, .serialize, .quiesce, .destroy,
    ]

    /// Compares the state of the process and of the thread before and after each call.
    func checkState() async throws {
        struct State: Sendable {
            let process = ProcessSnapshot()
            let thread = cplugincheck_thread_state()
            let kernel = KernelState()
        }
        let report = report
        let meter = CallMeter({ State() }) { plugin, hook, before, after in
            let place = "\(plugin): \(hook.rawValue) changes"
            let changes = after.process.changes(since: before.process)
            if !changes.isEmpty {
                report.find(.stateProcess, "\(place) \(changes.joined(separator: ", "))")
            }
            let threadChanges =
                after.thread.changes(since: before.thread)
                + after.kernel.changes(since: before.kernel)
            if !threadChanges.isEmpty {
                report.find(.stateThread, "\(place) \(threadChanges.joined(separator: ", "))")
            }
            cplugincheck_restore_thread(before.thread)
        }
        let calls = UnblockedCalls(SampledCalls(meter))
        setProbe(calls)
        defer { removeProbe() }
        let before = ProcessSnapshot()
        let observer = CheckObserver(report)
        let host = try load(observer)
        await send(20, through: host, watchedBy: observer, requests: requests)
        callFunctions(of: host, count: 4)
        ask(host)
        for plugin in host.plugins where plugin.isReconfigurable {
            reconfigure(plugin, with: job.configuration[plugin.id] ?? "{}")
        }
        await end(host)
        try await withCancelledRequests(measuredBy: calls) { cancel in
            for number in 0..<6 where !report.hasFailed { await cancel(number) }
        }
        let changes = ProcessSnapshot().changes(since: before)
        if !changes.isEmpty {
            report.find(.stateProcess, "it has changed \(changes.joined(separator: ", "))")
        }
    }

    /// Sends requests and shuts down; ``PluginCheckChild/run()`` then ends the process normally.
    func checkExit() async throws {
        let observer = CheckObserver(report)
        let host = try load(observer)
        await send(5, through: host, watchedBy: observer, requests: requests)
        await end(host)
        report.step("exit")
    }
}
