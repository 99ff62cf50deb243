import OutletHTTP
import OutletPluginHost

/// The tests of creating, reconfiguring and destroying instances.
extension CheckSubject {
    /// Creates instances with the given configuration, and warns of stray symbols.
    func checkCreating() async throws {
        report.step("create")
        let host = try load()
        for plugin in host.plugins where plugin.straySymbols.count > 0 {
            let names = plugin.straySymbols.examples.prefix(3).joined(separator: ", ")
            report.find(
                .fileSymbols, "it exports \(plugin.straySymbols.count) more symbols: \(names)",
                isWarning: true)
        }
        await end(host)
    }

    /// Creates instances with valid, invalid and unusual configurations.
    func checkConfigurations() async throws {
        for plugin in try inspectedPlugins() {
            var made = madeConfigurations(of: plugin)
            while hasTime, let configuration = made.next() {
                let shown = Self.shown(configuration)
                report.step("create \(plugin.id) with \(shown)")
                var all = job.configuration
                all[plugin.id] = configuration
                let host = try load(configuration: all)
                for failure in host.failures {
                    switch failure.rule {
                    case .createStarts: break
                    case .createReason:
                        report.find(
                            .configAny, "create fails for \(shown): \(failure.fact)")
                    case let rule: report.find(rule, "with \(shown): \(failure.fact)")
                    }
                }
                _ = await host.shutDown(deadline: deadline)
            }
            noteRest(of: made, plugin.id)
        }
    }

    /// The plugins of the file, of which no instances are created.
    private func inspectedPlugins() throws -> [InspectedPlugin] {
        let inspection = try PluginInspection([.file(job.file)])
        return try inspection.files.flatMap { try $0.askCode().plugins }
    }

    private func madeConfigurations(of plugin: InspectedPlugin) -> MadeConfigurations {
        MadeConfigurations(
            schema: plugin.configurationSchema, given: job.configuration[plugin.id] ?? "{}",
            seed: job.seed)
    }

    /// Generated configurations for a plugin of the file; `nil` if it is not there.
    func madeConfigurations(of id: String) throws -> MadeConfigurations? {
        try inspectedPlugins().first { $0.id.hasSameBytes(as: id) }.map(madeConfigurations)
    }

    /// Notes that there was no time for some configurations of a plugin.
    private func noteRest(of made: MadeConfigurations, _ id: String) {
        let progress = made.progress
        guard progress.made < progress.count, !report.hasFailed else { return }
        report.note(
            "\(id): there was time for \(progress.made) of \(progress.count) configurations only; "
                + "another seed changes the settings in another order")
    }

    /// The beginning of a configuration.
    static func shown(_ configuration: String) -> String {
        configuration.shortened(toBytes: 120)
    }

    /// Reconfigures running instances, first between requests and then during requests.
    func checkReconfiguring() async throws {
        let observer = CheckObserver(report)
        let host = try load(observer)
        let plugins = host.plugins.filter(\.isReconfigurable)
        guard !plugins.isEmpty else {
            await end(host)
            return report.skip("no plugin takes another configuration while it runs")
        }
        let requests = requests
        for plugin in plugins {
            let given = job.configuration[plugin.id] ?? "{}"
            var made = MadeConfigurations(
                schema: plugin.configurationSchema, given: given, seed: job.seed)
            while hasTime, !report.hasFailed, let configuration = made.next() {
                reconfigure(plugin, with: configuration)
                await send(1, through: host, watchedBy: observer, requests: requests)
            }
            noteRest(of: made, plugin.id)
            async let rest = send(
                32, through: host, watchedBy: observer, width: 8, requests: requests)
            for _ in 0..<8 { reconfigure(plugin, with: given) }
            _ = await rest
        }
        await end(host)
    }

    /// Reconfigures a plugin.
    ///
    /// A refusal by the schema, or by the plugin with a reason, is no violation.
    ///
    /// - Returns: The reason for which the plugin refuses it; `nil` otherwise.
    @discardableResult
    func reconfigure(_ plugin: LoadedPlugin, with configuration: String) -> String? {
        let shown = Self.shown(configuration)
        report.step("reconfigure \(plugin.id) with \(shown)")
        do {
            try plugin.reconfigure(configuration)
            return nil
        } catch let error as PluginError {
            guard let fault = error.reasonFault else { return error.message }
            report.find(
                fault.rule, "\(plugin.id): reconfigure fails for \(shown): \(error.message)")
            return nil
        } catch {
            // The schema refused the configuration, and the plugin was not called.
            return nil
        }
    }
}
