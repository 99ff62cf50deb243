import FoundationEssentials
import OutletHTTP

/// What the debug descriptions of responses have in common: a section's parts stand below it, four
/// spaces further in.
enum DebugSections {
    static func request(_ request: HTTPRequest) -> String {
        let rules = Redaction.standard
        let address = request.url.map { rules.url($0) } ?? "None"
        let data = request.httpBody
        let shown = data.flatMap { rules.requestBody($0, of: request.headers) }
        return section(
            "[Request]: \(request.method) \(address)",
            [
                headers(request.headers),
                body(shown ?? data, type: shown == nil ? nil : request.headers["Content-Type"]),
            ])
    }

    /// - Parameter body: The section of the body, where it is known.
    static func response(_ response: HTTPResponse?, body: String? = nil) -> String {
        guard let response else { return "[Response]: None" }
        let parts = ["[Status Code]: \(response.statusCode)", headers(response.headers), body]
        return section("[Response]:", parts.compactMap(\.self))
    }

    /// Texts up to 100 000 bytes, the length of everything else.
    static func body(_ data: Data?, type: String?) -> String {
        guard let data, !data.isEmpty else { return "[Body]: None" }
        let isText = ["json", "xml", "text"].contains { type?.contains($0) == true }
        guard isText, data.count <= 100_000 else { return "[Body]: \(data.count) bytes" }
        let text = String(decoding: data, as: UTF8.self).drop(while: \.isWhitespace)
        let end = text.lastIndex { !$0.isWhitespace } ?? text.startIndex
        return section("[Body]:", text.isEmpty ? [] : [String(text[...end])])
    }

    static func durations(_ metrics: TransferMetrics?, _ serialization: TimeInterval) -> String {
        let network = metrics.map { "\(Double($0.total) / 1_000_000)s" } ?? "None"
        return "[Network Duration]: \(network)\n[Serialization Duration]: \(serialization)s"
    }

    private static func headers(_ headers: HTTPHeaders) -> String {
        headers.isEmpty
            ? "[Headers]: None" : section("[Headers]:", ["\(headers.sorted())"])
    }

    private static func section(_ title: String, _ parts: [String]) -> String {
        let lines = parts.joined(separator: "\n").split(
            separator: "\n", omittingEmptySubsequences: false)
        return ([title] + lines.map { "    \($0)" }).joined(separator: "\n")
    }
}
