import FoundationEssentials
import OutletHTTP

/// Short descriptions of what a hook changed, for observers; secrets are redacted.
enum Effects {
    /// The number of effects of one call that are described; others are only counted.
    static let maximumCount = 64
    /// The number of bytes after which a description is cut off.
    static let maximumLength = 512

    /// The effects of one call, with limits on their number and length.
    private struct List {
        private var shown: [String] = []
        private var otherCount = 0

        /// Adds an effect; its description is made only if it is shown.
        mutating func append(_ effect: @autoclosure () -> String) {
            if shown.count < Effects.maximumCount {
                shown.append(Effects.cut(effect()))
            } else {
                otherCount += 1
            }
        }

        /// The descriptions, and the number of the other effects if there are any.
        var all: [String] { otherCount > 0 ? shown + ["and \(otherCount) more"] : shown }
    }

    /// Returns a description with at most ``maximumLength`` bytes, and an ellipsis if it is cut off.
    static func cut(_ text: String) -> String {
        text.utf8.count > maximumLength ? "\(text.prefix(bytes: maximumLength))…" : text
    }

    static func of(
        _ before: HTTPRequest, _ after: HTTPRequest, answer: RequestHandle.Answer?
    ) -> [String] {
        var effects = List()
        if before.method != after.method {
            effects.append("method \(before.method) -> \(after.method)")
        }
        if before.url != after.url {
            effects.append("URL -> \(after.url.map { Redaction.standard.url($0) } ?? "none")")
        }
        headers(before.headers, after.headers, to: &effects)
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
        return effects.all
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

    private static func headers(
        _ before: HTTPHeaders, _ after: HTTPHeaders, to effects: inout List
    ) {
        guard before != after else { return }
        var seen: Set<String> = []
        let (former, latter) = (values(before), values(after))
        for header in after {
            let name = header.name.lowercasedASCII
            guard seen.insert(name).inserted else { continue }
            let (old, new) = (former[name] ?? [], latter[name] ?? [])
            guard old != new else { continue }
            effects.append(
                "\(old.isEmpty ? "+" : "~") \(header.name): \(shown(new, of: header.name))")
        }
        for header in before where seen.insert(header.name.lowercasedASCII).inserted {
            effects.append("- \(header.name)")
        }
    }

    /// The values of a field without secrets, as many as a description can have.
    private static func shown(_ values: [String], of name: String) -> String {
        var text = ""
        for (index, value) in values.enumerated() where text.utf8.count <= maximumLength {
            if index > 0 { text += ", " }
            text += Redaction.standard.value(of: HTTPHeader(name: name, value: value))
        }
        return text
    }

    /// The header values by lower-case name.
    private static func values(_ headers: HTTPHeaders) -> [String: [String]] {
        headers.reduce(into: [:]) { $0[$1.name.lowercasedASCII, default: []].append($1.value) }
    }
}
