import Outlet

/// Totals over all requests of `outlet demo`.
struct DemoTotals: Sendable, Equatable {
    var requests = 0
    var attempts = 0
    var unexpected = 0
    /// The number of plugin actions that had an effect or failed.
    var actions = 0
    /// The bytes of response heads and bodies, of last attempts only.
    var received: Int64 = 0
    /// The time of all requests in microseconds.
    var elapsed: Int64 = 0

    mutating func add(_ exchange: Exchange, elapsed: Int64, isExpected: Bool) {
        requests += 1
        attempts += exchange.attempts
        unexpected += isExpected ? 0 : 1
        actions += exchange.actions.count { $0.summary != nil }
        if let metrics = exchange.metrics {
            received += metrics.responseHeaderBytes + metrics.responseBodyBytes
        }
        self.elapsed += elapsed
    }
}

/// Formats the output of `outlet demo`.
struct DemoText {
    let style: Style

    func opening(_ plugins: [LoadedPlugin], server: String) -> String {
        "\(style.bold("outlet demo")): provider → plugins → session → libcurl → \(server)\n\n"
            + PluginText(style: style).list(plugins) + "\n"
    }

    /// Returns a line for a request, then one for each plugin action, then one for the timing.
    func exchange(_ exchange: Exchange, of target: DemoTarget, elapsed: Int64) -> String {
        let status = exchange.response.map { String($0.statusCode) } ?? "---"
        let isExpected = target.isExpected(exchange)
        let painted = style.status(exchange.response?.statusCode ?? 599, status)
        let line = "\(padded(target.method.rawValue, to: 5))\(padded(target.path, to: 24))"
        let time = padded(Quantity.duration(elapsed), to: 8, atLeft: true)
        var text = " \(style.bold(painted)) \(line)\(time)  \(style.dim(target.purpose))\n"
        for action in exchange.actions {
            guard let summary = action.summary else { continue }
            let shown = TerminalText.visibleLine(summary)
            text += row("plugin", "\(style.magenta(action.plugin)) \(action.hook): \(shown)")
        }
        if let failure = exchange.failure {
            text += row("error", style.red(singleLine(failure.error.message)))
        }
        if !isExpected, exchange.failure == nil {
            text += row("error", style.red("status \(target.expectedStatus) was expected"))
        }
        if let metrics = exchange.metrics { text += row("timing", TimingText.line(metrics)) }
        return text
    }

    func closing(_ totals: DemoTotals) -> String {
        let outcome =
            totals.unexpected == 0
            ? style.green("all as expected")
            : style.red("\(totals.unexpected) not as expected")
        return "\n\(style.bold("\(totals.requests) requests")), \(outcome): "
            + "\(totals.attempts) attempts, \(totals.actions) plugin actions, "
            + "\(Quantity.bytes(totals.received)) received, \(Quantity.duration(totals.elapsed))\n"
    }

    private func row(_ name: String, _ value: String) -> String {
        "     \(style.dim(padded(name, to: 8)))\(value)\n"
    }
}
