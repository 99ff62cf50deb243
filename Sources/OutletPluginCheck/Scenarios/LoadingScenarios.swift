import OutletHTTP
import OutletPluginHost

/// The tests of a library before any instance is created.
extension CheckSubject {
    /// Inspects the file without running any of its code.
    func checkFile() throws(PluginDirectoryError) {
        let inspection = try PluginInspection([.file(job.file)])
        for failure in inspection.failures {
            var rule = failure.rule
            if case .invalidManifest = failure { rule = .manifestValid }
            report.find(rule, failure.fact, advice: failure.advice)
        }
        for file in inspection.files where file.manifests.isEmpty {
            report.find(
                .manifestPresent, "there is no section .outlet.manifest", isWarning: true)
        }
        for manifest in inspection.files.flatMap(\.manifests) {
            checkLines(
                of: manifest.id, .manifestValid,
                [("version", manifest.version)] + manifest.permissions.map { ("permission", $0) })
        }
    }

    /// Loads the library and reads its plugin descriptors.
    func checkLoading() throws(PluginDirectoryError) {
        let inspection = try PluginInspection([.file(job.file)])
        for failure in inspection.failures {
            report.find(failure.rule, failure.fact, advice: failure.advice)
        }
        guard let file = inspection.files.first else { return }
        do throws(PluginLoadError) {
            report.step("load the library")
            let first = try duration { () throws(PluginLoadError) in
                let (plugins, changes) = try file.askCode()
                note(changes)
                for plugin in plugins { checkDescriptor(of: plugin) }
            }
            // The library is loaded by now, so the second call takes only the host's own time.
            let second = try duration { () throws(PluginLoadError) in
                try note(file.askCode().changes)
            }
            reportLoadingTime(first - second)
        } catch {
            report.find(error.rule, error.fact, advice: error.advice)
        }
    }

    /// Reports texts of a descriptor that are not one line without control characters, and keywords of
    /// its schema that have no effect.
    private func checkDescriptor(of plugin: InspectedPlugin) {
        let keywords = UnknownKeywords.all(in: plugin.configurationSchema)
        if !keywords.isEmpty {
            report.find(
                .configSchema,
                "'\(plugin.id)': keywords of its schema have no effect: "
                    + keywords.prefix(5).joined(separator: ", "),
                advice: "use keywords of drafts 4, 6 and 7; those of other programs begin with x-",
                isWarning: true)
        }
        var texts = [
            ("version", plugin.version), ("name", plugin.name), ("summary", plugin.summary),
            ("vendor", plugin.vendor), ("url", plugin.url),
        ]
        texts += plugin.permissions.map { ("permission", $0) }
        texts += plugin.functions.map { ("summary of '\($0.name)'", $0.summary) }
        checkLines(of: plugin.id, .entryModule, texts)
    }

    /// Reports texts of a plugin that are not one line without control characters.
    private func checkLines(of plugin: String, _ rule: PluginRule, _ texts: [(String, String)]) {
        for (name, text) in texts where text.hasControlCharacters {
            report.find(
                rule, "'\(plugin)': the \(name) \(String(reflecting: text)) has control characters"
            )
        }
    }

    private func note(_ changes: [String]) {
        guard !changes.isEmpty else { return }
        report.find(.stateProcess, "loading it changes \(changes.joined(separator: ", "))")
    }

    private func duration(
        _ body: () throws(PluginLoadError) -> Void
    ) throws(PluginLoadError) -> Duration {
        let start = ContinuousClock.now
        try body()
        return .now - start
    }

    private func reportLoadingTime(_ duration: Duration) {
        // A scan has 100 ms. Only 3 s and more are a failure: no machine is that slow merely
        // because it is busy.
        guard duration > .milliseconds(100) else { return }
        report.find(
            .loadQuick,
            "loading it and its entry took \(Int(duration / .milliseconds(1))) ms",
            isWarning: duration < .seconds(3))
    }

    /// Calls the entry function with the minor ABI version of this host and with others.
    func checkEntry() {
        let probe: ModuleProbe
        do throws(PluginLoadError) {
            probe = try ModuleProbe(path: job.file)
        } catch {
            report.find(error.rule, error.fact, advice: error.advice)
            return
        }
        let own = ModuleProbe.hostMinor
        let answer = ask(probe, own)
        guard answer.address != 0 else {
            report.find(.entryMinor, "it refuses this host, whose minor is \(own)")
            return
        }
        if ask(probe, own) != answer {
            report.find(.entrySame, "the second call for minor \(own) has another answer")
        }
        if answer.minimumHostMinor > answer.abiMinor {
            report.find(
                .entryMinor,
                "min_host_minor is \(answer.minimumHostMinor), abi_minor \(answer.abiMinor)")
        }
        let older = answer.minimumHostMinor < own ? answer.minimumHostMinor..<own : own..<own
        for minor in Array(older.prefix(10)) + [own + 1, own + 1000, .max]
        where ask(probe, minor).address == 0 {
            report.find(
                .entryMinor,
                "it refuses minor \(minor), though min_host_minor is \(answer.minimumHostMinor)")
        }
    }

    private func ask(_ probe: ModuleProbe, _ minor: UInt32) -> ModuleProbe.Answer {
        report.step("call outlet_module_v1(\(minor))")
        return probe.ask(hostMinor: minor)
    }
}
