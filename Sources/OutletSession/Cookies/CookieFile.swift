import FoundationEssentials

/// Cookies in Netscape's file format: a line each, seven fields between tabs.
enum CookieFile {
    private static let httpOnly = "#HttpOnly_"
    private static let sameSite = "#SameSite="

    static func encode(_ cookies: [Cookie]) -> String {
        var text = "# Netscape HTTP Cookie File\n\n"
        for cookie in cookies {
            if let sameSite = cookie.sameSite { text += "\(Self.sameSite)\(sameSite.rawValue)\n" }
            let end = cookie.expiresDate.map { Int(min($0.timeIntervalSince1970, 1e15)) } ?? 0
            let fields = [
                (cookie.isHostOnly ? "" : ".") + cookie.domain,
                cookie.isHostOnly ? "FALSE" : "TRUE",
                cookie.path, cookie.isSecure ? "TRUE" : "FALSE", "\(end)", cookie.name,
                cookie.value,
            ]
            text += (cookie.isHTTPOnly ? httpOnly : "") + fields.joined(separator: "\t") + "\n"
        }
        return text
    }

    static func decode(_ text: String) -> [Cookie] {
        var cookies: [Cookie] = []
        var sameSite: Cookie.SameSite?
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix(Self.sameSite) {
                sameSite = Cookie.SameSite(rawValue: String(line.dropFirst(Self.sameSite.count)))
                continue
            }
            guard var cookie = cookie(line) else { continue }
            cookie.sameSite = sameSite
            sameSite = nil
            cookies.append(cookie)
        }
        return cookies
    }

    private static func cookie(_ line: Substring) -> Cookie? {
        let isHTTPOnly = line.hasPrefix(httpOnly)
        guard isHTTPOnly || !line.hasPrefix("#") else { return nil }
        let fields = line.dropFirst(isHTTPOnly ? httpOnly.count : 0)
            .split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // A cookie without a value may lack its last tab.
        guard fields.count == 7 || fields.count == 6, let end = Int(fields[4]),
            fields[2].hasPrefix("/"), !fields[0].isEmpty
        else { return nil }
        let host = fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]
        return Cookie(
            name: fields[5], value: fields.count == 7 ? fields[6] : "",
            domain: (fields[1] == "TRUE" ? "." : "") + host, path: fields[2],
            expiresDate: end == 0 ? nil : Date(timeIntervalSince1970: Double(end)),
            isSecure: fields[3] == "TRUE", isHTTPOnly: isHTTPOnly)
    }
}
