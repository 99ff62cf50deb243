import FoundationEssentials
import OutletHTTP

/// A request as a command line for curl that can be pasted into a shell.
///
/// Every word that is not plain is in single quotes, so that the shell expands nothing.
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
        guard let url = request.url, url.host()?.isEmpty == false else { return Self.failure }
        let address = redaction.url(url)
        var lines = ["$ curl -v", "-X \(Self.quoted(request.method.rawValue))"]
        // A response to HEAD has no body, which `-X` alone does not tell curl.
        if request.method == .head { lines.append("--head") }
        for credential in credentials {
            let password = redaction.showsEverything ? credential.password : redaction.mark
            lines.append("-u " + Self.quoted("\(credential.user):\(password)"))
        }
        let cookies = request.headers.values(for: "Cookie")
        if !cookies.isEmpty {
            let shown = cookies.map { redaction.value(of: HTTPHeader(name: "Cookie", value: $0)) }
            lines.append("-b " + Self.quoted(shown.joined(separator: "; ")))
        }
        for header in request.headers where header.name.lowercased() != "cookie" {
            let value = redaction.value(of: header)
            // `Name:` would remove the field.
            lines.append(
                "-H "
                    + Self.quoted(
                        value.isEmpty ? "\(header.name);" : "\(header.name): \(value)"))
        }
        if request.headers["Accept-Encoding"] != nil { lines.append("--compressed") }
        lines += body
        // Brackets and braces are patterns to curl.
        if address.contains(where: { "[]{}".contains($0) }) { lines.append("--globoff") }
        lines.append(Self.quoted(address, always: true))
        return lines.joined(separator: " \\\n\t")
    }

    private var body: [String] {
        // curl says what the body is unless told.
        let untold = request.headers["Content-Type"] == nil ? [#"-H "Content-Type:""#] : []
        switch request.body {
        case .none: return []
        case .file(let path): return untold + ["--data-binary " + Self.quoted("@\(path)")]
        case .stream: return untold + ["--data-binary @-"]
        case .data(let data):
            // A body with a content coding may hold secrets that nobody finds.
            let shown =
                redaction.requestBody(data, of: request.headers) ?? Data(redaction.mark.utf8)
            guard !shown.contains(0), let text = String(validating: shown, as: UTF8.self) else {
                let encoded = shown.base64EncodedString()
                return untold + ["--data-binary @<(echo \(encoded) | base64 -d)"]
            }
            // After `-d` a leading `@` names a file.
            return untold + [
                (text.hasPrefix("@") ? "--data-raw " : "-d ") + Self.quoted(text, always: true)
            ]
        }
    }

    /// A word as a POSIX shell takes it, literally.
    static func quoted(_ word: String, always: Bool = false) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"):
                    true
                default: false
                }
            }
        guard always || !isPlain else { return word }
        // An interactive shell would expand `!` within double quotes.
        if word.contains("!") { return "'" + word.replacing("'", with: #"'\''"#) + "'" }
        return word.reduce(into: "\"") { quoted, character in
            if #"\"$`"#.contains(character) { quoted.append("\\") }
            quoted.append(character)
        } + "\""
    }
}
