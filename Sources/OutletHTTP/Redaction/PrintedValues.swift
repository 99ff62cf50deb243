import FoundationEssentials

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// Method and address, secrets left out by ``Redaction/standard``.
    public var description: String {
        "\(method.rawValue) \(url.map { Redaction.standard.url($0) } ?? "without an address")"
    }

    /// Method and address, a line for each field, and the size of the body; secrets left out.
    public var debugDescription: String {
        let body: [String] =
            switch body {
            case .none: []
            case .data(let data): ["(\(data.count) bytes of body)"]
            case .file(let path): ["(a body from \(path))"]
            case .stream: ["(a body from a stream)"]
            }
        let fields = headers.isEmpty ? [] : [headers.description]
        return ([description] + fields + body).joined(separator: "\n")
    }
}

extension HTTPResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// Protocol, status and address, secrets left out by ``Redaction/standard``.
    public var description: String {
        let address = url.map { " from \(Redaction.standard.url($0))" } ?? ""
        return "\(httpVersion) \(statusCode)\(address)"
    }

    /// The same, and a line for each field.
    public var debugDescription: String {
        headers.isEmpty ? description : "\(description)\n\(headers)"
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// One `Name: value` a line, secrets left out by ``Redaction/standard``.
    public var description: String {
        Redaction.standard.headers(self).map(\.description).joined(separator: "\n")
    }
}
