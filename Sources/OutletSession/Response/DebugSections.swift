import FoundationEssentials
import OutletHTTP

/// What the debug descriptions of responses have in common.
enum DebugSections {
    static func headers(_ headers: HTTPHeaders) -> String {
        headers.isEmpty
            ? "[Headers]: None"
            : "[Headers]:\n"
                + headers.sorted().map { "    \($0)" }
                .joined(separator: "\n")
    }

    /// Texts up to 100 000 bytes, the length of everything else.
    static func body(_ data: Data?, type: String?) -> String {
        guard let data, !data.isEmpty else { return "None" }
        let isText = ["json", "xml", "text"].contains { type?.contains($0) == true }
        guard isText, data.count <= 100_000 else { return "\(data.count) bytes" }
        return "\n" + String(decoding: data, as: UTF8.self)
    }

    static func durations(_ metrics: TransferMetrics?, _ serialization: TimeInterval) -> String {
        let network = metrics.map { "\(Double($0.total) / 1_000_000)s" } ?? "None"
        return "[Network Duration]: \(network)\n[Serialization Duration]: \(serialization)s"
    }
}
