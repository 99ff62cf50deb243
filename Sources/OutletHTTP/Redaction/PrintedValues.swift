import FoundationEssentials

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// Method and URL; ``Redaction/standard`` replaces secrets.
    public var description: String {
        "\(method.rawValue) \(url.map { Redaction.standard.url($0) } ?? "without an address")"
    }

    /// Method and URL, one line for each field, and the kind and size of the body.
    ///
    /// ``Redaction/standard`` replaces secrets; the content of the body is not shown.
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
    /// Protocol, status and URL; ``Redaction/standard`` replaces secrets.
    public var description: String {
        let address = url.map { " from \(Redaction.standard.url($0))" } ?? ""
        return "\(httpVersion) \(statusCode)\(address)"
    }

    /// The ``description``, and one line for each field; ``Redaction/standard`` replaces secrets.
    public var debugDescription: String {
        headers.isEmpty ? description : "\(description)\n\(headers)"
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// One line `Name: value` for each field; ``Redaction/standard`` replaces secrets.
    public var description: String {
        Redaction.standard.headers(self).map(\.description).joined(separator: "\n")
    }
}

// `dump` and other readers of mirrors would show the values of all properties.

extension HTTPRequest: CustomReflectable {
    /// The lines of ``debugDescription``, without secrets.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: debugDescription.lines) }
}

extension HTTPResponse: CustomReflectable {
    /// The lines of ``debugDescription``, without secrets.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: debugDescription.lines) }
}

extension HTTPHeaders: CustomReflectable {
    /// The fields as in ``description``, without secrets.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: description.lines) }
}
