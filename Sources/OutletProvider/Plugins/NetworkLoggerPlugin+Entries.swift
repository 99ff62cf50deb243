import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

extension NetworkLoggerPlugin.Configuration {
    /// The identifier and the message of one log line.
    typealias Entry = (identifier: String, message: String)

    func write(_ entries: [Entry], _ target: any TargetType) {
        output(target, entries.map { formatter.entry($0.identifier, $0.message, target) })
    }

    func entries(of sent: any RequestType) -> [Entry] {
        guard let request = sent.request else { return [("Request", "(invalid request)")] }
        let address = request.url.map { redaction.url($0) } ?? "without an address"
        var entries: [Entry] = [("Request", address)]
        if logOptions.contains(.requestHeaders) {
            var headers = request.headers
            headers.addMissing(from: HTTPHeaders(sent.sessionHeaders))
            entries.append(("Request Headers", text(of: headers)))
        }
        if logOptions.contains(.requestBody) {
            switch request.body {
            case .none: break
            case .data(let data):
                let shown = redaction.requestBody(data, of: request.headers)
                let text = shown.map { formatter.requestData($0) }
                entries.append(("Request Body", text ?? "\(data.count) bytes with a coding"))
            case .file(let path): entries.append(("Request Body Stream", "the file \(path)"))
            case .stream(let stream):
                let length = stream.length.map { "\($0) bytes" } ?? "of unknown length"
                entries.append(("Request Body Stream", length))
            }
        }
        if logOptions.contains(.requestMethod) {
            entries.append(("HTTP Request Method", request.method.rawValue))
        }
        return entries
    }

    func entries(of received: Response, _ target: any TargetType, isError: Bool) -> [Entry] {
        var entries: [Entry] = []
        if let head = received.response {
            let address = head.url.map { redaction.url($0) } ?? "no address"
            entries.append(
                (
                    "Response",
                    "{ URL: \(address) } { Status Code: \(head.statusCode), "
                        + "Headers: \(text(of: head.headers)) }"
                ))
        } else {
            entries.append(
                ("Response", "Received empty network response for \(Self.name(of: target))."))
        }
        if logOptions.contains(isError ? .errorResponseBody : .successResponseBody) {
            let type = received.response?.headers["Content-Type"]
            let shown = Data(redaction.bodyBytes(received.data, contentType: type))
            entries.append(("Response Body", formatter.responseData(shown)))
        }
        return entries
    }

    /// The case name of an enum target, else its type; never its associated values, which may be
    /// secrets.
    static func name(of target: any TargetType) -> String {
        let target = (target as? MultiTarget)?.target ?? target
        let mirror = Mirror(reflecting: target)
        guard mirror.displayStyle == .enum else { return "\(type(of: target))" }
        return mirror.children.first?.label ?? "\(target)"
    }

    /// Names and values, sorted by name, so that two lines can be compared.
    private func text(of headers: HTTPHeaders) -> String {
        let fields = redaction.headers(headers).sorted().map { field in
            "\(String(reflecting: field.name)): \(String(reflecting: field.value))"
        }
        return "[\(fields.isEmpty ? ":" : fields.joined(separator: ", "))]"
    }
}
