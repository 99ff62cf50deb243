import Outlet

/// Formats the metadata of an exchange: plugin actions, connection, sizes and times.
struct MetadataText {
    let style: Style

    /// Returns a line per plugin action; actions without an effect are omitted.
    func plugins(_ actions: [PluginAction]) -> String {
        let actions = actions.filter { $0.summary != nil }
        guard !actions.isEmpty else { return "" }
        let nameWidth = actions.map(\.plugin.count).max() ?? 0
        let hookWidth = actions.map(\.hook.count).max() ?? 0
        var text = style.bold("Plugins") + "\n"
        for action in actions {
            let name = style.magenta(padded(action.plugin, to: nameWidth))
            let time = style.dim(Quantity.duration(action.microseconds))
            let hook = padded(action.hook, to: hookWidth)
            let summary = TerminalText.visibleLine(action.summary ?? "")
            let painted = action.failure == nil ? summary : style.red(summary)
            text += "  \(name)  \(hook)  \(painted)  \(time)\n"
        }
        return text + "\n"
    }

    /// Returns the connection's data and the timing of the last attempt.
    func transfer(_ exchange: Exchange) -> String {
        guard let metrics = exchange.metrics else { return "" }
        var text = style.bold("Connection") + "\n"
        if !metrics.remoteAddress.isEmpty {
            let reused = metrics.isReusedConnection ? ", re-used" : ""
            text += row("address", "\(metrics.localAddress) → \(metrics.remoteAddress)\(reused)")
        }
        if !metrics.httpVersion.isEmpty { text += row("protocol", metrics.httpVersion) }
        if !metrics.tls.isEmpty { text += row("TLS", metrics.tls) }
        if !exchange.certificateAuthority.isEmpty {
            text += row("CA", exchange.certificateAuthority)
        }
        text += row(
            "proxy", metrics.proxy.isEmpty ? "none" : Redaction.standard.address(metrics.proxy))
        if metrics.redirectCount > 0 {
            let duration = Quantity.duration(metrics.redirectDuration)
            text += row(
                "redirects", "\(metrics.redirectCount), \(duration) before the timing below")
        }
        if exchange.attempts > 1 { text += row("attempts", String(exchange.attempts)) }
        let sent = metrics.requestHeaderBytes + metrics.requestBodyBytes
        let received = metrics.responseHeaderBytes + metrics.responseBodyBytes
        text += row("sent", Quantity.bytes(sent)) + row("received", Quantity.bytes(received))
        return text + "\n\(style.bold("Timing"))\n" + TimingText.table(metrics, style: style)
    }

    private func row(_ name: String, _ value: String) -> String {
        "  \(padded(name, to: 12))\(singleLine(value))\n"
    }
}
