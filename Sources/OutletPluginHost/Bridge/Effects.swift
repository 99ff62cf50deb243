import FoundationEssentials
import OutletHTTP

/// Short descriptions of what a hook changed, for observers; secrets are redacted.
enum Effects {
    static func of(
        _ before: HTTPRequest, _ after: HTTPRequest, answer: RequestHandle.Answer?
    ) -> [String] {
        var effects: [String] = []
        if before.method != after.method {
            effects.append("method \(before.method) -> \(after.method)")
        }
        if before.url != after.url {
            effects.append("URL -> \(after.url.map { Redaction.standard.url($0) } ?? "none")")
        }
        effects += headers(before.headers, after.headers)
        if before.body != after.body {
            effects.append("body: \(size(of: after.body))")
        }
        let notes = before.context.notes
        for (key, value) in after.context.notes.sorted(by: { $0.key < $1.key })
        where notes[key] != value {
            effects.append("note \(key)")
        }
        if let answer {
            effects.append("answered \(answer.status), \(answer.body.count) bytes")
        }
        return effects
    }

    /// The effects of a `process` hook.
    static func of(_ replacement: ResponseHandle.Replacement?) -> [String] {
        switch replacement {
        case nil: []
        case .response(let answer): ["replaced by \(answer.status), \(answer.body.count) bytes"]
        case .failure: ["replaced by a failure"]
        }
    }

    private static func size(of body: HTTPBody) -> String {
        switch body {
        case .none: "0 bytes"
        case .data(let data): "\(data.count) bytes"
        case .file: "a file"
        case .stream(let stream):
            stream.length.map { "\($0) bytes, streamed" } ?? "streamed"
        }
    }

    private static func headers(_ before: HTTPHeaders, _ after: HTTPHeaders) -> [String] {
        guard before != after else { return [] }
        var effects: [String] = []
        var seen: Set<String> = []
        let (former, latter) = (values(before), values(after))
        for header in after {
            let name = header.name.lowercasedASCII
            guard seen.insert(name).inserted else { continue }
            let (old, new) = (former[name] ?? [], latter[name] ?? [])
            guard old != new else { continue }
            let shown = new.map {
                Redaction.standard.value(of: HTTPHeader(name: header.name, value: $0))
            }
            effects.append(
                "\(old.isEmpty ? "+" : "~") \(header.name): \(shown.joined(separator: ", "))")
        }
        for header in before where seen.insert(header.name.lowercasedASCII).inserted {
            effects.append("- \(header.name)")
        }
        return effects
    }

    /// The header values by lower-case name.
    private static func values(_ headers: HTTPHeaders) -> [String: [String]] {
        headers.reduce(into: [:]) { $0[$1.name.lowercasedASCII, default: []].append($1.value) }
    }
}
