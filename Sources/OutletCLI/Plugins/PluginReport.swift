import FoundationEssentials
import Outlet

/// Describes plugins as JSON of the schemas `outlet.plugins/1`, `outlet.plugin/1`,
/// `outlet.config/1` and `outlet.call/1`.
enum PluginReport {
    /// Returns a list of plugins, and the files that cannot be used.
    ///
    /// - Parameters:
    ///   - plugins: The plugins.
    ///   - failures: The errors of the other files.
    ///   - error: The error of the command; `nil` if it could list the plugins.
    static func list(
        _ plugins: [PluginFacts], failures: [PluginLoadError], error: CommandError?
    ) -> JSONValue {
        [
            "schema": "outlet.plugins/1",
            "plugins": .array(plugins.map(facts).map(JSONValue.object)),
            "failures": list(of: failures), "error": report(of: error),
        ]
    }

    /// Returns the plugins whose settings are valid, and the errors.
    ///
    /// - Parameters:
    ///   - plugins: The plugins with valid settings.
    ///   - failures: The errors in the settings of the others, and of files.
    ///   - error: The error of the command; `nil` if it could check the settings.
    static func settings(
        of plugins: [PluginFacts], failures: [PluginLoadError], error: CommandError?
    ) -> JSONValue {
        [
            "schema": "outlet.config/1",
            "plugins": .array(
                plugins.map { plugin in
                    [
                        "id": plugin.id.map(JSONValue.string) ?? nil,
                        "file": .string(plugin.file.path),
                        "validated": .bool(
                            plugin.code.map { !$0.configurationSchema.isEmpty } ?? false),
                    ]
                }),
            "failures": list(of: failures), "error": report(of: error),
        ]
    }

    /// Returns the error of a command; null if there is none.
    static func report(of error: CommandError?) -> JSONValue {
        guard let error else { return nil }
        return [
            "message": .string(singleLine(error.message)),
            "advice": error.advice.isEmpty ? nil : .string(error.advice),
            "plugin_code": error.pluginCode.isEmpty ? nil : .string(error.pluginCode),
        ]
    }

    /// Returns the errors of plugins that cannot be used.
    static func list(of failures: [PluginLoadError]) -> JSONValue {
        .array(
            failures.map { error in
                [
                    "file": .string(error.path),
                    "message": .string(TerminalText.visibleLine("\(error)")),
                    "plugin_code": error.pluginCode.isEmpty ? nil : .string(error.pluginCode),
                ]
            })
    }

    /// Returns all data of a plugin; that of its descriptor only if its code was run.
    static func plugin(_ plugin: PluginFacts) -> JSONValue {
        var report: JSONObject = ["schema": "outlet.plugin/1"]
        for member in facts(plugin) { report[member.name] = member.value }
        for member in plugin.code.map(facts) ?? [:] { report[member.name] = member.value }
        report["error"] = self.report(of: plugin.settingsError.map { CommandError(unusable: $0) })
        return .object(report)
    }

    /// Returns why there is no data of a plugin.
    ///
    /// - Parameters:
    ///   - id: The plugin that was asked for; `nil` if a file was.
    ///   - file: The file that was asked for; `nil` if a plugin was.
    ///   - error: The error.
    static func plugin(id: String?, file: String?, failure error: CommandError) -> JSONValue {
        [
            "schema": "outlet.plugin/1", "id": id.map(JSONValue.string) ?? nil,
            "file": file.map(JSONValue.string) ?? nil, "error": report(of: error),
        ]
    }

    /// Returns a plugin's statistics, with times in microseconds.
    static func status(_ status: PluginStatus) -> JSONValue {
        var hooks: JSONObject = [:]
        for (name, hook) in status.hooks.sorted(by: { $0.key < $1.key }) {
            hooks[name] = [
                "calls": .int(Int64(hook.calls)),
                "duration_us": .int(Int64(clamping: hook.duration / 1000)),
                "longest_us": .int(Int64(clamping: hook.longest / 1000)),
            ]
        }
        var faults: JSONObject = [:]
        for (name, count) in status.faults.sorted(by: { $0.key < $1.key }) {
            faults[name] = .int(Int64(count))
        }
        return [
            "plugin": .string(status.id), "hooks": .object(hooks), "faults": .object(faults),
            "tripped": .bool(status.isTripped),
            "calls_under_way": .int(Int64(status.activeCalls)),
        ]
    }

