import Outlet

/// Plugins as text for people.
struct PluginText {
    let style: Style

    /// A line per plugin: id, version, hooks, what it is for.
    func list(_ plugins: [LoadedPlugin]) -> String {
        let rows = plugins.map { plugin in
            [
                plugin.id, plugin.version, plugin.hooks.map(\.rawValue).joined(separator: ","),
                plugin.summary,
            ].map { TerminalText.visibleLine($0) }
        }
        let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let id = style.magenta(padded(row[0], to: widths[0]))
            let version = padded(row[1], to: widths[1])
            let hooks = style.cyan(padded(row[2], to: widths[2]))
            return "\(id)  \(version)  \(hooks)  \(row[3])\n"
        }.joined()
    }

    /// Everything a plugin says of itself.
    func page(_ plugin: LoadedPlugin) -> String {
        var text =
            "\(style.bold(TerminalText.visibleLine(plugin.name))) \(TerminalText.visibleLine(plugin.version))\n"
        if !plugin.summary.isEmpty { text += "\(TerminalText.visibleLine(plugin.summary))\n" }
        text += "\n"
        text += row("id", plugin.id, style.magenta)
        text += row("file", plugin.path)
        text += row("ABI", plugin.abi)
        text += row("vendor", plugin.vendor)
        text += row("URL", plugin.url)
        text += row("hooks", plugin.hooks.map(\.rawValue).joined(separator: ", "))
        text += row(
            "permissions",
            plugin.permissions.isEmpty ? "none" : plugin.permissions.joined(separator: ", "))
        text += row("manifest", plugin.manifest == nil ? "none" : "agrees with the code")
        text += row("threads", threads(plugin))
        text += row("needs", plugin.neededLibraries.joined(separator: ", "))
        text += row("loaded in", Quantity.duration(Int64(plugin.loadDuration / 1000)))
        if !plugin.configurationSchema.isEmpty {
            text += row("settings", plugin.configurationSchema)
        }
        guard !plugin.functions.isEmpty else { return text }
        text += "\n\(style.bold("Functions"))\n"
        for function in plugin.functions {
            text +=
                "  \(style.cyan(TerminalText.visibleLine(function.name)))\(function.declaration)"
            text +=
                function.summary.isEmpty
                ? "\n" : "  \(TerminalText.visibleLine(function.summary))\n"
        }
        return text
    }

    private func threads(_ plugin: LoadedPlugin) -> String {
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
