extension HTTPHeader {
    /// Whether the field affects the message's length, its `Host`, or the connection and its proxy.
    package var isFraming: Bool {
        var name = name
        return name.withUTF8 { isFramingName($0) }
    }
}

/// Whether fields of this name affect the message's length, its `Host`, or the connection and its
/// proxy.
///
/// Compares lengths first, because every field of every request is tested.
package func isFramingName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    switch name.count {
    case 2: name.equalsIgnoringCase("TE")
    case 4: name.equalsIgnoringCase("Host")
    case 7: name.equalsIgnoringCase("Trailer") || name.equalsIgnoringCase("Upgrade")
    case 10: name.equalsIgnoringCase("Connection") || name.equalsIgnoringCase("Keep-Alive")
    case 14: name.equalsIgnoringCase("Content-Length")
    case 16: name.equalsIgnoringCase("Proxy-Connection")
    case 17: name.equalsIgnoringCase("Transfer-Encoding")
    case 19: name.equalsIgnoringCase("Proxy-Authorization")
    default: false
    }
}

extension HTTPHeaders {
    /// Refuses fields that only the transport may set, and a malformed or repeated `Host` or
    /// `Content-Length`.
    ///
    /// - Throws: ``HTTPRequestError`` for the first such field.
    func checkFraming() throws(HTTPRequestError) {
        var seen: [String] = []
        for header in self where header.isFraming {
            let name = header.name.lowercasedASCII
            guard name == "host" || name == "content-length" else {
                throw .reservedHeader(name: header.name)
            }
            // Even with equal values: a server may use the first one, and a proxy the last.
            guard !seen.contains(name) else { throw .repeatedHeader(name: header.name) }
            seen.append(name)
            if name == "host" {
                guard isHost(header.value) else { throw .invalidHost(header.value) }
            } else {
                guard header.value.decimal(Int64.self) != nil else {
                    throw .invalidContentLength(header.value)
                }
            }
        }
    }
}

/// Whether a text is a host (a name or an IP address), with or without a port (RFC 9110 §7.2).
private func isHost(_ text: String) -> Bool {
    let bytes = Array(text.utf8)[...]
    let end: Int
    if bytes.first == UInt8(ascii: "[") {
        guard let close = bytes.firstIndex(of: UInt8(ascii: "]")), close > 1,
            bytes[1..<close].allSatisfy({
                $0.hexValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
            })
        else { return false }
        end = close + 1
    } else {
        end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        guard end > 0, isRegisteredName(bytes[..<end]) else { return false }
    }
    guard end < bytes.endIndex else { return true }
    let port = Substring(decoding: bytes[(end + 1)...], as: UTF8.self)
    return bytes[end] == UInt8(ascii: ":") && port.decimal(UInt16.self) != nil
}

/// Whether a text is a `reg-name` of a URI (RFC 3986 §3.2.2).
private func isRegisteredName(_ text: ArraySlice<UInt8>) -> Bool {
    var rest = text
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
            guard rest.popFirst()?.hexValue != nil, rest.popFirst()?.hexValue != nil else {
                return false
            }
        } else if !byte.isAlpha, !byte.isDigit, !"-._~!$&'()*+,;=".utf8.contains(byte) {
            return false
        }
    }
    return true
}
