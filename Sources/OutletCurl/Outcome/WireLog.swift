import CCurl
import Glibc

/// Each line on the wire, on stderr, secrets left out (`CURLOPT_DEBUGFUNCTION`).
enum WireLog {
    /// Writes one piece: header lines with their values, bodies as sizes.
    static func write(_ kind: curl_infotype, _ bytes: UnsafeRawBufferPointer, of transfer: UInt64) {
        let lines: [String]
        switch kind {
        case CURLINFO_TEXT: lines = texts(bytes).map { "* \(redactedText($0))" }
        case CURLINFO_HEADER_OUT: lines = texts(bytes).map { "> \(redactedHeader($0))" }
        case CURLINFO_HEADER_IN: lines = texts(bytes).map { "< \(redactedHeader($0))" }
        case CURLINFO_DATA_OUT: lines = ["> [\(bytes.count) bytes of body]"]
        case CURLINFO_DATA_IN: lines = ["< [\(bytes.count) bytes of body]"]
        default: lines = []
        }
        var text = ""
        for line in lines { text += "outlet #\(transfer) \(line)\n" }
        // One call for the whole piece, so that lines of several threads do not mix.
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func texts(_ bytes: UnsafeRawBufferPointer) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).map { line in
            // Control characters could rewrite the terminal's screen.
            String(decoding: line.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, as: UTF8.self)
        }.filter { !$0.isEmpty }
    }

    /// Fields whose values are secrets.
    private static let secretFields: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token",
        "api-key", "x-amz-security-token", "x-csrf-token",
    ]

    /// A request line, a status line or a field, without secrets.
    static func redactedHeader(_ line: String) -> String {
        guard let colon = line.firstIndex(of: ":") else { return redactedAddresses(line) }
        let name = line[..<colon]
        if name.contains(" ") { return redactedAddresses(line) }
        let lowercase = name.lowercased()
        guard secretFields.contains(lowercase) else {
            return lowercase == "location" || lowercase == "referer"
                ? redactedAddresses(line) : line
        }
        var value = line[line.index(after: colon)...].drop { $0 == " " }
        if lowercase.hasSuffix("authorization"), let blank = value.firstIndex(of: " ") {
            value = value[..<blank]
            return "\(name): \(value) •••"
        }
        if lowercase.hasSuffix("cookie"), let equals = value.firstIndex(of: "=") {
            return "\(name): \(value[..<equals])=•••"
        }
        return "\(name): •••"
    }

    /// libcurl's own remarks name users and repeat HTTP/2 fields.
    static func redactedText(_ line: String) -> String {
        let lowercase = line.lowercased()
        if lowercase.hasPrefix("h2h3 ["), let open = line.firstIndex(of: "[") {
            let field = line[line.index(after: open)...].dropLast()
            if field.hasPrefix(":") { return redactedAddresses(line) }
            return "h2h3 [\(redactedHeader(String(field)))]"
        }
        if lowercase.contains("auth using"), let user = lowercase.firstRange(of: "user '") {
            return String(line[..<user.upperBound]) + "•••'"
        }
        return redactedAddresses(line)
    }

    /// Names of query items whose values are secrets, as parts of the name.
    private static let secretItems = [
        "token", "key", "secret", "password", "passwd", "signature", "sig", "auth", "code",
        "session", "credential",
    ]

    /// Hides user names, passwords and secret query values of addresses in a text.
    static func redactedAddresses(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false)
            .map { redactedAddress(String($0)) }.joined(separator: " ")
    }

    private static func redactedAddress(_ word: String) -> String {
        var word = word
        if let scheme = word.firstRange(of: "://") {
            let authority = word[scheme.upperBound...].prefix {
                $0 != "/" && $0 != "?" && $0 != "#"
            }
            if let at = authority.lastIndex(of: "@") {
                word.replaceSubrange(scheme.upperBound..<at, with: "•••")
            }
        }
        guard let question = word.firstIndex(of: "?") else { return word }
        // Quotes and brackets that libcurl puts around an address are not part of it.
        let closing = word.reversed().prefix { "]')\"".contains($0) }.reversed()
        let items = word[word.index(after: question)...].dropLast(closing.count)
            .split(separator: "&", omittingEmptySubsequences: false)
            .map { item -> String in
                guard let equals = item.firstIndex(of: "=") else { return String(item) }
                let name = item[..<equals].lowercased()
                return secretItems.contains { name.contains($0) }
                    ? "\(item[..<equals])=•••" : String(item)
            }
        return word[...question] + items.joined(separator: "&") + String(closing)
    }
}
