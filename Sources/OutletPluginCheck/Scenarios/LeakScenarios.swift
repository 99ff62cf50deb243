import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTesting
import OutletTransport

/// The tests that repeat calls to find leaks.
extension CheckSubject {
    /// Creates and destroys instances many times, also with configurations that `create` refuses.
    func checkCreatingAgain() async throws {
        let leaks = LeakCheck(self)
        let timers = await leaks.holdings()[.timers]
        let host = try load()
        let ids = host.plugins.map(\.id)
        await end(host)
        func search(without others: [String]) async throws -> String? {
            try await leaks.run("instances", bound: .instance, within: .seconds(1)) {
                var instances = 0
                for _ in 0..<$0 {
                    let host = try load(without: others)
                    instances += host.plugins.count
                    await end(host)
                }
                return max($0, instances)
            }
        }
        if let leak = try await search(without: []) {
            try await find(.destroyFrees, leak, among: ids) { try await search(without: $0) }
        }
        for (number, id) in ids.enumerated() {
            guard !isLate else {
                report.note(
                    "there was time for calls of create that fail of \(number) of \(ids.count) plugins "
                        + "only")
                break
            }
            let others = ids.filter { !$0.hasSameBytes(as: id) }
            try await repeatFailures(of: id, without: others, leaks)
        }
        let left = await leaks.holdings()[.timers] - timers
        if left > 0 {
            report.find(
                .destroyFrees,
                "\(ids.joined(separator: ", ")): \(left) timers are left after all instances were "
                    + "destroyed")
        }
    }

    /// Creates an instance many times with each of some configurations that `create` refuses.
    private func repeatFailures(
        of id: String, without others: [String], _ leaks: LeakCheck
    ) async throws {
        for failure in try await refusedConfigurations(of: id, without: others) {
            let leak = try await leaks.run(
                "calls of create that failed", bound: .instance, within: .seconds(1)
            ) {
                for _ in 0..<$0 {
                    report.step("create \(id) with \(failure.shown)")
                    let host = try load(configuration: failure.configuration, without: others)
                    _ = await host.shutDown(deadline: deadline)
                }
                return $0
            }
            guard let leak else { continue }
            report.find(
                .destroyFrees, "\(id): \(leak), with \(failure.shown)",
                advice: "free, close and join in create, before it fails: destroy is not called")
        }
    }

    /// Configurations with which `create` fails, each for another reason.
    ///
    /// - Parameters:
    ///   - id: The plugin.
    ///   - others: The other plugins of the file.
    private func refusedConfigurations(
        of id: String, without others: [String]
    ) async throws -> [(configuration: [String: String], shown: String)] {
        var refused: [(configuration: [String: String], shown: String)] = []
        var reasons: Set<String> = []
        let start = ContinuousClock.now
        guard var configurations = try madeConfigurations(of: id) else { return [] }
        while refused.count < Self.mostRefusals, !report.hasFailed, !isLate,
            start.duration(to: .now) < longestSearch, let made = configurations.next()
        {
            let shown = Self.shown(made)
            report.step("create \(id) with \(shown)")
            var configuration = job.configuration
            configuration[id] = made
            let host = try load(configuration: configuration, without: others)
            _ = await host.shutDown(deadline: deadline)
            for case .creationFailed(_, _, let code, let reason, _) in host.failures
            where reasons.insert("\(code) \(reason)").inserted {
                refused.append((configuration, shown))
            }
        }
        return refused
    }

    /// How long configurations that one plugin refuses are looked for.
    private var longestSearch: Duration { min(job.limit / 5, .seconds(4)) }

    /// The number of reasons to fail for which `create` and `reconfigure` are repeated.
    private static let mostRefusals = 3

    /// Sends and cancels requests, reconfigures the plugins and calls their functions many times.
    func checkCallingAgain() async throws {
        let leaks = LeakCheck(self)
        let before = await leaks.holdings()
        let observer = CheckObserver(report)
        let host = try load(observer)
        let ids = host.plugins.map(\.id)
        let searches: [LeakSearch] = [
            repeatRequests, repeatRedirects, repeatReconfiguring, repeatFunctions,
        ]
        var found: (leak: String, search: LeakSearch)?
        for (number, search) in searches.enumerated() where found == nil {
            found = await search(host, observer, leaks).map { ($0, search) }
            let open = await leaks.holdings()[.descriptors] - before[.descriptors]
            if number == 0, found == nil, open > Self.mostDescriptors {
                report.find(
                    .callFrees,
                    "\(ids.joined(separator: ", ")): \(open) more file descriptors are open after "
                        + "these requests than before its instances were created; "
                        + "\(Self.mostDescriptors) are allowed")
            }
        }
        await end(host)
        if let (leak, search) = found {
            return try await find(.callFrees, leak, among: ids) { others in
                let observer = CheckObserver(report)
                let host = try load(observer, without: others)
                let leak = await search(host, observer, leaks)
                await end(host)
                return leak
            }
        }
        if let leak = try await repeatCancelling(leaks, without: []) {
            try await find(.callFrees, leak, among: ids) {
                try await repeatCancelling(leaks, without: $0)
            }
        }
    }

