import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Sections of the debug descriptions of responses; the parts of a section are indented by four
/// spaces below its title.
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

    /// - Parameter body: The section of the body; left out if `nil`.
    static func response(_ response: HTTPResponse?, body: String? = nil) -> String {
        guard let response else { return "[Response]: None" }
        let parts = ["[Status Code]: \(response.statusCode)", headers(response.headers), body]
        return section("[Response]:", parts.compactMap(\.self))
    }

    /// Shows texts of up to 100 000 bytes; for other bodies, the length.
    static func body(_ data: Data?, type: String?) -> String {
        guard let data, !data.isEmpty else { return "[Body]: None" }
        let isText = ["json", "xml", "text"].contains { type?.containsBytes(of: $0) == true }
        guard isText, data.count <= 100_000 else { return "[Body]: \(data.count) bytes" }
        let isSpace: (UInt8) -> Bool = { $0.isBlank || (0x0A...0x0D).contains($0) }
        let start = data.drop(while: isSpace)
        guard let end = start.lastIndex(where: { !isSpace($0) }) else { return "[Body]:" }
        return section("[Body]:", [String(decoding: start[...end], as: UTF8.self)])
    }

    static func durations(_ metrics: TransferMetrics?, _ serialization: TimeInterval) -> String {
        let network = metrics.map { "\(Double($0.total) / 1_000_000)s" } ?? "None"
        return "[Network Duration]: \(network)\n[Serialization Duration]: \(serialization)s"
    }

    /// Shows a result in one line; a failure whose error has no URL is preceded by the request.
    static func result<Success, Failure: Error>(
        _ result: Result<Success, Failure>, of request: HTTPRequest?
    ) -> String {
        guard case .failure(let error) = result, let request,
            (error as? SessionError)?.transferError?.url == nil
        else { return "\(result)" }
        return "\(request): \(result)"
    }

    private static func headers(_ headers: HTTPHeaders) -> String {
        headers.isEmpty
            ? "[Headers]: None" : section("[Headers]:", ["\(headers.sorted())"])
    }

    private static func section(_ title: String, _ parts: [String]) -> String {
        let lines = parts.flatMap { $0.parts(separatedBy: "\n") }
        return ([title] + lines.map { "    \($0)" }).joined(separator: "\n")
    }
}
