import Outlet

/// Describes plugins as text.
struct PluginText {
    let style: Style

    /// Returns a line per plugin: id, version, ABI, permissions, use, file.
    func list(_ plugins: [PluginFacts]) -> String {
        table(
            plugins.map { plugin in
                [
                    plugin.id ?? "?", plugin.version ?? "?", "ABI \(plugin.abi)",
                    plugin.permissions.map { PluginText.list($0, none: "no permissions") }
                        ?? "no manifest",
                    PluginText.use(plugin), plugin.file.path,
                ]
            })
    }

    /// Returns a line per loaded plugin: id, version, hooks, summary.
    func list(_ plugins: [LoadedPlugin]) -> String {
        table(
            plugins.map { plugin in
                [
                    plugin.id, plugin.version,
                    plugin.hooks.map(\.rawValue).joined(separator: ","), plugin.summary,
                ]
            }, cyan: 2)
    }

    /// Formats a table whose first column is the id.
    ///
    /// - Parameters:
    ///   - rows: The cells.
    ///   - cyan: The index of a column to print in cyan; `nil` for none.
    private func table(_ rows: [[String]], cyan: Int? = nil) -> String {
        let rows = rows.map { $0.map { TerminalText.visibleLine($0) } }
        let columns = (rows.first?.count ?? 1) - 1
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var cells = zip(row, widths).map { padded($0, to: $1) } + row.suffix(1)
            cells[0] = style.magenta(cells[0])
            if let cyan { cells[cyan] = style.cyan(cells[cyan]) }
            return cells.joined(separator: "  ") + "\n"
        }.joined()
    }

    private static func list(_ permissions: [String], none: String) -> String {
        permissions.isEmpty ? none : permissions.joined(separator: ", ")
    }

    /// Describes whether a plugin is enabled, optional, and its instances.
    private static func use(_ plugin: PluginFacts) -> String {
        do throws(PluginLoadError) {
            guard let plan = try plugin.plan() else { return "?" }
            let instances =
                plan.instances.isEmpty ? [] : ["instances \(plan.instances.joined(separator: " "))"]
            return
                ([plan.isEnabled ? "enabled" : "disabled"]
                + (plan.isOptional ? ["optional"] : []) + instances).joined(separator: ", ")
        } catch {
            return "settings are wrong"
        }
    }

    /// Describes which permissions a plugin is granted, and which a policy withholds.
    private static func granted(_ plugin: PluginFacts) -> String {
        guard plugin.permissions?.isEmpty == false, let plan = try? plugin.plan() else { return "" }
        let granted = list(
            plan.permissions.grants.permissions.map(\.description), none: "nothing")
        let withheld = plan.permissions.withheld
        return withheld.isEmpty
            ? granted
            : "\(granted), but not \(withheld.joined(separator: ", ")): it will not be created"
    }

    /// Returns all known data of a plugin.
    func page(_ plugin: PluginFacts) -> String {
        let title = plugin.code?.name ?? plugin.id ?? plugin.file.path
        var text = style.bold(TerminalText.visibleLine(title))
        text += plugin.version.map { " \(TerminalText.visibleLine($0))" } ?? ""
        text += "\n"
        if let summary = plugin.code?.summary, !summary.isEmpty {
            text += "\(TerminalText.visibleLine(summary))\n"
        }
        text += "\n"
        text += row("id", plugin.id ?? "", style.magenta)
        text += row("file", plugin.file.path)
        text += row("ABI", plugin.abi)
        if let code = plugin.code {
            text += row("vendor", code.vendor)
            text += row("URL", code.url)
        }
        text += row(
            "permissions", plugin.permissions.map { PluginText.list($0, none: "none") } ?? "")
        text += row("granted", PluginText.granted(plugin))
        text += row("use", plugin.id == nil ? "" : PluginText.use(plugin))
        text += row("manifest", manifest(plugin))
        text += row("threads", plugin.code.map(threads) ?? "")
        text += row("needs", plugin.file.neededLibraries.joined(separator: ", "))
        guard let code = plugin.code else {
            return text + row("more", "--run asks its code: functions, settings, threads")
        }
        text += row("settings", code.configurationSchema)
        guard !code.functions.isEmpty else { return text }
        text += "\n\(style.bold("Functions"))\n"
        for function in code.functions {
            text +=
                "  \(style.cyan(TerminalText.visibleLine(function.name)))\(function.declaration)"
            text +=
                function.summary.isEmpty
                ? "\n" : "  \(TerminalText.visibleLine(function.summary))\n"
        }
        return text
    }

    private func manifest(_ plugin: PluginFacts) -> String {
        guard plugin.manifest != nil else {
            return "none: the file has no section .outlet.manifest"
        }
        return plugin.code == nil ? "is what this shows" : "agrees with the code"
    }

    private func threads(_ plugin: InspectedPlugin) -> String {
        [
            plugin.isConcurrent ? "hooks may overlap" : "one hook at a time",
            plugin.isNonblocking ? "never blocks" : "may block",
            plugin.makesThreads ? "makes threads of its own" : nil,
        ].compactMap(\.self).joined(separator: ", ")
    }

    private func row(
        _ name: String, _ value: String, _ paint: (String) -> String = { $0 }
    ) -> String {
        value.isEmpty ? "" : "  \(padded(name, to: 12))\(paint(TerminalText.visibleLine(value)))\n"
    }
}
