import OutletHTTP
import OutletPluginHost

/// The tests that repeat calls to find leaks.
extension CheckSubject {
    /// Creates and destroys instances many times.
    func checkCreatingAgain() async throws {
        let leaks = LeakCheck(self)
        try await leaks.run("instances", .destroyFrees, bound: .instance, within: .seconds(1)) {
            var instances = 0
            for _ in 0..<$0 {
                let host = try load()
                instances += host.plugins.count
                await end(host)
            }
            return max($0, instances)
        }
    }

    /// Sends and cancels requests, reconfigures the plugins and calls their functions many times.
    func checkCallingAgain() async throws {
        let leaks = LeakCheck(self)
        let before = await leaks.holdings()
        let observer = CheckObserver(report)
        let host = try load(observer)
        await leaks.run("requests", .callFrees, bound: .fine, within: .seconds(3)) {
            let requests = requests
            await send($0, through: host, watchedBy: observer, requests: requests)
            ask(host)
            return max($0, requests.answerCount)
        }
        let descriptors = await leaks.holdings()[.descriptors] - before[.descriptors]
        if descriptors > Self.mostDescriptors {
            report.find(
                .callFrees,
                "\(descriptors) more file descriptors are open than before its instances were "
                    + "created; \(Self.mostDescriptors) are allowed")
        }
        await leaks.run("redirected requests", .callFrees, bound: .fine, within: .seconds(1)) {
            for number in 0..<$0 {
                report.step("redirected request \(number + 1)")
                await call(through: host, watchedBy: observer)
            }
            return $0 * Self.longestCall
        }
        await repeatReconfiguring(host, leaks)
        await repeatFunctions(host, leaks)
        await end(host)
        try await repeatCancelling(leaks)
    }

    /// The most attempts and redirects of the request of ``call(through:watchedBy:begun:)``.
    private static let longestCall = 3

    /// The most descriptors that a plugin may keep open besides those of requests.
    private static let mostDescriptors = 64

    private func repeatReconfiguring(_ host: PluginHost, _ leaks: LeakCheck) async {
        for plugin in host.plugins where plugin.isReconfigurable {
            let given = job.configuration[plugin.id] ?? "{}"
            await leaks.run(
                "calls of reconfigure", .callFrees, bound: .fine, within: .milliseconds(500)
            ) { count in
                for _ in 0..<count { reconfigure(plugin, with: given) }
                return count
            }
        }
    }

    private func repeatFunctions(_ host: PluginHost, _ leaks: LeakCheck) async {
        guard host.plugins.contains(where: { !$0.functions.isEmpty }) else { return }
        // A function may keep its arguments, which are short here.
        await leaks.run(
            "calls of each function", .callFrees, bound: .coarse, within: .milliseconds(500)
        ) {
            callFunctions(of: host, count: $0, isRepetition: true)
            return $0
        }
    }

    private func repeatCancelling(_ leaks: LeakCheck) async throws {
        try await withCancelledRequests { cancel in
            // The host keeps the completions that a plugin does not settle after their cancellation.
            await leaks.run(
                "cancelled requests", .callFrees, bound: .coarse, within: .seconds(1)
            ) { count in
                for number in 0..<count { await cancel(number) }
                return count
            }
        }
    }
}
