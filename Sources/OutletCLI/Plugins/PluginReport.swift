import Outlet

/// Plugins as JSON, schemas `outlet.plugins/1`, `outlet.plugin/1` and `outlet.call/1`.
enum PluginReport {
    /// All plugins of a host, and what could not be loaded.
    static func list(_ host: PluginHost) -> JSONValue {
        [
            "schema": "outlet.plugins/1",
            "plugins": .array(host.plugins.map(facts).map(JSONValue.object)),
            "failures": .array(
                host.failures.map {
                    [
                        "file": .string($0.path),
                        "message": .string(TerminalText.visibleLine("\($0)")),
                    ]
                }),
        ]
    }

    /// One plugin.
    static func plugin(_ plugin: LoadedPlugin) -> JSONValue {
        var report: JSONObject = ["schema": "outlet.plugin/1"]
        for member in facts(plugin) { report[member.name] = member.value }
        return .object(report)
    }

    /// What a function gave.
    static func call(_ function: String, _ value: PluginValue) -> JSONValue {
        let result: JSONValue =
            switch value {
            case .nothing: nil
            case .bool(let value): .bool(value)
            case .int(let value): .int(value)
            case .uint(let value): .number(JSONNumber(value))
            case .double(let value): .double(value)
            case .text(let value): .string(value)
            }
        return [
            "schema": "outlet.call/1", "function": .string(function), "result": result,
        ]
    }

    private static func facts(_ plugin: LoadedPlugin) -> JSONObject {
        [
            "id": .string(plugin.id),
            "version": .string(plugin.version),
            "name": .string(plugin.name),
            "summary": .string(plugin.summary),
            "vendor": .string(plugin.vendor),
            "url": .string(plugin.url),
            "file": .string(plugin.path),
            "abi": .string(plugin.abi),
            "hooks": .array(plugin.hooks.map { .string($0.rawValue) }),
            "permissions": .array(plugin.permissions.map(JSONValue.string)),
            "has_manifest": .bool(plugin.manifest != nil),
            "concurrent": .bool(plugin.isConcurrent),
            "nonblocking": .bool(plugin.isNonblocking),
            "makes_threads": .bool(plugin.makesThreads),
            "libraries": .array(plugin.neededLibraries.map(JSONValue.string)),
            "configuration_schema": (try? JSONValue(parsing: plugin.configurationSchema)) ?? nil,
            "load_us": .int(Int64(plugin.loadDuration / 1000)),
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