    /// Repeats calls of the plugins of a host; returns what they leak, `nil` for nothing.
    private typealias LeakSearch = (PluginHost, CheckObserver, LeakCheck) async -> String?

    /// Reports a leak, and names the plugin.
    ///
    /// - Parameters:
    ///   - rule: The rule that it violates.
    ///   - leak: What all plugins of the file leak together.
    ///   - ids: The plugins of the file.
    ///   - search: Looks for the leak again, without the plugins that its argument lists.
    private func find(
        _ rule: PluginRule, _ leak: String, among ids: [String],
        _ search: (_ others: [String]) async throws -> String?
    ) async rethrows {
        guard ids.count > 1 else {
            return report.find(rule, "\(ids.first ?? job.file): \(leak)")
        }
        var named: [String] = []
        for id in ids {
            let own = try await search(ids.filter { !$0.hasSameBytes(as: id) })
            if let own { named.append("\(id): \(own)") }
        }
        report.find(
            rule,
            named.isEmpty
                ? "\(ids.joined(separator: ", ")): \(leak)"
                : named.joined(separator: "; "))
    }

    /// The most descriptors that a plugin may keep open besides those of requests.
    private static let mostDescriptors = 64

    private func repeatRequests(
        _ host: PluginHost, _ observer: CheckObserver, _ leaks: LeakCheck
    ) async -> String? {
        await leaks.run("requests", bound: .fine, within: .seconds(3)) {
            let requests = requests
            await send($0, through: host, watchedBy: observer, requests: requests)
            ask(host)
            return max($0, requests.answerCount)
        }
    }

    private func repeatRedirects(
        _ host: PluginHost, _ observer: CheckObserver, _ leaks: LeakCheck
    ) async -> String? {
        let last = Self.redirects
        return await leaks.run(
            "requests that are redirected \(last) times", bound: .fine, within: .seconds(1)
        ) { count in
            let answers = Lock(0)
            for number in 0..<count {
                report.step("redirected request \(number + 1)")
                let hops = Lock(0)
                let transport = StubTransport { _ in
                    answers.withLock { $0 += 1 }
                    let hop = hops.withLock { hops in
                        hops += 1
                        return hops
                    }
                    if hop <= last { return .redirect(302, to: "/\(hop)") }
                    return hop == last + 1 ? .status(503) : .text("x")
                }
                let session = Session(transport: transport, plugins: host)
                await send(requests.request(), over: session, watchedBy: observer)
                withExtendedLifetime(session) {}
            }
            // The bound is that of each redirect; the other attempts of a request are few.
            return max(count, min(answers.withLock { $0 }, count * last))
        }
    }

    /// The redirects of each request that is sent to find leaks of redirects.
    private static let redirects = 10

    private func repeatReconfiguring(
        _ host: PluginHost, _ observer: CheckObserver, _ leaks: LeakCheck
    ) async -> String? {
        for plugin in host.plugins where plugin.isReconfigurable {
            let given = job.configuration[plugin.id] ?? "{}"
            let refused = refusedConfigurations(of: plugin)
            reconfigure(plugin, with: given)
            for configuration in [given] + refused {
                let failing = configuration == given ? "" : " that failed"
                let leak = await leaks.run(
                    "calls of reconfigure\(failing)", bound: .fine, within: .milliseconds(500)
                ) { count in
                    for _ in 0..<count { reconfigure(plugin, with: configuration) }
                    return count
                }
                if let leak { return leak }
            }
        }
        return nil
    }

    /// Configurations that `reconfigure` refuses, each for another reason.
    private func refusedConfigurations(of plugin: LoadedPlugin) -> [String] {
        var refused: [String] = []
        var reasons: Set<String> = []
        // The plugin is loaded, so its descriptor can be read.
        guard var configurations = try? madeConfigurations(of: plugin.id) else { return [] }
        let start = ContinuousClock.now
        while refused.count < Self.mostRefusals, !isLate, !report.hasFailed,
            start.duration(to: .now) < longestSearch, let made = configurations.next()
        {
            guard let reason = reconfigure(plugin, with: made) else { continue }
            if reasons.insert(reason).inserted { refused.append(made) }
        }
        return refused
    }

    private func repeatFunctions(
        _ host: PluginHost, _ observer: CheckObserver, _ leaks: LeakCheck
    ) async -> String? {
        guard host.plugins.contains(where: { !$0.functions.isEmpty }) else { return nil }
        // A function may keep its arguments, which are short here.
        return await leaks.run(
            "calls of each function", bound: .coarse, within: .milliseconds(500)
        ) {
            callFunctions(of: host, count: $0, isRepetition: true)
            return $0
        }
    }

    private func repeatCancelling(
        _ leaks: LeakCheck, without others: [String]
    ) async throws -> String? {
        var leak: String?
        try await withCancelledRequests(without: others) { cancel in
            // The host keeps the completions that a plugin does not settle after their cancellation.
            leak = await leaks.run(
                "cancelled requests", bound: .coarse, within: .seconds(1)
            ) { count in
                for number in 0..<count { await cancel(number) }
                return count
            }
        }
        return leak
    }
}
