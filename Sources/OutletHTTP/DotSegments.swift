package import FoundationEssentials

extension Substring {
    /// Path, query and fragment of a URL without the path's dot segments (RFC 3986 §5.2.4).
    ///
    /// Also removes dot segments written with `%2e`. Only newer versions of libcurl do that; since
    /// none are left, all versions send the same path.
    var withoutDotSegments: String {
        let bytes = utf8
        let end =
            bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
            ?? bytes.endIndex
        let path = bytes[..<end]
        guard path.first == UInt8(ascii: "/"), mayHaveDotSegments(path) else { return String(self) }
        var kept: [Substring] = []
        let segments = path.dropFirst()
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let dots = dotCount(segment)
            if dots == 0 { kept.append(Substring(segment)) }
            if dots == 2, !kept.isEmpty { kept.removeLast() }
            // A dot segment at the end leaves a slash: `/a/..` becomes `/`.
            if dots > 0, index == segments.count - 1 { kept.append("") }
        }
        return "/" + kept.joined(separator: "/") + self[end...]
    }
}

extension URL {
    /// The URL with its path as sent: without dot segments.
    package var textWithWirePath: String {
        let text = absoluteString
        let rest = text.behindAuthority
        return text[..<rest.startIndex] + rest.withoutDotSegments
    }

    /// The path as sent: without dot segments; `/` if the URL has none.
    ///
    /// Cookies and credentials are matched against this path.
    package var wirePath: String {
        let rest = absoluteString.behindAuthority.withoutDotSegments
        let path = rest.prefix(whileByte: {
            $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        })
        return path.isEmpty ? "/" : String(path)
    }
}

/// Whether a segment begins with `.` or `%`; without one there are no dot segments.
private func mayHaveDotSegments(_ path: Substring.UTF8View) -> Bool {
    var isAtStart = false
    for byte in path {
        if isAtStart, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
        isAtStart = byte == UInt8(ascii: "/")
    }
    return false
}

/// Returns 1 for `.`, 2 for `..`, however the dots are written, and 0 for any other segment.
private func dotCount(_ segment: Substring.UTF8View) -> Int {
    var rest = segment
    var count = 0
    while let byte = rest.first {
        if byte == UInt8(ascii: ".") {
            rest = rest.dropFirst()
        } else if rest.count >= 3, rest.prefix(3).map(\.lowercased).elementsEqual("%2e".utf8) {
            rest = rest.dropFirst(3)
        } else {
            return 0
        }
        count += 1
        if count > 2 { return 0 }
    }
    return count
}
