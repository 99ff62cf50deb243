import FoundationEssentials
import OutletHTTP

/// What a hook did, in a few words for people.
enum Effects {
    static func of(
        _ before: HTTPRequest, _ after: HTTPRequest, answer: RequestHandle.Answer?
    ) -> [String] {
        var effects: [String] = []
        if before.method != after.method {
            effects.append("method \(before.method) -> \(after.method)")
        }
        if before.url != after.url { effects.append("URL -> \(address(after))") }
        effects += headers(before.headers, after.headers)
        if before.body != after.body {
            effects.append("body: \(after.httpBody?.count ?? 0) bytes")
        }
        for (key, value) in after.attributes.sorted(by: { $0.key < $1.key })
        where before.attributes[key] != value {
            effects.append("note \(key)")
        }
        if let answer {
            effects.append("answered \(answer.status), \(answer.body.count) bytes")
        }
        return effects
    }

    static func of(_ replacement: ResponseHandle.Replacement?) -> [String] {
        switch replacement {
        case nil: []
        case .response(let answer): ["replaced by \(answer.status), \(answer.body.count) bytes"]
        case .failure: ["replaced by a failure"]
        }
    }

    private static func headers(_ before: HTTPHeaders, _ after: HTTPHeaders) -> [String] {
        guard before != after else { return [] }
        var effects: [String] = []
        var seen: Set<String> = []
        for header in after where seen.insert(header.name.lowercased()).inserted {
            let old = before.values(for: header.name)
            let new = after.values(for: header.name)
            guard old != new else { continue }
            let value = new.joined(separator: ", ")
            let shown = isSecret(header.name) ? "•••" : value
            effects.append("\(old.isEmpty ? "+" : "~") \(header.name): \(shown)")
        }
        for header in before where seen.insert(header.name.lowercased()).inserted {
            effects.append("- \(header.name)")
        }
        return effects
    }

    /// The address without user, password and query, which may hold secrets.
    private static func address(_ request: HTTPRequest) -> String {
        guard let url = request.url, let origin = try? Origin(url) else { return "" }
        return "\(origin)\(url.path)"
    }

    private static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return ["auth", "cookie", "token", "key", "secret", "signature", "password"]
            .contains { name.contains($0) }
    }
}
