import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A request as a curl command line that can be pasted into a shell.
///
/// Every argument with special characters is in single quotes, in which a shell interprets nothing.
/// Control characters, which a terminal interprets when the line is pasted, and invisible
/// characters are written as `"$(printf '\\033')"`.
struct CURLCommand {
    let request: HTTPRequest
    /// The credentials, one `-u` option each.
    let credentials: [Credential]
    /// Selects the secrets, which are replaced by a mark.
    let redaction: Redaction

    /// The text for a request that is not made yet, has no host or is not valid HTTP.
    static let failure = "$ curl command could not be created"

    /// The command, one option per line.
    var text: String {
        guard let url = request.url, url.host()?.isEmpty == false,
            (try? request.checkSyntax()) != nil
        else { return Self.failure }
        let address = redaction.url(url)
        var lines = ["$ curl -v", "-X \(Self.quoted(request.method.rawValue))"]
        // With `-X HEAD` alone, curl waits for a body.
        if request.method == .head { lines.append("--head") }
        for credential in credentials {
            let password = redaction.showsEverything ? credential.password : redaction.mark
            lines.append("-u " + Self.quoted("\(credential.user):\(password)"))
        }
        lines += cookies
        for header in request.headers where !isCookie(header) {
            lines.append("-H " + Self.quoted(field(header)))
        }
        if request.headers["Accept-Encoding"] != nil { lines.append("--compressed") }
        lines += body
        // Without `--globoff`, curl expands brackets and braces in URLs.
        if address.utf8.contains(where: { "[]{}".utf8.contains($0) }) { lines.append("--globoff") }
        lines.append(Self.quoted(address, always: true))
        return lines.joined(separator: " \\\n\t")
    }

    private var cookies: [String] {
        let fields = request.headers.filter(isCookie)
        let text = fields.map { redaction.value(of: $0) }.joined(separator: "; ")
        // `-b` reads a text without `=`, or with a leading `@`, as the name of a file.
        if text.containsByte("="), !text.startsWithBytes(of: "@") {
            return ["-b " + Self.quoted(text)]
        }
        return fields.map { "-H " + Self.quoted(field($0)) }
    }

    private func isCookie(_ header: HTTPHeader) -> Bool {
        header.name.equalsIgnoringCase("Cookie")
    }

    private func field(_ header: HTTPHeader) -> String {
        let value = redaction.value(of: header)
        // `Name:` would remove the header.
        return value.isEmpty ? "\(header.name);" : "\(header.name): \(value)"
    }

    private var body: [String] {
        // curl adds its own `Content-Type` unless the field is removed.
        let removedType =
            request.headers["Content-Type"] == nil ? ["-H " + Self.quoted("Content-Type:")] : []
        switch request.body {
        case .none: return []
        case .file(let path): return removedType + ["--data-binary " + Self.quoted("@\(path)")]
        case .stream: return removedType + ["--data-binary @-"]
        case .data(let data):
            // A body with a content coding may contain secrets that redaction cannot find.
            let shown =
                redaction.requestBody(data, of: request.headers) ?? Data(redaction.mark.utf8)
            // An argument cannot contain NUL.
            guard !shown.contains(0), let text = String(validating: shown, as: UTF8.self) else {
                let encoded = shown.base64EncodedString()
                return removedType + ["--data-binary @<(echo \(encoded) | base64 -d)"]
            }
            // `-d` reads a text with a leading `@` as the name of a file.
            let option = text.startsWithBytes(of: "@") ? "--data-raw " : "-d "
            return removedType + [option + Self.quoted(text, always: true)]
        }
    }

    /// Quotes a word so that a POSIX shell takes it literally.
    ///
    /// - Parameter always: Whether to quote also words that need no quotes.
    static func quoted(_ word: String, always: Bool = false) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            byte.isAlpha || byte.isDigit || "-_./:@".utf8.contains(byte)
        }
        guard always || !isPlain || word.isEmpty else { return word }
        var text = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" {
                text += #"'\''"#
            } else if isUnsafeToPaste(scalar) {
                let octal = UTF8.encode(scalar)?.map { byte in
                    "\\" + (byte < 0o100 ? "0" : "") + (byte < 0o10 ? "0" : "")
                        + String(byte, radix: 8)
                }
                text += #"'"$(printf '"# + (octal ?? []).joined() + #"')"'"#
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "'"
    }

    /// Whether a terminal interprets or hides the scalar; a line feed in quotes is harmless.
    private static func isUnsafeToPaste(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar != "\n"
        case .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
