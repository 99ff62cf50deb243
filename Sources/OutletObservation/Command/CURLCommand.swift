import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A request as a curl command line that can be pasted into a shell.
///
/// Every argument with special characters is quoted (``ShellWord``).
struct CURLCommand {
    let request: HTTPRequest
    /// The credentials, one option each.
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
        // curl removes dot segments, too, but no version all of those with `%2e`.
        let address = redaction.address(url.textWithWirePath)
        var lines = ["$ curl -v", "-X \(ShellWord.quoted(request.method.rawValue))"]
        // With `-X HEAD` alone, curl waits for a body.
        if request.method == .head { lines.append("--head") }
        lines += credentials.compactMap(option)
        lines += cookies
        for header in request.headers where !isCookie(header) {
            lines.append("-H " + ShellWord.quoted(field(header)))
        }
        if request.headers["Accept-Encoding"] != nil { lines.append("--compressed") }
        lines += body
        // Without `--globoff`, curl expands brackets and braces in URLs.
        if address.utf8.contains(where: { "[]{}".utf8.contains($0) }) { lines.append("--globoff") }
        lines.append(ShellWord.quoted(address, always: true))
        return lines.joined(separator: " \\\n\t")
    }

    /// The option that makes curl send a credential as the session does; `nil` if the session does not
    /// send it.
    private func option(_ credential: Credential) -> String? {
        let password = redaction.showsEverything ? credential.password : redaction.mark
        let user = "-u " + ShellWord.quoted("\(credential.user):\(password)")
        switch credential.scheme {
        case nil, .basic: return user
        case .digest: return "--digest " + user
        case .ntlm: return "--ntlm " + user
        case .negotiate: return "--negotiate " + user
        case .bearer:
            let header = HTTPHeader.authorization(bearerToken: credential.password)
            // curl would send both fields.
            guard request.headers["Authorization"] == nil,
                (try? HTTPHeaders([header]).checkSyntax()) != nil
            else { return nil }
            return "-H " + ShellWord.quoted(field(header))
        }
    }

    private var cookies: [String] {
        let fields = request.headers.filter(isCookie)
        let text = fields.map { redaction.value(of: $0) }.joined(separator: "; ")
        // `-b` reads a text without `=`, or with a leading `@`, as the name of a file.
        if text.containsByte("="), !text.startsWithBytes(of: "@") {
            return ["-b " + ShellWord.quoted(text)]
        }
        return fields.map { "-H " + ShellWord.quoted(field($0)) }
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
            request.headers["Content-Type"] == nil
            ? ["-H " + ShellWord.quoted("Content-Type:")] : []
        switch request.body {
        case .none:
            // With these methods the transport sends `Content-Length: 0`.
            let isEmptyBodySent = [.post, .put, .patch].contains(request.method)
            return isEmptyBodySent ? removedType + ["-d ''"] : []
        case .file(let path): return removedType + ["--data-binary " + ShellWord.quoted("@\(path)")]
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
            return removedType + [option + ShellWord.quoted(text, always: true)]
        }
    }
}