    /// Returns the result of an exported function.
    ///
    /// - Parameters:
    ///   - function: The name of the function.
    ///   - value: The result.
    ///   - unusable: The errors of plugins that cannot be used.
    ///   - violations: The violations by plugins, from their loading to their end.
    static func call(
        _ function: String, _ value: PluginValue, without unusable: [PluginLoadError],
        _ violations: [PluginMisbehaviour]
    ) -> JSONValue {
        let result: JSONValue =
            switch value {
            case .nothing: nil
            case .bool(let value): .bool(value)
            case .int(let value): .int(value)
            case .uint(let value): .number(JSONNumber(value))
            // JSON has no such numbers.
            case .double(let value) where !value.isFinite: .string("\(value)")
            case .double(let value): .double(value)
            case .text(let value): .string(value)
            case .bytes(let value): ["base64": .string(Data(value).base64EncodedString())]
            case .request, .function: nil
            }
        return [
            "schema": "outlet.call/1", "function": .string(function), "result": result,
            "plugin_failures": list(of: unusable), "violations": list(of: violations),
            "error": nil,
        ]
    }

    /// Returns why an exported function has no result.
    static func call(
        _ function: String, failure: CommandError, _ violations: [PluginMisbehaviour]
    ) -> JSONValue {
        [
            "schema": "outlet.call/1", "function": .string(function), "result": nil,
            "plugin_failures": list(of: failure.unusablePlugins),
            "violations": list(of: violations), "error": report(of: failure),
        ]
    }

    /// Returns the violations of plugins.
    static func list(of violations: [PluginMisbehaviour]) -> JSONValue {
        .array(
            violations.map { violation in
                [
                    "plugin": .string(violation.plugin),
                    "rule": .string(violation.kind.rule.rawValue),
                    "hook": violation.hook.map { .string($0.rawValue) } ?? nil,
                    "request": violation.request.map { .string(singleLine($0)) } ?? nil,
                    "fact": .string(singleLine(violation.fact)),
                ]
            })
    }

    /// Returns the data from a plugin's file; members that are unknown without a manifest are null.
    private static func facts(_ plugin: PluginFacts) -> JSONObject {
        let plan = (try? plugin.plan()) ?? nil
        return [
            "id": plugin.id.map(JSONValue.string) ?? nil,
            "version": plugin.version.map(JSONValue.string) ?? nil,
            "file": .string(plugin.file.path),
            "abi": .string(plugin.abi),
            "permissions": plugin.permissions.map { .array($0.map(JSONValue.string)) } ?? nil,
            "enabled": plan.map { .bool($0.isEnabled) } ?? nil,
            "optional": plan.map { .bool($0.isOptional) } ?? nil,
            "instances": plan.map { .array($0.instances.map(JSONValue.string)) } ?? nil,
            "granted": plan.map { plan in
                .array(plan.permissions.grants.permissions.map { .string($0.description) })
            } ?? nil,
            "withheld": plan.map { .array($0.permissions.withheld.map(JSONValue.string)) } ?? nil,
            "has_manifest": .bool(plugin.manifest != nil),
            "libraries": .array(plugin.file.neededLibraries.map(JSONValue.string)),
        ]
    }

    private static func facts(_ plugin: InspectedPlugin) -> JSONObject {
        [
            "name": .string(plugin.name),
            "summary": .string(plugin.summary),
            "vendor": .string(plugin.vendor),
            "url": .string(plugin.url),
            "concurrent": .bool(plugin.isConcurrent),
            "nonblocking": .bool(plugin.isNonblocking),
            "makes_threads": .bool(plugin.makesThreads),
            "configuration_schema": (try? JSONValue(parsing: plugin.configurationSchema)) ?? nil,
            "functions": .array(
                plugin.functions.map { function in
                    [
                        "name": .string(function.name),
                        "signature": .string(function.signature),
                        "declaration": .string(function.declaration),
                        "summary": .string(function.summary),
                    ]
                }),
        ]
    }
}
