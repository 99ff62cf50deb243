import Outlet

/// Formats the timing of a transfer by stages.
struct TimingText {
    /// A stage with its start and end, in microseconds since the start of the transfer.
    struct Stage: Equatable {
        let name: String
        let start: Int64
        let end: Int64
    }

    /// Returns the stages that took time, in order; the last one of a transfer that has failed is the
    /// one in which it did.
    static func stages(of metrics: TransferMetrics) -> [Stage] {
        var ends: [(name: String, end: Int64)] = [
            ("prepare", metrics.preTransfer), ("wait", metrics.firstByte),
            ("receive", metrics.total),
        ]
        if !metrics.isReusedConnection {
            ends.insert(
                contentsOf: [
                    ("name lookup", metrics.nameLookup), ("connect", metrics.connect),
                    ("TLS", metrics.secureConnect),
                ], at: 0)
        }
        // The next one after the last that has ended; files and caches have none of them.
        let reached = ends.dropLast().lastIndex { $0.end > 0 }
        let isFromNetwork = metrics.resourceFetchType == .networkLoad
        let last = reached.map { $0 + 1 } ?? (isFromNetwork ? 0 : ends.count - 1)
        var stages: [Stage] = []
        var start: Int64 = 0
        for (index, stage) in ends.enumerated().prefix(last + 1) {
            let end = index == last ? metrics.total : stage.end
            guard end > start else { continue }
            stages.append(Stage(name: stage.name, start: start, end: end))
            start = end
        }
        return stages
    }

    /// Returns all stages on one line: `1.23 ms = connect 100 µs + wait 1.02 ms + …`.
    static func line(_ metrics: TransferMetrics) -> String {
        let parts = stages(of: metrics).map { "\($0.name) \(Quantity.duration($0.end - $0.start))" }
        let total = Quantity.duration(metrics.total)
        return parts.isEmpty ? total : "\(total) = \(parts.joined(separator: " + "))"
    }

    /// Returns a line per stage, with a bar that shows its place in time.
    static func table(_ metrics: TransferMetrics, style: Style) -> String {
        let width = 32
        var text = ""
        for stage in stages(of: metrics) {
            let scale = { (time: Int64) in Int(time) * width / max(1, Int(metrics.total)) }
            let offset = min(scale(stage.start), width - 1)
            let length = max(1, scale(stage.end) - offset)
            let bar = String(repeating: " ", count: offset) + String(repeating: "▇", count: length)
            let time = padded(Quantity.duration(stage.end - stage.start), to: 9, atLeft: true)
            text += "  \(padded(stage.name, to: 12))\(time)  \(style.cyan(bar))\n"
        }
        let total = padded(Quantity.duration(metrics.total), to: 9, atLeft: true)
        return text + "  \(padded("total", to: 12))\(style.bold(total))\n"
    }
}
