import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A request as a command line for curl that can be pasted into a shell.
///
/// Every word that is not plain is in single quotes, in which nothing is special to a shell. A terminal
/// does not take the text to the letter, though: control characters act on the line that is typed,
/// and invisible ones make it look like another. These stand as `"$(printf '\\033')"`.
struct CURLCommand {
    let request: HTTPRequest
    /// What the request authenticates with.
    let credentials: [Credential]
    /// What is left out.
    let redaction: Redaction

    /// What stands for a request that was never made.
    static let failure = "$ curl command could not be created"

    /// The command, one option a line.
    var text: String {
        guard let url = request.url, url.host()?.isEmpty == false,
            (try? request.checkSyntax()) != nil
        else { return Self.failure }
        let address = redaction.url(url)
        var lines = ["$ curl -v", "-X \(Self.quoted(request.method.rawValue))"]
        // A response to HEAD has no body, which `-X` alone does not tell curl.
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
        // Brackets and braces are patterns to curl.
        if address.utf8.contains(where: { "[]{}".utf8.contains($0) }) { lines.append("--globoff") }
        lines.append(Self.quoted(address, always: true))
        return lines.joined(separator: " \\\n\t")
    }

    private var cookies: [String] {
        let fields = request.headers.filter(isCookie)
        let text = fields.map { redaction.value(of: $0) }.joined(separator: "; ")
        // After `-b` a text without an equals sign, or with a leading at sign, names a file.
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
        // `Name:` would remove the field.
        return value.isEmpty ? "\(header.name);" : "\(header.name): \(value)"
    }

    private var body: [String] {
        // curl says what the body is unless told.
        let untold =
            request.headers["Content-Type"] == nil ? ["-H " + Self.quoted("Content-Type:")] : []
        switch request.body {
        case .none: return []
        case .file(let path): return untold + ["--data-binary " + Self.quoted("@\(path)")]
        case .stream: return untold + ["--data-binary @-"]
        case .data(let data):
            // A body with a content coding may hold secrets that nobody finds.
            let shown =
                redaction.requestBody(data, of: request.headers) ?? Data(redaction.mark.utf8)
            // No argument of a program can hold NUL.
            guard !shown.contains(0), let text = String(validating: shown, as: UTF8.self) else {
                let encoded = shown.base64EncodedString()
                return untold + ["--data-binary @<(echo \(encoded) | base64 -d)"]
            }
            // After `-d` a leading `@` names a file.
            let option = text.startsWithBytes(of: "@") ? "--data-raw " : "-d "
            return untold + [option + Self.quoted(text, always: true)]
        }
    }

    /// A word as a POSIX shell takes it, literally.
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

    /// Whether a terminal acts on the scalar, or does not show it; a line feed in quotes is harmless.
    private static func isUnsafeToPaste(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar != "\n"
        case .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
