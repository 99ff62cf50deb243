import Outlet

/// Takes secrets out of what is shown.
enum Redaction {
    private static let mark = "•••"

    private static let fields: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key",
        "x-auth-token", "x-csrf-token", "x-amz-security-token", "x-goog-api-key",
    ]

    private static let words = ["token", "secret", "password", "passwd", "apikey", "api_key"]

    private static let parameters: Set<String> = [
        "key", "sig", "signature", "code", "auth", "x-amz-signature", "x-amz-credential",
    ]

    /// A field's value, or what may be shown of it: the scheme of a credential, a cookie's name.
    static func value(of header: HTTPHeader) -> String {
        let name = header.name.lowercased()
        guard fields.contains(name) || isSecretWord(name) else { return header.value }
        switch name {
        case "authorization", "proxy-authorization":
            let scheme = header.value.prefix { $0 != " " }
            return scheme.count < header.value.count ? "\(scheme) \(mark)" : mark
        case "set-cookie":
            let cookie = header.value.prefix { $0 != "=" }
            let attributes = header.value.drop { $0 != ";" }
            return "\(cookie)=\(mark)\(attributes)"
        default: return mark
        }
    }

    /// An address without name, password and the values of telling query parameters.
    static func url(_ text: String) -> String {
        var shown = text
        if let scheme = shown.firstRange(of: "://") {
            let authority = shown[scheme.upperBound...].prefix { !"/?#".contains($0) }
            if let at = authority.lastIndex(of: "@") {
                shown.replaceSubrange(scheme.upperBound..<at, with: mark)
            }
        }
        guard let question = shown.firstIndex(of: "?") else { return shown }
        let pairs = shown[shown.index(after: question)...]
            .split(separator: "&", omittingEmptySubsequences: false)
            .map { pair -> String in
                guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
                let name = pair[..<equals].lowercased()
                return isSecretWord(name) || parameters.contains(name)
                    ? "\(pair[..<equals])=\(mark)" : String(pair)
            }
        return shown[...question] + pairs.joined(separator: "&")
    }

    private static func isSecretWord(_ name: String) -> Bool {
        words.contains { name.contains($0) }
    }
}
