package import FoundationEssentials

extension URL {
    /// Parses an address that a user, a server or a plugin has written.
    ///
    /// Characters that a URL cannot have are percent-encoded, and valid escapes are kept (WHATWG URL
    /// §1.3). `URL(string:)` also encodes the `%` of the escapes of a path or query in which it
    /// encodes anything, and so makes another address of it.
    ///
    /// - Parameters:
    ///   - text: An absolute address, or a reference relative to `base`.
    ///   - base: The base of references; `nil` for none.
    package init?(escaping text: String, relativeTo base: URL? = nil) {
        self.init(string: text.escapedForURL, relativeTo: base)
    }
}

extension String {
    /// The text with what a URL cannot have after its authority percent-encoded; the text itself if
    /// there are no escapes, which `URL` could encode again.
    fileprivate var escapedForURL: String {
        guard containsByte("%") else { return self }
        let bytes = Array(utf8)
        let start = Self.endOfAuthority(bytes)
        var escaped = Array(bytes[..<start])
        var isInFragment = false
        for index in start..<bytes.count {
            let byte = bytes[index]
            let isAllowed =
                switch byte {
                case UInt8(ascii: "%"): Self.hasEscape(bytes, at: index)
                case UInt8(ascii: "#"): !isInFragment
                default: AllowedCharacters.urlQueryAllowed.contains(byte)
                }
            if byte == UInt8(ascii: "#") { isInFragment = true }
            if isAllowed { escaped.append(byte) } else { escaped.appendEscape(of: byte) }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The index after the authority of an address; 0 if it has none.
    private static func endOfAuthority(_ bytes: [UInt8]) -> Int {
        let slashes = UInt8(ascii: "/")
        let first = bytes.firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
        guard first + 1 < bytes.count, bytes[first] == slashes, bytes[first + 1] == slashes,
            first == 0 || bytes[first - 1] == UInt8(ascii: ":")
        else { return 0 }
        return bytes[(first + 2)...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    }

    private static func hasEscape(_ bytes: [UInt8], at index: Int) -> Bool {
        index + 2 < bytes.count && bytes[index + 1].hexValue != nil
            && bytes[index + 2].hexValue != nil
    }
}
